"""The newest checkpoints of a job, where their paths are reachable from here."""

import msgspec

from accelwatch.action.checkpoint_options import CheckpointOptions
from accelwatch.action.intent import JobKey
from accelwatch.action.kit.checkpoint_search import CheckpointSearch
from accelwatch.action.observed import JobObservation
from accelwatch_kubernetes.settings.checkpoint_patterns import of_namespace
from accelwatch_kubernetes.workloads.lineage import name_of


class Checkpoints:
    """For one event loop."""

    def __init__(self, options: CheckpointOptions | None) -> None:
        self._options = options
        self._search = CheckpointSearch()

    async def search(self, key: JobKey) -> str:
        """The newest two of a job, a line each; empty where none is found in time, or none is known."""
        name = name_of(key)
        if self._options is None or name is None:
            return ""
        argv = of_namespace(self._options, name.namespace).search(name.name)
        return await self._search.output(argv)

    def close(self) -> None:
        """Search no more; what runs ends by its own deadline."""
        self._search.close()


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
