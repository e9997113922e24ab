"""One thread that reads an archive: what the screen waits for first, a scan of all of it in between.

A daemon: a disk that hangs must not keep the program from ending.
"""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

Result = TypeVar("Result")
_Work = tuple[Callable[[], Any], "asyncio.Future[Any]", asyncio.AbstractEventLoop]


class ReadingThread:
    """Calls run in their order; the background goes on one step at a time."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._queue: deque[_Work] = deque()
        self._background: Iterator[None] = iter(())
        # Guards the queue and the stop flag. The thread waits on it only when there is no call and
        # the background has nothing left to read.
        self._wakeup = threading.Condition()
        self._thread: threading.Thread | None = None
        self._stopped = False
        # What has ended the background before its end.
        self._fault: Exception | None = None

    def start(self, background: Iterator[None]) -> None:
        """Start, with what is to be done between calls."""
        self._background = background
        self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Start nothing more; what is under way is not waited for."""
        with self._wakeup:
            self._stopped = True
            self._queue.clear()
            self._wakeup.notify()

    async def call(self, call: Callable[[], Result]) -> Result:
        """What the call gives or raises, from the thread; else what the background has raised."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Result] = loop.create_future()
        with self._wakeup:
            self._queue.append((call, done, loop))
            self._wakeup.notify()
        result = await done
        if self._fault is not None:
            raise self._fault
        return result

    def _work(self) -> None:
        idle = False
        while True:
            with self._wakeup:
                while not self._queue and idle and not self._stopped:
                    self._wakeup.wait()
                if self._stopped:
                    return
                work = self._queue.popleft() if self._queue else None
            if work is None:
                idle = self._step()
            else:
                _answer(*work)

    def _step(self) -> bool:
        """One step of the background; whether there is none any more."""
        try:
            return next(self._background, _DONE) is _DONE
        except Exception as error:  # noqa: BLE001 - raised where somebody waits
            self._fault = error
            return True


_DONE = object()


def _answer(
    call: Callable[[], Any], done: "asyncio.Future[Any]", loop: asyncio.AbstractEventLoop
) -> None:
    if done.cancelled():
        return
    try:
        result, error = call(), None
    except Exception as raised:  # noqa: BLE001 - handed to who waits
        result, error = None, raised
    with contextlib.suppress(RuntimeError):  # nobody waits in a loop that is closed
        loop.call_soon_threadsafe(_settle, done, result, error)


def _settle(done: "asyncio.Future[Any]", result: Any, error: Exception | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(result)
    else:
        done.set_exception(error)
