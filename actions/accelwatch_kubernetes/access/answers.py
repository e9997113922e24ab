"""What the client's errors mean in the words of the contract."""

from collections.abc import Iterator
from contextlib import contextmanager

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.kit.performing import ChangedError
from accelwatch.action.step import Report, ReportStatus
from accelwatch.api_client.kubernetes.errors import (
    ApiError,
    ApiUnavailableError,
    KubernetesError,
    unreadable,
)
from accelwatch.base.decode_errors import DECODE_ERRORS

DONE = Report(status=ReportStatus.DONE)
# Nothing has happened, and the same request may be granted later: authentication, flow control.
_LATER = frozenset({401, 429})
# It is not there any more, or was changed since it was read.
_CHANGED = frozenset({404, 409, 410})


@contextmanager
def unavailable_if_unread() -> Iterator[None]:
    """For reads: what is not answered, or cannot be decoded, is not known.

    Raises ActionUnavailableError.
    """
    try:
        yield
    except KubernetesError as error:
        raise ActionUnavailableError(str(error)) from error
    except DECODE_ERRORS as error:
        raise ActionUnavailableError(str(unreadable(error))) from error


@contextmanager
def write_errors() -> Iterator[None]:
    """For writes. Raises ChangedError for 404, 409 and 410."""
    try:
        yield
    except ApiError as error:
        if error.status not in _CHANGED:
            raise
        raise ChangedError(str(error)) from error


def report_of(error: KubernetesError) -> Report:
    """What a write has come to that was not granted."""
    text = str(error)
    if isinstance(error, ApiUnavailableError):
        status = ReportStatus.UNKNOWN if error.sent else ReportStatus.RETRY
        return Report(status=status, text=text, again_after_s=error.retry_after_s)
    if error.status in _LATER:
        return Report(status=ReportStatus.RETRY, text=text, again_after_s=error.retry_after_s)
    return Report(status=ReportStatus.REFUSED, text=text)
