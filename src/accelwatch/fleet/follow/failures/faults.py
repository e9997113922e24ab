"""Why a target could not be read: a word for machines, a sentence for people, when to ask again."""

from enum import StrEnum

from accelwatch.base.errors import AccelwatchError

_BROKEN = 500


class Reason(StrEnum):
    """What kind of failure; the words are part of the API."""

    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    CREDENTIALS = "credentials"
    """401 or 403, or our own secret file cannot be read."""
    HOST_KEY = "host_key"
    """A host that is reached by ssh shows a key that is not known, or another than before."""
    BUSY = "busy"
    """429 or 503."""
    REDIRECT = "redirect"
    STATUS = "status"
    """Any other answer than 200."""
    TOO_LARGE = "too_large"
    GARBAGE = "garbage"
    """An answer that cannot be read as what was asked for."""
    NO_SOURCE = "no_source"
    """A host that is reached by ssh has no accelerator, or nothing that could tell of it."""
    CLOSED = "closed"
    """The target ended the stream."""


class TargetFault(AccelwatchError):  # noqa: N818 - a state of the target, not a mistake
    """A target could not be read."""

    def __init__(
        self, reason: Reason, text: str, *, code: int = 0, retry_after_s: float | None = None
    ) -> None:
        super().__init__(text)
        self.reason = reason
        self.code = code
        """The HTTP status, when there was one."""
        self.retry_after_s = retry_after_s


def leaves_doubt(fault: TargetFault) -> bool:
    """Whether a change that met this may have been made all the same.

    503 is an answer: what was asked for does not count.
    """
    if fault.code:
        return fault.code >= _BROKEN and fault.reason is not Reason.BUSY
    return fault.reason in (Reason.TIMEOUT, Reason.CLOSED, Reason.GARBAGE, Reason.TOO_LARGE)


class NotOurs(TargetFault):
    """The target answers, but has no stream: another exporter, which can only be polled."""
