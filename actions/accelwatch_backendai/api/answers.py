"""What the client's errors mean in the words of the contract."""

from collections.abc import Iterator
from contextlib import contextmanager

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.step import Report, ReportStatus
from accelwatch.api_client.backendai.errors import BackendAiError, BackendAiUnavailableError

DONE = Report(status=ReportStatus.DONE)
# The same request may be granted later: a signature of a key that is being replaced, a rate limit.
_LATER = frozenset({401, 429})
# So may one that was refused for its date, with 400 (26.1.0, 26.9.6): a clock was set since the read.
_WRONG_DATE = "invalid-auth-params"


@contextmanager
def unavailable_if_unread() -> Iterator[None]:
    """For reads: whatever is not answered is not known. Raises ActionUnavailableError."""
    try:
        yield
    except BackendAiError as error:
        raise ActionUnavailableError(str(error)) from error


def is_final(error: BackendAiError) -> bool:
    """Whether the same request would be refused again, by what is known of it."""
    may_be_granted = error.status in _LATER or error.problem.kind == _WRONG_DATE
    return not may_be_granted and not error.problem.started


def report_of(error: BackendAiError) -> Report:
    """What a write has come to that was not granted."""
    if isinstance(error, BackendAiUnavailableError):
        status = ReportStatus.UNKNOWN if error.sent else ReportStatus.RETRY
    elif error.problem.started:
        # A database that fails over, or an agent that does not answer, in the middle of it.
        status = ReportStatus.UNKNOWN
    else:
        status = ReportStatus.REFUSED if is_final(error) else ReportStatus.RETRY
    return Report(status=status, text=str(error), again_after_s=error.retry_after_s)
