"""Reads that several callers share: callers during a read wait for the next, all together.

What a caller gets was read after its call. A hundred nodes that go bad at once are so read by
a few commands instead of hundreds.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from accelwatch.action.contract import ActionUnavailableError

Result = TypeVar("Result")


# Reads within a second that are a rush; a move of one job needs ten.
_MANY = 32
_GATHERED_S = 0.1


class Rush:
    """Whether so many read at once that it pays to gather their reads."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=_MANY)

    def note(self) -> None:
        """Note a read."""
        self._times.append(asyncio.get_running_loop().time())

    @property
    def is_on(self) -> bool:
        """Whether there were many reads within the last second."""
        now = asyncio.get_running_loop().time()
        return len(self._times) == _MANY and now - self._times[0] < 1.0


class SharedRead(Generic[Result]):
    """One kind of read; for one event loop at a time."""

    def __init__(self, read: Callable[[], Awaitable[Result]], rush: Rush) -> None:
        """In a rush a read waits a little for more callers."""
        self._read = read
        self._rush = rush
        # One read at a time. A caller that waited uses the result of a read that started after its
        # request, never an older one.
        self._lock = asyncio.Lock()
        self._reads_started = 0
        # Number of the last read that ended, what it gave, or why it gave nothing.
        self._last: tuple[int, Result | None, str] = (0, None, "")

    async def get(self) -> Result:
        """What is read now. Raises ActionUnavailableError."""
        started = self._reads_started
        async with self._lock:
            if self._last[0] <= started:
                await self._once()
            _, result, why = self._last
        if result is None:
            raise ActionUnavailableError(why)
        return result

    async def _once(self) -> None:
        if self._rush.is_on:
            await asyncio.sleep(_GATHERED_S)
        self._reads_started += 1
        number = self._reads_started
        try:
            self._last = number, await self._read(), ""
        except ActionUnavailableError as error:
            self._last = number, None, str(error)
