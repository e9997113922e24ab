"""The newest checkpoints of a job, where their paths are reachable from here."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import msgspec

from accelwatch.action import checkpoint_options
from accelwatch.action.checkpoint_options import CheckpointOptions
from accelwatch.action.intent import JobKey
from accelwatch.action.observed import JobObservation
from accelwatch.base.errors import ConfigError
from accelwatch.processes.command import run
from accelwatch_kubernetes.workloads.lineage import name_of

# In the pattern, besides the placeholders that every action has.
NAMESPACE = "{namespace}"
# For the search of a checkpoint; what is not searched in time is not known.
_SEARCH_S = 5.0
# A file system that hangs keeps one thread for `_SEARCH_S`; searches of other jobs wait their turn.
_AT_ONCE = 4
# Two paths.
_MAX_BYTES = 64 << 10


def check(options: CheckpointOptions | None) -> None:
    """Raises ConfigError for what is wrong, naming the key."""
    if options is None:
        return
    checkpoint_options.check(_within(options, "namespace"))
    if options.earlier:
        raise ConfigError("checkpoints.earlier: nothing tells a job here from which one to start")


def _within(options: CheckpointOptions, namespace: str) -> CheckpointOptions:
    """With the namespace in place: jobs of two namespaces may have the same name."""
    pattern = options.pattern.replace(NAMESPACE, namespace)
    return msgspec.structs.replace(options, pattern=pattern)


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
        argv = _within(self._options, name.namespace).search(name.name)
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
    step = _within(options, name.namespace).step_of(name.name, checkpoint)
    return msgspec.structs.replace(observation, checkpoint=checkpoint, step=step)
