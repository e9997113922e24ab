"""Whether a sink is to be tried now: a receiver that fails is left alone, longer each time. Pure."""

import math

from accelwatch.base.backoff import Backoff

_FIRST_S = 1.0
_LIMIT_S = 300.0


class Circuit:
    """Of one sink; times are monotonic."""

    def __init__(self, pace_s: float) -> None:
        self._pace_s = pace_s
        self._backoff = Backoff(_FIRST_S, _LIMIT_S)
        # Moment before which nothing is sent.
        self.until = -math.inf

    @property
    def closed(self) -> bool:
        """Whether the last delivery went well."""
        return self._backoff.failures == 0

    def succeeded(self, now: float) -> None:
        """The receiver accepted a notice, or said clearly that it never will."""
        self._backoff.succeeded()
        self.until = now + self._pace_s

    def failed(self, now: float, requested_s: float | None) -> None:
        """It did not; `requested_s` is the pause that it requests."""
        pause = max(self._backoff.failed(now), requested_s or 0.0, self._pace_s)
        self.until = now + pause
