"""Which jobs a scheduler shows on a node of the hub, whose they are, and on which nodes they run."""

from collections.abc import Iterator, Mapping

from accelwatch.action.observed import NodeObservation
from accelwatch.remediation.policy.guards.identity import Proof
from accelwatch.remediation.policy.state.clocks import FRESH_S
from accelwatch.remediation.policy.state.model import RemedyState


def scheduled(
    state: RemedyState, node: str, mapped: Mapping[str, str], now: float
) -> dict[str, str]:
    """The jobs on a node now, by their ids, each with its user, empty where the scheduler says none.

    `mapped` is `remedy.nodes`. Nothing where the node was not shown lately.
    """
    observed = _shown(state, node, mapped, now)
    if observed is None:
        return {}
    return {str(job): observed.owners.get(str(job), "") for job in observed.jobs}


def nodes_of_jobs(
    state: RemedyState, node: str, mapped: Mapping[str, str], now: float
) -> Iterator[str]:
    """The hub's names of all nodes on which the jobs of a node run."""
    observed = _shown(state, node, mapped, now)
    if observed is None or not observed.jobs:
        return
    jobs, names = set(observed.jobs), {theirs: ours for ours, theirs in mapped.items()}
    names |= {
        proof.name: proof.node for proof in state.world.proofs.values() if isinstance(proof, Proof)
    }
    for other in state.world.scheduler_nodes.values():
        if not jobs.isdisjoint(other.jobs):
            yield names.get(other.name, other.name)


def _shown(
    state: RemedyState, node: str, mapped: Mapping[str, str], now: float
) -> NodeObservation | None:
    world, remedy = state.world, state.remedies.get(node)
    proof = world.proofs.get(node)
    proven = proof.name if isinstance(proof, Proof) else mapped.get(node, node)
    observed = world.scheduler_nodes.get((remedy.target if remedy is not None else "") or proven)
    scheduler = (
        None if observed is None else world.schedulers.get(world.shown_by.get(observed.name, ""))
    )
    return None if scheduler is None or now - scheduler.time > FRESH_S else observed
