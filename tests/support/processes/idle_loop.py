"""An event loop on which time passes only while it waits, for servers and clients that share it.

What the machine takes to get round to this process, and what the process computes, is not counted: a
time-out ends who was waited for, never who was kept from running. So a peer that hangs is given up after
its half second on any machine, and one that answers is not.
"""

import asyncio
import contextlib
import selectors
import time

from accelwatch.base.clock import SystemClock

# The most that one round of callbacks counts, so that time passes for a loop that never waits too.
_MOST_AT_WORK_S = 0.001
# The most that a wait counts which an event ends: the event may have been there long before the machine
# let this process go on, and what it brings would be late together with its time-out.
_MOST_FOR_EVENT_S = 0.05


class _Waiting(selectors.DefaultSelector):
    """Adds to the time how long it was waited, each wait for at most as long as was asked for."""

    def __init__(self) -> None:
        super().__init__()
        # Begins with the machine's time, so that the loop of a test goes on after the one before it.
        self.now = self._left = time.monotonic()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        entered = time.monotonic()
        self.now += min(entered - self._left, _MOST_AT_WORK_S)
        ready = super().select(timeout)
        self._left = time.monotonic()
        waited_s = self._left - entered
        if timeout is not None:
            waited_s = min(waited_s, max(timeout, 0.0))
        self.now += min(waited_s, _MOST_FOR_EVENT_S) if ready else waited_s
        return ready


class IdleLoop(asyncio.SelectorEventLoop):
    """Its `time` is what it has waited."""

    def __init__(self) -> None:
        self._waiting = _Waiting()
        super().__init__(self._waiting)

    def time(self) -> float:
        """Seconds since some moment."""
        return self._waiting.now


class IdleClock(SystemClock):
    """The time of the loop that runs, for hubs and clients on it: as long as they stand, nothing ages.

    Threads have the time of the loop that asked last. On any other loop this is the machine's time. With
    `ahead_s` the wall clock is wrong, by so many seconds.
    """

    def __init__(self, ahead_s: float = 0.0) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wall_offset = super().wall() - super().monotonic() + ahead_s

    def wall(self) -> float:
        """Unix time in seconds; behind the machine's by what the loop has not waited."""
        return self._wall_offset + self.monotonic()

    def monotonic(self) -> float:
        """Seconds since some moment."""
        with contextlib.suppress(RuntimeError):
            self._loop = asyncio.get_running_loop()
        return super().monotonic() if self._loop is None else self._loop.time()
