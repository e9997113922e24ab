"""Moments as people see them beside others of the same day."""

from datetime import datetime

from accelwatch.tui.drawing import format as fmt

_DAY_S = 86_400.0


def when(unix_s: float, now: float) -> str:
    """The local time of day, with its date where that is another day."""
    if not unix_s:
        return fmt.NOTHING
    if abs(now - unix_s) < _DAY_S / 2:
        return fmt.clock_time(unix_s)
    return datetime.fromtimestamp(unix_s).astimezone().strftime("%m-%d %H:%M:%S")
