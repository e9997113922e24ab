"""Which jobs a scheduler shows on a node of the hub, whose they are, and on which nodes they run."""

from collections.abc import Iterator, Mapping

from accelwatch.action.observed import NodeSeen
from accelwatch.remediation.policy.guards.identity import Proof
from accelwatch.remediation.policy.state.clocks import FRESH_S
from accelwatch.remediation.policy.state.model import RemedyState


def scheduled(
    state: RemedyState, node: str, mapped: Mapping[str, str], now: float
) -> dict[str, str]:
    """The jobs on a node now, by their ids, each with its user, empty where the scheduler says none.

    `mapped` is `remedy.nodes`. Nothing where the node was not shown lately.
    """
    seen = _shown(state, node, mapped, now)
    if seen is None:
        return {}
    return {str(job): seen.owners.get(str(job), "") for job in seen.jobs}


def nodes_of_jobs(
    state: RemedyState, node: str, mapped: Mapping[str, str], now: float
) -> Iterator[str]:
    """The hub's names of all nodes on which the jobs of a node run."""
    seen = _shown(state, node, mapped, now)
    if seen is None or not seen.jobs:
        return
    jobs, names = set(seen.jobs), {theirs: ours for ours, theirs in mapped.items()}
    names |= {one.name: one.node for one in state.world.proofs.values() if isinstance(one, Proof)}
    for other in state.world.seen.values():
        if not jobs.isdisjoint(other.jobs):
            yield names.get(other.name, other.name)


def _shown(state: RemedyState, node: str, mapped: Mapping[str, str], now: float) -> NodeSeen | None:
    world, remedy = state.world, state.remedies.get(node)
    proof = world.proofs.get(node)
    proven = proof.name if isinstance(proof, Proof) else mapped.get(node, node)
    seen = world.seen.get((remedy.target if remedy is not None else "") or proven)
    scheduler = None if seen is None else world.schedulers.get(world.seen_by.get(seen.name, ""))
    return None if scheduler is None or now - scheduler.time > FRESH_S else seen
