"""When things are due, on the monotonic clock alone; a step of the wall clock changes nothing."""

import math

FIRST_BACKOFF_S = 1.0
MAX_BACKOFF_S = 60.0


class Ticks:
    """Instants at a fixed distance from a start: a late tick does not push the later ones."""

    def __init__(self, start: float, interval_s: float) -> None:
        self._interval_s = interval_s
        self._next = start

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


class Backoff:
    """Growing pauses between attempts: 1, 2, 4 ... 60 s by default; a success forgets them."""

    def __init__(
        self, first_s: float = FIRST_BACKOFF_S, limit_s: float = MAX_BACKOFF_S, free: int = 0
    ) -> None:
        self._first_s = first_s
        self._limit_s = limit_s
        self._free = free
        self.failures = 0
        self.until = -math.inf
        """Moment before which nothing should be tried."""

    def failed(self, now: float) -> float:
        """Note a failure; returns the pause in seconds (0 for the first `free` failures)."""
        self.failures += 1
        exponent = min(self.failures - self._free - 1, 32)
        pause = 0.0 if exponent < 0 else min(self._first_s * 2.0**exponent, self._limit_s)
        self.until = now + pause
        return pause

    def succeeded(self) -> None:
        """Forget all failures."""
        self.failures = 0
        self.until = -math.inf

    def ready(self, now: float) -> bool:
        """Whether the pause is over."""
        return now >= self.until
