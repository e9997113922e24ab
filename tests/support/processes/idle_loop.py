"""An event loop on which time passes only while it waits, for servers and clients that share it.

What the machine takes to get round to this process, and what the process computes, is not counted: a
time-out ends who was waited for, never who was kept from running. So a peer that hangs is given up after
its half second on any machine, and one that answers is not.
"""

import asyncio
import selectors
import time

_START = 1_000.0
# The most that one round of callbacks counts, so that time passes for a loop that never waits too.
_MOST_AT_WORK_S = 0.001


class _Waiting(selectors.DefaultSelector):
    """Adds up how long it was waited, each wait for at most as long as was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.waited_s = 0.0
        self._left = time.monotonic()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        began = time.monotonic()
        self.waited_s += min(began - self._left, _MOST_AT_WORK_S)
        ready = super().select(timeout)
        self._left = time.monotonic()
        waited_s = self._left - began
        self.waited_s += waited_s if timeout is None else min(waited_s, max(timeout, 0.0))
        return ready


class IdleLoop(asyncio.SelectorEventLoop):
    """Its `time` is what it has waited."""

    def __init__(self) -> None:
        self._waiting = _Waiting()
        super().__init__(self._waiting)

    def time(self) -> float:
        """Seconds since some moment."""
        return _START + self._waiting.waited_s
