"""Any failure to query or read a source, as one exception with a reason for machines."""

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
