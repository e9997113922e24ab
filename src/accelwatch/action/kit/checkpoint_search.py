"""The search for the newest checkpoints of a job, off the loop: a file system may hang its reader."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from accelwatch.system.processes.command import run

# For the search of a checkpoint; what is not searched in time is not known.
_SEARCH_S = 5.0
# A file system that hangs blocks one thread for `_SEARCH_S`; searches of other jobs wait their turn.
_AT_ONCE = 4
# Two paths.
_MAX_BYTES = 64 << 10


class CheckpointSearch:
    """For one event loop."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="checkpoints")

    async def output(self, argv: Sequence[str]) -> str:
        """What `CheckpointOptions.search` prints; empty where it fails, or does not end in time."""
        loop = asyncio.get_running_loop()
        result = await loop.run_in_executor(
            self._pool, lambda: run(argv, timeout_s=_SEARCH_S, max_bytes=_MAX_BYTES)
        )
        return result.output.decode("utf-8", "replace") if result.ok else ""

    def close(self) -> None:
        """Search no more; what runs ends by its own deadline."""
        self._pool.shutdown(wait=False, cancel_futures=True)
