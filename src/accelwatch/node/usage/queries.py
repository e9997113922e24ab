"""Queries of people and pages to a ledger, in words."""

from accelwatch.base.durations import is_duration, seconds
from accelwatch.base.errors import UsageError
from accelwatch.node.usage.ledger import WINDOW_S, By
from accelwatch.node.usage.report import SINCE_JOB

# The answer instead of a report.
NOT_COUNTED = "use is not counted here: usage.count is false in the configuration"
PATH = "/v1/usage"
BY_DEFAULT = By.USER.value
SINCE_DEFAULT = "1h"
_LEAST_S = 60.0


def by_of(text: str) -> By:
    """What a row stands for. Raises UsageError."""
    if text not in tuple(By):
        raise UsageError(f"by: {text[:40]!r} is neither user nor job")
    return By(text)


def window_of(text: str) -> float | None:
    """`10m` to `1h` in seconds; None for `job`: everything that was counted. Raises UsageError."""
    if text == SINCE_JOB:
        return None
    if not is_duration(text) or not _LEAST_S <= seconds(text) <= WINDOW_S:
        raise UsageError(f"since: {text[:40]!r} is neither {SINCE_JOB} nor a time from 1m to 1h")
    return seconds(text)
