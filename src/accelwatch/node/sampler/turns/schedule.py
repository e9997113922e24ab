"""When things are due, on the monotonic clock alone; a step of the wall clock changes nothing."""

import math

# How often a collector gives a sign of life. Most readings come every one, two or five seconds: it
# comes with them more often than not.
HEARTBEAT_S = 2.0


class Ticks:
    """Instants at a fixed distance from a start: a late tick does not push the later ones."""

    def __init__(self, start: float, interval_s: float) -> None:
        self._interval_s = interval_s
        self._next = start

    @classmethod
    def joining(cls, grid: float, interval_s: float, now: float) -> "Ticks":
        """Ticks on the grid that others began at `grid`: whoever joins it is woken together with them.

        The first is at least half an interval after `now`, when the caller has just done its work.
        """
        steps = math.ceil((now - grid) / interval_s + 0.5)
        return cls(grid + steps * interval_s, interval_s)

    @property
    def next(self) -> float:
        """Moment of the next tick."""
        return self._next

    def due(self, now: float) -> bool:
        """Whether a tick is due; if so, the next one is the first on the grid after `now`.

        Ticks that were missed (a stopped process, a sleeping machine) are left out, not made up for.
        """
        if now < self._next:
            return False
        missed = math.floor((now - self._next) / self._interval_s)
        self._next += (missed + 1) * self._interval_s
        return True
