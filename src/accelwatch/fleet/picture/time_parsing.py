"""A moment of a recording as people write it, in local time where no zone is written. Pure."""

from datetime import datetime, timedelta

from accelwatch.base.durations import seconds
from accelwatch.base.errors import UsageError

_DAY_S = 86_400.0
# Letters of a day: `2026-03-14`.
_DATE = 10
HINT = "10:32, 10:32:05, 2026-03-14, '2026-03-14 10:32', +5m, -2h or 50%"


def parse_time(text: str, first: float, now: float, last: float) -> float:
    """Unix seconds meant by one of `HINT`. Raises UsageError."""
    token = text.strip()
    if token.endswith("%") and token[:-1].replace(".", "", 1).isdecimal():
        return first + (last - first) * min(float(token[:-1]), 100.0) / 100
    if token[:1] in "+-" and len(token) > 1:
        return now + seconds(token[1:]) * (1 if token[0] == "+" else -1)
    dated = _dated(token)
    if dated is not None:
        return dated
    fields = token.split(":")
    if len(fields) in (2, 3) and all(field.isdecimal() for field in fields):
        numbers = [int(field) for field in (*fields, "0")][:3]
        return _time_of_day(numbers, first, now, last)
    raise UsageError(f"no moment {text!r}; write {HINT}")


def _dated(token: str) -> float | None:
    """A day, or a moment of one; local time where no zone is written."""
    if len(token) < _DATE or not token[:4].isdecimal():
        return None
    try:
        return datetime.fromisoformat(token).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _time_of_day(numbers: list[int], first: float, now: float, last: float) -> float:
    """Such a time of the day that is shown; of a recording of a day at most, the first there is."""
    hour, minute, second = numbers
    base = now if last - first > _DAY_S else first
    start = datetime.fromtimestamp(base).astimezone()
    try:
        meant = start.replace(hour=hour, minute=minute, second=second, microsecond=999_999)
    except ValueError as error:
        raise UsageError(f"no such time: {error}") from error
    if (
        meant.timestamp() < first
        and last - first <= _DAY_S
        and (meant + timedelta(days=1)).timestamp() <= last
    ):
        meant += timedelta(days=1)
    return meant.timestamp()
