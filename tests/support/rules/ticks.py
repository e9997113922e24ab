"""Ticks of a rule runner, one at a test's word, by the loop that makes them in the product."""

import asyncio


class Ticks:
    """Its `wait` stands in place of an evaluator's."""

    def __init__(self) -> None:
        self._due = asyncio.Semaphore(0)
        self._idle = asyncio.Event()

    async def wait(self) -> None:
        """The runner has ended a tick, or none has begun."""
        self._idle.set()
        await self._due.acquire()

    async def tick(self) -> None:
        """Have the runner tick once, whatever it meets."""
        await self._idle.wait()
        self._idle.clear()
        self._due.release()
        await self._idle.wait()
