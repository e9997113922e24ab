"""How much an incident of the past still counts: for the detector's channel K and for lemons. Pure."""

import math

DAY_S = 86_400.0
# After 28 days nothing is said any more (detection.md 4.2, K).
PERIOD_S = 28 * DAY_S
# 25 % come back within 7 days and 37 % within 28 (detection.md 0, row 7): weight falls by e in 14 days.
_DECAY_S = 14 * DAY_S


def faded(age_s: float) -> float:
    """The share of its weight that an incident has left after so many seconds, above 0 to 1.

    One that is dated in the future counts as one of now.
    """
    return math.exp(-max(age_s, 0.0) / _DECAY_S)
