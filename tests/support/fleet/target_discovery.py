"""Runs one way of finding targets, and collects what it finds."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence

from accelwatch.fleet.target import Target
from accelwatch.fleet.targets.watch import Discoverer
from support.processes.waiting import GUARD_S


class Finding:
    """What a way has found so far."""

    def __init__(self) -> None:
        self.turns = 0
        self.targets: Sequence[Target] = ()

    def found(self, targets: Sequence[Target]) -> None:
        self.turns += 1
        self.targets = targets

    @property
    def addresses(self) -> list[str]:
        return sorted(one.address for one in self.targets)

    async def until(self, happened: Callable[[], bool]) -> None:
        async with asyncio.timeout(GUARD_S):
            while not happened():
                await asyncio.sleep(0.01)

    async def turn(self, count: int = 2) -> None:
        """Wait until it has looked so many times more; the first may have started before."""
        wanted = self.turns + count
        await self.until(lambda: self.turns >= wanted)


@contextlib.asynccontextmanager
async def finding(way: Discoverer) -> AsyncIterator[Finding]:
    one = Finding()
    task = asyncio.ensure_future(way.run(one.found))
    try:
        yield one
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
