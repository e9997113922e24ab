"""The newest checkpoints of a job, where their paths are reachable from here."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import msgspec

from accelwatch.action.checkpoint_options import CheckpointOptions
from accelwatch.action.intent import JobKey
from accelwatch.action.observed import JobObservation
from accelwatch.processes.command import run
from accelwatch_kubernetes.checkpoint_patterns import of_namespace
from accelwatch_kubernetes.workloads.lineage import name_of

# For the search of a checkpoint; what is not searched in time is not known.
_SEARCH_S = 5.0
# A file system that hangs keeps one thread for `_SEARCH_S`; searches of other jobs wait their turn.
_AT_ONCE = 4
# Two paths.
_MAX_BYTES = 64 << 10


class Checkpoints:
    """For one event loop."""

    def __init__(self, options: CheckpointOptions | None) -> None:
        self._options = options
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="checkpoints")

    async def search(self, key: JobKey) -> str:
        """The newest two of a job, a line each; empty where none is found in time, or none is known."""
        name = name_of(key)
        if self._options is None or name is None:
            return ""
        argv = of_namespace(self._options, name.namespace).search(name.name)
        loop = asyncio.get_running_loop()
        result = await loop.run_in_executor(
            self._pool, lambda: run(argv, timeout_s=_SEARCH_S, max_bytes=_MAX_BYTES)
        )
        return result.output.decode("utf-8", "replace") if result.ok else ""

    def close(self) -> None:
        """Search no more; what runs ends by its own deadline."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def with_checkpoints(
    observation: JobObservation, searched: str, options: CheckpointOptions | None
) -> JobObservation:
    """A job with what `Checkpoints.search` has found of it. Pure."""
    name = name_of(observation.key)
    if options is None or name is None or not searched:
        return observation
    checkpoint, _ = options.read(searched)
    step = of_namespace(options, name.namespace).step_of(name.name, checkpoint)
    return msgspec.structs.replace(observation, checkpoint=checkpoint, step=step)
