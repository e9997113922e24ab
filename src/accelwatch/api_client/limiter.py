"""How many requests a cluster gets from us, all of them together: so many a second, after a burst.

A 429 of the server's flow control stops all of them for as long as it says: it means the server,
not the request. Times are monotonic.
"""

import asyncio

from accelwatch.base.clock import Clock, SystemClock

# 100 nodes a second, each read, patched and read back (docs/figures.md), and as much again for what else
# is read; kubectl and controllers of client-go are content with 5 to 50, and flow control slows down
# whoever is too fast.
REQUESTS_PER_S = 500.0
BURST = 500
# Where a 429 does not say for how long: the API server's own default.
_PAUSE_S = 1.0
# The longest pause: a proxy between us and the server may say an hour, in which no fault
# would be acted upon. One request in so long is no load.
MAX_PAUSE_S = 30.0
# Turns are sums of many intervals, and off by less than this where they fall together with now.
_ROUNDING_S = 1e-6


class Limiter:
    """Gives each request its turn, in the order in which they come."""

    def __init__(
        self, rate: float = REQUESTS_PER_S, burst: int = BURST, clock: Clock | None = None
    ) -> None:
        self._interval_s = 1.0 / rate
        self._credit_s = (burst - 1) * self._interval_s
        self._clock = clock or SystemClock()
        # Next turn that nobody has; in the past while nothing is under way.
        self._next = float("-inf")
        # Moment before which nothing is sent.
        self.opens_at = float("-inf")

    async def wait(self, deadline: float) -> bool:
        """Wait for a turn; False, without one, where it would come after the deadline."""
        while True:
            now = self._clock.monotonic()
            turn = max(self._next, now - self._credit_s, self.opens_at)
            if turn > deadline:
                return False
            self._next = turn + self._interval_s
            if turn > now + _ROUNDING_S:
                await asyncio.sleep(turn - now)
            # While this one slept the server may have stopped all: then it queues again, so that
            # they do not come together when the pause ends.
            if turn >= self.opens_at:
                return True

    def pause(self, seconds: float | None) -> None:
        """The server has too much to do; nothing is sent for so long, or for `MAX_PAUSE_S`."""
        pause_s = _PAUSE_S if seconds is None else min(seconds, MAX_PAUSE_S)
        until = self._clock.monotonic() + pause_s
        self.opens_at = max(self.opens_at, until)
