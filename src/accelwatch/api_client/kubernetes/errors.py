"""What an API server answers instead of what was requested, and what no answer means for a write.

Texts are the server's own, made printable and cut; a request, its headers and its URL are never in them.
"""

from typing import TypeVar

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError
from accelwatch.base.untrusted_text import printable

# The cause of a 429 that a PodDisruptionBudget has given; flow control gives none (policy/v1 Eviction).
DISRUPTION_BUDGET = "DisruptionBudget"
# The reason of a 404 that the server itself has given about an object.
NOT_FOUND = "NotFound"
# Of a message of the server: an admission webhook may write as much as it likes.
_MAX_MESSAGE = 500
_UNAVAILABLE = frozenset({500, 502, 503, 504})

_T = TypeVar("_T")


class KubernetesError(AccelwatchError):
    """The API server did not do what was requested, or it is not known whether it did."""

    def __init__(
        self,
        text: str,
        *,
        status: int = 0,
        reason: str = "",
        message: str = "",
        causes: frozenset[str] = frozenset(),
        retry_after_s: float | None = None,
    ) -> None:
        """`text` is for people; the others are as the server's `Status` has them."""
        super().__init__(text)
        # HTTP status; 0 where there was no answer.
        self.status = status
        # Word for machines, such as Conflict, NotFound, Expired; empty where the server gave none.
        self.reason = reason
        self.message = message
        # Reasons of `details.causes`.
        self.causes = causes
        self.retry_after_s = retry_after_s


class ApiError(KubernetesError):
    """The server refused: nothing has changed."""


class ApiUnavailableError(KubernetesError):
    """No answer, no TLS, or 500, 502, 503, 504.

    `sent` is True where the request may have had its effect, or may have it yet.
    """

    def __init__(
        self,
        text: str,
        *,
        sent: bool,
        status: int = 0,
        reason: str = "",
        message: str = "",
        causes: frozenset[str] = frozenset(),
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(
            text,
            status=status,
            reason=reason,
            message=message,
            causes=causes,
            retry_after_s=retry_after_s,
        )
        self.sent = sent


class _Cause(msgspec.Struct, frozen=True):
    reason: str = ""


class _Details(msgspec.Struct, frozen=True):
    causes: tuple[_Cause, ...] | None = ()


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """`Status` of meta/v1, as far as it is read."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: _Details | None = None

    @property
    def causes(self) -> frozenset[str]:
        """Reasons of its causes."""
        listed = (self.details.causes if self.details else None) or ()
        return frozenset(cause.reason for cause in listed)


def unreadable(error: Exception) -> ApiUnavailableError:
    """What it means that an answer with 2xx cannot be decoded; `error` is one of DECODE_ERRORS."""
    return ApiUnavailableError(
        f"the API server's answer cannot be read: {printable(str(error))[:_MAX_MESSAGE]}", sent=True
    )


def decoded(body: bytes, kind: type[_T]) -> _T:
    """The body of an answer with 2xx as a type. Raises ApiUnavailableError."""
    try:
        return msgspec.json.decode(body, type=kind)
    except DECODE_ERRORS as error:
        raise unreadable(error) from error


def error_of(status: int, body: bytes, retry_after_s: float | None = None) -> KubernetesError:
    """What an answer other than 2xx means; its body is a `Status`, or a proxy's page."""
    try:
        answer = msgspec.json.decode(body, type=Status)
    except DECODE_ERRORS:
        answer = Status()  # what is between us and the server answers with pages of its own
    message = printable(answer.message)[:_MAX_MESSAGE]
    reason = printable(answer.reason)[:64]
    text = f"the API server answered {status} {reason}".rstrip()
    if message and message != reason:
        text += f": {message}"
    if 300 <= status < 400:
        text += "; redirects are not followed"
    if status in _UNAVAILABLE:
        return ApiUnavailableError(
            text,
            sent=True,
            status=status,
            reason=reason,
            message=message,
            causes=answer.causes,
            retry_after_s=retry_after_s,
        )
    return ApiError(
        text,
        status=status,
        reason=reason,
        message=message,
        causes=answer.causes,
        retry_after_s=retry_after_s,
    )
