"""Whether a hub that notifies people of incidents follows this node, or how long none has.

It says so in a header of its request for the stream, which older agents do not read.
"""

import contextlib
from collections.abc import Iterator, Mapping

from accelwatch.base.clock import Clock
from accelwatch.web.http.stream import ALERTING, HUB_HEADER


class HubPresence:
    """The streams of hubs that alert; the loop's thread only."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._streams = 0
        # When the last one ended, in monotonic seconds.
        self._last_seen: float | None = None

    @contextlib.contextmanager
    def stream(self, headers: Mapping[str, str]) -> Iterator[None]:
        """As long as a client with these headers follows."""
        if headers.get(HUB_HEADER) != ALERTING:
            yield
            return
        self._streams += 1
        try:
            yield
        finally:
            self._streams -= 1
            self._last_seen = self._clock.monotonic()

    def restore(self, ago_s: float) -> None:
        """An earlier process was followed by a hub so many seconds ago."""
        if self._last_seen is None:
            self._last_seen = self._clock.monotonic() - ago_s

    @property
    def silent_s(self) -> float | None:
        """Since when there is none: 0 while one follows, None if there never was any."""
        if self._streams:
            return 0.0
        return None if self._last_seen is None else self._clock.monotonic() - self._last_seen
