"""Walks over a whole fleet, a few milliseconds at a time, so that messages are never kept waiting."""

import asyncio
import time
from types import TracebackType
from typing import Self

_SLICE_S = 0.004


class Turns:
    """Lets one walk after the other go on for a slice; what has arrived meanwhile comes between."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    def walk(self) -> "Walk":
        """A walk that is about to begin: `async with turns.walk() as walk`."""
        return Walk(self._lock)


class Walk:
    """One walk; it asks for a rest after every small step."""

    __slots__ = ("_held", "_lock", "_until")

    def __init__(self, lock: asyncio.Lock) -> None:
        self._lock = lock
        self._held = False
        self._until = 0.0

    async def __aenter__(self) -> Self:
        await self._take()
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._held:
            self._give()

    async def rest(self) -> None:
        """Let others go on when the slice is spent. Whatever was looked at may be another then."""
        if time.monotonic() < self._until:
            return
        self._give()
        await asyncio.sleep(0)
        await self._take()

    async def _take(self) -> None:
        await self._lock.acquire()
        self._held = True
        self._until = time.monotonic() + _SLICE_S

    def _give(self) -> None:
        self._held = False
        self._lock.release()
