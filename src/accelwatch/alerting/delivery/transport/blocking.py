"""Calls that block, each on a thread with a deadline, for sinks whose library knows no other."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class StillBusyError(Exception):
    """The call before has not come back yet."""


class Blocking(Generic[Result]):
    """One call at a time. A call that hangs is left behind, and no other starts until it is back."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._busy: asyncio.Future[Result] | None = None

    async def run(self, call: Callable[[], Result], timeout_s: float) -> Result:
        """What the call gives or raises. Raises TimeoutError, StillBusyError."""
        if self._busy is not None and not self._busy.done():
            raise StillBusyError
        loop = asyncio.get_running_loop()
        self._busy = done = loop.create_future()
        # Not one of the loop's own threads: a call that hangs must not keep the program from ending.
        threading.Thread(
            target=_work, args=(loop, done, call), name=self._name, daemon=True
        ).start()
        async with asyncio.timeout(timeout_s):
            return await asyncio.shield(done)


def _work(
    loop: asyncio.AbstractEventLoop,
    done: "asyncio.Future[Result]",
    call: Callable[[], Result],
) -> None:
    try:
        result = call()
    except Exception as error:  # noqa: BLE001 - handed to who waits
        settle, value = _fail, error
    else:
        settle, value = _give, result  # type: ignore[assignment]
    with contextlib.suppress(RuntimeError):  # nobody waits in a loop that is closed
        loop.call_soon_threadsafe(settle, done, value)


def _give(done: "asyncio.Future[Result]", result: Result) -> None:
    if not done.done():
        done.set_result(result)


def _fail(done: "asyncio.Future[Result]", error: Exception) -> None:
    if not done.done():
        done.set_exception(error)
        # A caller that stopped waiting never reads it.
        done.exception()
