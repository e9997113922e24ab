"""How often something was done lately, and when it may be done again. Pure.

What was done is kept as its moments, not as a level that fills up: so "three in any hour" is exactly
that, also across a restart. A moment in the future, which a clock that went back leaves behind, counts
until it has passed.
"""

from collections.abc import Sequence

HOUR_S = 3600.0
MINUTE_S = 60.0
WEEK_S = 7 * 86_400.0


def within(times: Sequence[float], now: float, seconds: float) -> tuple[float, ...]:
    """Those of the moments that are less than so many seconds ago, the oldest first."""
    since = now - seconds
    return tuple(sorted([time for time in times if time > since]))


def free_at(times: Sequence[float], now: float, most: int, seconds: float) -> float:
    """When one more is within `most` in any `seconds`: `now`, or a later moment. `most` is above 0."""
    if len(times) < most:
        return now
    recent = within(times, now, seconds)
    if len(recent) < most:
        return now
    # The oldest of the last `most`: when it leaves the window, one more fits.
    return recent[-most] + seconds
