"""A heterogeneous job as one: its components are requeued by their number and begin together. Pure."""

from collections.abc import Sequence

import msgspec

from accelwatch.action.observed import JobState
from accelwatch_slurm.texts.job_text import SlurmJob

# What counts where components differ: what is not over yet comes first.
_ORDER = (JobState.COMPLETING, JobState.HELD, JobState.WAITING, JobState.RUNNING, JobState.FINISHED)


def is_complete(components: Sequence[SlurmJob]) -> bool:
    """Whether all components are shown: Slurm counts them from 0."""
    shown = {component.component for component in components}
    return bool(components) and shown == {f"+{at}" for at in range(len(components))}


def nodes_of(components: Sequence[SlurmJob]) -> tuple[str, ...]:
    """All nodes of a job, each once."""
    return tuple(dict.fromkeys(node for component in components for node in component.nodes))


def combined(components: Sequence[SlurmJob]) -> SlurmJob:
    """All components as one job, known by its number; it runs when all of them do."""
    first = min(components, key=lambda component: int(component.component))
    states = {component.state for component in components}
    leads = next(
        component for state in _ORDER for component in components if component.state is state
    )
    nodes = nodes_of(components)
    return msgspec.structs.replace(
        first,
        id=first.base_id,
        slurm_state=leads.slurm_state if len(states) > 1 else first.slurm_state,
        nodes=nodes,
        node_count=len(nodes) or sum(component.node_count for component in components),
        requeueable=all(component.requeueable for component in components),
        restarts=min(component.restarts for component in components),
    )
