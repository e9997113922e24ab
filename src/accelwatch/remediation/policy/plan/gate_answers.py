"""Answers of single guards to an intent on a node: scheduler, machine, holder, budgets."""

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.guards.denial import PERMIT, Answer, Denial, DenialKind
from accelwatch.remediation.policy.guards.limits import budget
from accelwatch.remediation.policy.guards.ownership import Ownership, ownership, ownership_text
from accelwatch.remediation.policy.jobs.jobs import hung, only_devices_quarantined, silent
from accelwatch.remediation.policy.state.clocks import FRESH_S
from accelwatch.remediation.policy.state.model import Remedy

_OTHERS = frozenset({Ownership.FOREIGN, Ownership.MAINTENANCE})


def answering(ctx: StepView, remedy: Remedy) -> Answer:
    """Whether the scheduler that has the node answers."""
    action = ctx.world.shown_by.get(ctx.target(remedy))
    scheduler = ctx.world.schedulers.get(action) if action is not None else None
    if scheduler is None:
        return Denial(why=DenialKind.IDENTITY, text="no scheduler shows such a node")
    if scheduler.unavailable:
        return Denial(
            why=DenialKind.DATA, text=f"{action} does not answer: {scheduler.unavailable}"
        )
    if ctx.now - scheduler.time > FRESH_S:
        age = ctx.now - scheduler.time
        return Denial(why=DenialKind.DATA, text=f"{action} was last checked {age:.0f} s ago")
    return PERMIT


def reachable(ctx: StepView, remedy: Remedy) -> Answer:
    """Whether a job can leave the node: on a node that hangs it would run on beside its new copy."""
    if not hung(ctx, remedy):
        return PERMIT
    text = f"{ctx.target(remedy)} does not answer the scheduler, and has to be fenced first"
    status = ctx.node_status(remedy.node)
    if status is None or silent(ctx, remedy):
        return Denial(why=DenialKind.DATA, text=text)
    until = status.time + FRESH_S
    return Denial(
        why=DenialKind.DATA, text=f"{text}; that waits until its agent is silent too", until=until
    )


def room(ctx: StepView, remedy: Remedy) -> Answer:
    """Whether the budgets have room for a quarantine."""
    state, limits = ctx.state.budget, ctx.settings.budget
    if remedy.node not in state.own:
        return budget.may_reserve(
            state, ctx.failure_domain(remedy), ctx.group_counts, now=ctx.now, budget=limits
        )
    if remedy.mark_lost:
        # It was started before, so its pace is spent; but more may be out by now than allowed.
        return budget.has_room(state, ctx.failure_domain(remedy), ctx.group_counts, limits)
    return PERMIT


def machine_proof(ctx: StepView, remedy: Remedy) -> Answer:
    """Whether the hub's node and the scheduler's are the same machine."""
    proof = ctx.proof(remedy.node)
    return proof if isinstance(proof, Denial) else PERMIT


def foreign(ctx: StepView, remedy: Remedy, kind: Kind) -> Answer:
    """Whether nobody else holds the node."""
    observation = ctx.scheduler_node(remedy)
    if observation is None:
        return PERMIT
    whose = ownership(observation, None)
    if whose in _OTHERS or (whose is Ownership.DOWN and kind is Kind.QUARANTINE):
        return Denial(why=DenialKind.FOREIGN, text=ownership_text(observation, whose))
    return PERMIT


_OF_NODE = frozenset(
    {Kind.FENCE, Kind.SWAP_IN_JOB, Kind.DRAW_SPARE, Kind.REBOOT, Kind.POWER_CYCLE, Kind.TEST}
)


def of_level(remedy: Remedy, kind: Kind) -> Answer:
    """Whether what concerns a whole node meets one that is out as a whole."""
    if kind not in _OF_NODE or not only_devices_quarantined(remedy):
        return PERMIT
    text = "only devices of it are out, and others may be in use"
    return Denial(why=DenialKind.LEVEL, text=text)
