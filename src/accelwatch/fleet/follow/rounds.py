"""When targets are polled: all over the interval, a dozen at a time.

A poll right after another costs half of one by itself, for what it needs is still in the caches; a
dozen take no longer than anybody may have to wait.
"""

import math
import random

_TOGETHER = 12
_APART_S = 0.25
"""Rounds are never further apart."""


class Rounds:
    """Moments, in seconds of the loop, at which polls are made."""

    def __init__(self) -> None:
        self.targets = 0
        self._pick = random.Random()  # noqa: S311 - spreads load, keeps no secret

    def any(self, now: float, interval_s: float) -> float:
        """The moment of some round within the next interval."""
        return self.nearest(now + self._pick.uniform(0.0, interval_s), interval_s)

    def nearest(self, moment: float, interval_s: float) -> float:
        """The moment of the round nearest to this one."""
        count = max(math.ceil(self.targets / _TOGETHER), math.ceil(interval_s / _APART_S))
        apart_s = interval_s / count
        return round(moment / apart_s) * apart_s
