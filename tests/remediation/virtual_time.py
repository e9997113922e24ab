"""An event loop on which nothing takes time but what waits, and that does not wait."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
START = 1_800_000_000.0
# What heeds no cancellation is left behind then.
_ENDS_S = 60.0


class _Skipping(selectors.DefaultSelector):
    """Where a loop would wait for its next timer, it is that time at once."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise AssertionError("everybody waits for something that nobody does")
            self.now += max(timeout, 0.0)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """For code without threads of its own."""

    def __init__(self) -> None:
        self._skipping = _Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        """Seconds since some moment."""
        return self._skipping.now

    def close(self) -> None:
        """End what still runs on it: asyncio would complain of it in the middle of another test."""
        left = set() if self.is_closed() else asyncio.all_tasks(self)
        for task in left:
            task.cancel()
        if left:
            ended, _ = self.run_until_complete(asyncio.wait(left, timeout=_ENDS_S))
            for task in ended:
                if not task.cancelled():
                    task.exception()
        super().close()

    def run_in_executor(
        self, executor: object, func: Callable[..., T], *args: object
    ) -> asyncio.Future[T]:
        """What is for a thread is done at once: a thread's time is not this loop's."""
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - whoever waits for it gets it
            done.set_exception(error)
        return done


class LoopClock:
    """The wall clock of whoever lives on a virtual loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def wall(self) -> float:
        return START + self._loop.time() - 1_000.0

    def monotonic(self) -> float:
        return self._loop.time()


def run(loop: VirtualLoop, play: Coroutine[Any, Any, T]) -> T:
    """Run to the end, however many hours that is."""
    try:
        return loop.run_until_complete(play)
    finally:
        loop.close()
