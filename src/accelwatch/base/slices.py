"""Long work on the loop in slices of milliseconds, so that streams and pages need not wait for it."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from time import monotonic
from types import TracebackType
from typing import Any, Self, TypeVar

# With the step that ends a slice, and what else comes in the same turn, less than five milliseconds.
SLICE_S = 0.003
# What a function awaits now and then while it works long.
YieldControl = Callable[[], Awaitable[None]]

T = TypeVar("T")
# Work in steps, and what comes of it.
Steps = Generator[None, None, T]


class LongWork:
    """One piece of long work; it yields control after every small step, when its slice is spent.

    With a lock it is a context: of all work with that lock only one goes on at a time, and each yield
    lets the next one have its slice.
    """

    __slots__ = ("_has_lock", "_lock", "_started", "busy_s")

    def __init__(self, lock: asyncio.Lock | None = None) -> None:
        self._lock = lock
        self._has_lock = False
        self._started = monotonic()
        # Time of the slices that are over.
        self.busy_s = 0.0

    async def __aenter__(self) -> Self:
        await self._resume()
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._release_lock()

    async def yield_control(self, pause: float = 0.0) -> None:
        """Let others run when the slice is spent, for `pause` times its length.

        What was read before may have changed by then.
        """
        spent = monotonic() - self._started
        if spent < SLICE_S:
            return
        self.busy_s += spent
        self._release_lock()
        await asyncio.sleep(spent * pause)
        await self._resume()

    def busy_seconds(self) -> float:
        """Seconds of work in all, without its pauses."""
        return self.busy_s + monotonic() - self._started

    async def _resume(self) -> None:
        if self._lock is not None:
            await self._lock.acquire()
            self._has_lock = True
        self._started = monotonic()

    def _release_lock(self) -> None:
        """A work that was cancelled while it waited for the lock does not have it."""
        if self._lock is not None and self._has_lock:
            self._has_lock = False
            self._lock.release()


class Turns:
    """Lets one walk over the fleet after the other go on for a slice; what has arrived comes between."""

    def __init__(self) -> None:
        # Held by one walk for one slice. Two walks at once would double the pause of the event
        # loop.
        self._lock = asyncio.Lock()

    def walk(self) -> LongWork:
        """A walk that is about to begin: `async with turns.walk() as walk`."""
        return LongWork(self._lock)


def at_once(work: Steps[T] | Coroutine[Any, Any, T]) -> T:
    """What comes of work without a pause between its steps.

    A coroutine may yield control, but waits for nothing else.
    """
    while True:
        try:
            work.send(None)
        except StopIteration as end:
            result: T = end.value
            return result


async def in_slices(steps: Steps[T], work: LongWork) -> T:
    """What comes of steps, between which others on the event loop have their turn."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        await work.yield_control()
