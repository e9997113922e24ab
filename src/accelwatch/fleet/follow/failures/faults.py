"""Why a target could not be read: a word for machines, a sentence for people, when to retry."""

from enum import StrEnum

from accelwatch.base.errors import AccelwatchError

_BROKEN = 500


class Reason(StrEnum):
    """What kind of failure; the words are part of the API."""

    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    # 401 or 403, or our own secret file cannot be read.
    CREDENTIALS = "credentials"
    # A host that is reached by ssh shows a key that is not known, or another than before.
    HOST_KEY = "host_key"
    # 429 or 503.
    BUSY = "busy"
    REDIRECT = "redirect"
    # Any other answer than 200.
    STATUS = "status"
    TOO_LARGE = "too_large"
    # An answer that cannot be read as what was requested.
    GARBAGE = "garbage"
    # A host that is reached by ssh has no accelerator, or nothing that could read it.
    NO_SOURCE = "no_source"
    # The target ended the stream.
    CLOSED = "closed"


class TargetFault(AccelwatchError):  # noqa: N818 - a state of the target, not a mistake
    """A target could not be read."""

    def __init__(
        self, reason: Reason, text: str, *, code: int = 0, retry_after_s: float | None = None
    ) -> None:
        super().__init__(text)
        self.reason = reason
        # The HTTP status, when there was one.
        self.code = code
        self.retry_after_s = retry_after_s


def first_line(fault: TargetFault) -> str:
    """The text for people, on one line: a filter's mistake comes with a drawing below it."""
    return str(fault).partition("\n")[0]


def leaves_doubt(fault: TargetFault) -> bool:
    """Whether a change that met this may have been made all the same.

    503 is an answer: the request does not count.
    """
    if fault.code:
        return fault.code >= _BROKEN and fault.reason is not Reason.BUSY
    return fault.reason in (Reason.TIMEOUT, Reason.CLOSED, Reason.GARBAGE, Reason.TOO_LARGE)


class NotOurs(TargetFault):
    """The target answers, but has no stream: another exporter, which can only be polled."""
