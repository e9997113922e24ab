"""When rules were evaluated last, and whether that is too long ago to rely on what is known."""

from accelwatch.base.clock import Clock

LATE_INTERVALS = 10.0
# A tick that is later than both is none that a dead man's ping should vouch for.
LATE_S = 30.0


class Lateness:
    """Of one runner; times in monotonic seconds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ticked_at: float | None = None
        self._started_at = clock.monotonic()

    def start(self, now: float) -> None:
        """The first tick is awaited since then."""
        self._started_at = now

    def tick(self) -> float:
        """Rules were evaluated now; the moment."""
        self._ticked_at = self._clock.monotonic()
        return self._ticked_at

    @property
    def evaluated_age_s(self) -> float | None:
        """Seconds since the last tick; None before the first."""
        return None if self._ticked_at is None else self._clock.monotonic() - self._ticked_at

    def late_s(self, interval_s: float) -> float:
        """Seconds without an evaluation, where that is too long for ticks of an interval; else 0."""
        age_s = self.evaluated_age_s
        waited_s = self._clock.monotonic() - self._started_at if age_s is None else age_s
        return waited_s if waited_s > max(LATE_INTERVALS * interval_s, LATE_S) else 0.0
