"""The first request to new targets: a stream, or a page where hardly any other had a stream.

A target without a stream costs two requests, and often two connections, for an exporter that answers
every request sends a page that nobody reads.
"""

# Targets that had no stream before others get a request for a page first.
_ENOUGH = 10
# And so many times as many as had one.
_SHARE = 9


class FirstRequest:
    """One for all targets of a client."""

    def __init__(self) -> None:
        self._streams = self._pages = 0

    @property
    def page(self) -> bool:
        """Whether to request a page first."""
        return self._pages >= max(_ENOUGH, _SHARE * self._streams)

    def record_outcome(self, *, streams: bool) -> None:
        """A new target turned out to have a stream, or none."""
        if streams:
            self._streams += 1
        else:
            self._pages += 1
