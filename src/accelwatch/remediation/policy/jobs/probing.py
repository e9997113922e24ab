"""A node that falls silent under a job: its scheduler is made to find out whether its daemon is, too.

A scheduler believes that a daemon answers until a message to it has timed out. Without a probe that wait
begins only when something is done about the node, so it comes after the hub's own. Pure.
"""

from accelwatch.action.intent import Intent, OwnerAnnotation
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.remediation.policy.context.bearings import bearing_of_node
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import CHORES
from accelwatch.remediation.policy.context.world_tables import PROBED
from accelwatch.remediation.policy.guards import data_guard
from accelwatch.remediation.policy.guards.denial import Answer, Denial, denial_in
from accelwatch.remediation.policy.guards.identity import Proof
from accelwatch.remediation.policy.guards.limits.ceiling import answers
from accelwatch.remediation.policy.state.clocks import FRESH_S, PROBE_AGAIN_S, PROBE_S

# Replaces the incident in the mark of a probe.
INCIDENT = "probe"
# Under way at once: when more nodes fall silent together, it is hardly the nodes.
MOST_PROBES = 8


def probe_silent(ctx: StepContext) -> None:
    """Begin a probe of each node that has fallen silent under a job, once for each time."""
    late = ctx.world.late
    if not late or not any(scheduler.probes for scheduler in ctx.world.schedulers.values()):
        return
    if isinstance(data_guard.may_start(ctx.world.guard), Denial):
        return
    probes = sum(intent.kind is Kind.PROBE for intent in ctx.state.chores.values())
    for node, since in late.items():
        if probes >= MOST_PROBES:
            return
        observation = _worth_it(ctx, node, since)
        if observation is not None and denial_in(_evaluate_guards(ctx, node)) is None:
            _start_probe(ctx, node, observation)
            probes += 1


def _start_probe(ctx: StepContext, node: str, observation: NodeObservation) -> None:
    intent = Intent(
        kind=Kind.PROBE,
        mark=OwnerAnnotation(INCIDENT, ctx.state.token),
        node=observation.name,
        reason="its agent has fallen silent",
        asked=ctx.now,
        deadline=ctx.now + PROBE_S,
    )
    ctx.set_world_row(PROBED, node, ctx.now)
    ctx.set_row(CHORES, _key(node), intent)
    ctx.pursue(intent)


def speaks_again(ctx: StepContext, node: str) -> None:
    """The node has reported again: cancel the probe of its silence."""
    intent = ctx.state.chores.get(_key(node))
    if intent is not None:
        ctx.cancel(intent)


def _key(node: str) -> str:
    return f"probe {node}"


def _worth_it(ctx: StepContext, node: str, since: float) -> NodeObservation | None:
    """How a node is shown that was not probed yet, and of which its scheduler believes that it answers.

    The action checks whether a job runs there: the poll may be older than the job.
    """
    last = ctx.world.probed.get(node)
    if last is not None and (last >= since or 0 <= ctx.now - last < PROBE_AGAIN_S):
        return None
    proof = ctx.proof(node)
    observation = ctx.world.scheduler_nodes.get(proof.name) if isinstance(proof, Proof) else None
    if observation is None or observation.answering is not True or observation.maintenance:
        return None
    scheduler = ctx.world.schedulers.get(ctx.world.shown_by.get(observation.name, ""))
    if scheduler is None or not scheduler.probes or scheduler.unavailable:
        return None
    fresh = ctx.now - scheduler.time <= FRESH_S
    return (
        observation
        if fresh and observation.hold_state in (HoldState.OPEN, HoldState.OURS)
        else None
    )


def _evaluate_guards(ctx: StepContext, node: str) -> tuple[Answer, ...]:
    """What everybody says who may keep jobs from being moved, for only that makes a probe worth it."""
    return answers(bearing_of_node(ctx, node), Kind.PROBE)
