"""A heterogeneous job as one: its components are requeued by their number and begin together. Pure."""

from collections.abc import Sequence

import msgspec

from accelwatch.action.observed import JobState
from accelwatch_slurm.texts.job_text import SlurmJob

_ORDER = (JobState.ENDING, JobState.HELD, JobState.WAITING, JobState.RUNNING, JobState.ENDED)
"""What counts where components differ: what is not over yet comes first."""


def is_whole(parts: Sequence[SlurmJob]) -> bool:
    """Whether all components are shown: Slurm counts them from 0."""
    shown = {part.component for part in parts}
    return bool(parts) and shown == {f"+{at}" for at in range(len(parts))}


def nodes_of(parts: Sequence[SlurmJob]) -> tuple[str, ...]:
    """All nodes of a job, each once."""
    return tuple(dict.fromkeys(node for part in parts for node in part.nodes))


def whole_of(parts: Sequence[SlurmJob]) -> SlurmJob:
    """All components as one job, known by its number; it runs when all of them do."""
    first = min(parts, key=lambda part: int(part.component))
    states = {part.state for part in parts}
    leads = next(part for state in _ORDER for part in parts if part.state is state)
    nodes = nodes_of(parts)
    return msgspec.structs.replace(
        first,
        id=first.whole,
        word=leads.word if len(states) > 1 else first.word,
        nodes=nodes,
        node_count=len(nodes) or sum(part.node_count for part in parts),
        requeueable=all(part.requeueable for part in parts),
        restarts=min(part.restarts for part in parts),
    )
