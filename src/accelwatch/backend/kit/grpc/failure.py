"""What can go wrong with a source that is asked or read, as one exception with a word for machines."""

from accelwatch.base.errors import AccelwatchError


class SourceError(AccelwatchError):
    """A source could not be read. `reason`: absent, permission, timeout, protocol, refused, io."""

    def __init__(self, message: str, *, reason: str, remedy: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.remedy = remedy


def protocol(message: str) -> SourceError:
    """The other side spoke, but not what was agreed."""
    return SourceError(message, reason="protocol")
