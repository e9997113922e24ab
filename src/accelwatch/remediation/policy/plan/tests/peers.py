"""The peer in a node's test: an idle node that is known to be healthy. Pure."""

from collections.abc import Collection
from typing import NamedTuple

from accelwatch.remediation.policy.context.bearings import why_left_alone
from accelwatch.remediation.policy.context.running_tests import nodes_in_tests
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.guards.denial import Denial, DenialKind
from accelwatch.remediation.policy.guards.identity import Proof
from accelwatch.remediation.policy.plan.spares.candidates import why_unusable
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.node_tests import latest_run
from accelwatch.remediation.policy.state.spares.model import SpareStatus
from accelwatch.remediation.policy.state.world import NodeStatus

_MOST_NAMED = 3


class Peer(NamedTuple):
    """A node that can be the peer."""

    # The hub's name.
    node: str
    # The scheduler's.
    name: str


def refuted(remedy: Remedy, test: str) -> tuple[str, ...]:
    """The scheduler's names of the peers with which the node failed in this verification."""
    verification = remedy.repair.verification
    since = remedy.clocks.since if verification is None else verification.since
    return tuple(
        result.peer
        for result in remedy.repair.results
        if result.test == test and result.peer and not result.passed and result.time >= since
    )


def peer_of(
    ctx: StepView, test: str, node: str, target: str, without: Collection[str] = ()
) -> Peer | Denial:
    """The best peer of a node; `target` and `without` are the scheduler's names.

    Of the same model; in the same rack before others, then whoever passed the test last.
    """
    own = ctx.node_status(node)
    if own is None:
        return _no_peer(test, "nothing is known of the node itself")
    action = ctx.world.shown_by.get(target)
    in_tests = nodes_in_tests(ctx)
    best: tuple[tuple[bool, float, str], Peer] | None = None
    reasons: list[str] = []
    for status in ctx.world.node_statuses.values():
        if status.node == node or status.model != own.model:
            continue
        proof = ctx.proof(status.node)
        if not isinstance(proof, Proof) or proof.name in without:
            continue
        if ctx.world.shown_by.get(proof.name) != action:
            continue
        why = _why_not(ctx, test, status, proof.name, in_tests)
        if why:
            reasons.append(f"{status.node} {why}")
            continue
        rank = (status.rack != own.rack, -_passed(ctx, test, status.node), status.node)
        if best is None or rank < best[0]:
            best = rank, Peer(status.node, proof.name)
    if best is not None:
        return best[1]
    more = f" and {len(reasons) - _MOST_NAMED} more" if len(reasons) > _MOST_NAMED else ""
    named = "; ".join(reasons[:_MOST_NAMED])
    return _no_peer(test, f"{named}{more}" if reasons else "no other node is of its model")


def _no_peer(test: str, why: str) -> Denial:
    text = f"no idle node that is known to be well can take part in {test}: {why}"
    return Denial(why=DenialKind.NO_PEER, text=text)


def _why_not(
    ctx: StepView, test: str, status: NodeStatus, name: str, in_tests: Collection[str]
) -> str:
    """Empty for one that is idle, well and free for a test."""
    observation = ctx.world.scheduler_nodes.get(name)
    if observation is not None and (observation.jobs or observation.jobs_missing):
        return "has a job"
    if name in in_tests:
        return "takes part in another test"
    spare = ctx.state.spares.spares.get(name)
    if spare is not None and spare.standing is not SpareStatus.READY:
        return f"is a spare that is {str(spare.standing).replace('_', ' ')}"
    left_alone = why_left_alone(ctx, status.node)
    if left_alone:
        return left_alone
    run = latest_run(ctx.state.tests, status.node, test)
    if run is not None and run.failed:
        return f"failed {test} itself"
    return why_unusable(ctx, name, status)


def _passed(ctx: StepView, test: str, node: str) -> float:
    """Unix seconds at which it passed the test last; 0 where it never did."""
    run = latest_run(ctx.state.tests, node, test)
    return 0.0 if run is None or run.passed is None else run.passed
