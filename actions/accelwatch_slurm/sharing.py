"""Reads that several callers share: whoever asks while one goes on waits for the next, all together.

What a caller gets was read after it had asked. A hundred nodes that go bad at once are so looked at by
a few commands instead of hundreds.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from accelwatch.action.contract import ActionUnavailableError

Result = TypeVar("Result")


class SharedRead(Generic[Result]):
    """One kind of read; for one event loop at a time."""

    def __init__(self, read: Callable[[], Awaitable[Result]]) -> None:
        self._read = read
        self._lock = asyncio.Lock()
        self._begun = 0
        self._last: tuple[int, Result | None, str] = (0, None, "")
        """Number of the last read that ended, what it gave, or why it gave nothing."""

    async def get(self) -> Result:
        """What is read now. Raises ActionUnavailableError."""
        asked = self._begun
        async with self._lock:
            if self._last[0] <= asked:
                await self._once()
            _, result, why = self._last
        if result is None:
            raise ActionUnavailableError(why)
        return result

    async def _once(self) -> None:
        self._begun += 1
        number = self._begun
        try:
            self._last = number, await self._read(), ""
        except ActionUnavailableError as error:
            self._last = number, None, str(error)
