"""Who reads a long page on a thread: one at a time, and how many wait for it."""

import asyncio


class Turn:
    """One turn for all targets of a client."""

    def __init__(self) -> None:
        # How many have it or wait for it, each with a page in memory.
        self.pending = 0
        # Parsing a long page holds the interpreter: two threads would be no faster, and use twice
        # the memory.
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> None:
        self.pending += 1
        try:
            await self._lock.acquire()
        except BaseException:
            self.pending -= 1
            raise

    async def __aexit__(self, *_: object) -> None:
        self.pending -= 1
        self._lock.release()
