"""A moment of a recording as people write it, in local time where no zone is written. Pure."""

from datetime import datetime, timedelta

from accelwatch.base.durations import seconds
from accelwatch.base.errors import UsageError

_DAY_S = 86_400.0
_DATE = 10
"""Letters of a day: `2026-03-14`."""
HINT = "10:32, 10:32:05, 2026-03-14, '2026-03-14 10:32', +5m, -2h or 50%"


def moment_of(text: str, first: float, now: float, last: float) -> float:
    """Unix seconds meant by one of `HINT`. Raises UsageError."""
    word = text.strip()
    if word.endswith("%") and word[:-1].replace(".", "", 1).isdecimal():
        return first + (last - first) * min(float(word[:-1]), 100.0) / 100
    if word[:1] in "+-" and len(word) > 1:
        return now + seconds(word[1:]) * (1 if word[0] == "+" else -1)
    dated = _dated(word)
    if dated is not None:
        return dated
    parts = word.split(":")
    if len(parts) in (2, 3) and all(part.isdecimal() for part in parts):
        numbers = [int(part) for part in (*parts, "0")][:3]
        return _time_of_day(numbers, first, now, last)
    raise UsageError(f"no moment {text!r}; write {HINT}")


def _dated(word: str) -> float | None:
    """A day, or a moment of one; local time where no zone is written."""
    if len(word) < _DATE or not word[:4].isdecimal():
        return None
    try:
        return datetime.fromisoformat(word).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _time_of_day(numbers: list[int], first: float, now: float, last: float) -> float:
    """Such a time of the day that is shown; of a recording of a day at most, the first there is."""
    hour, minute, second = numbers
    begin = now if last - first > _DAY_S else first
    start = datetime.fromtimestamp(begin).astimezone()
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
