"""Guards against the test of an idle node: evaluated for spares and for all others. Pure."""

from collections.abc import Iterator

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.context.bearings import bearing_of_node
from accelwatch.remediation.policy.context.running_tests import IN_A_TEST, nodes_in_tests
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.guards import data_guard
from accelwatch.remediation.policy.guards.denial import PERMIT, Answer, Denial, DenialKind
from accelwatch.remediation.policy.guards.limits.ceiling import answers
from accelwatch.remediation.policy.plan.spares.candidates import why_unusable
from accelwatch.remediation.policy.state.clocks import FRESH_S


def is_testing(ctx: StepView) -> bool:
    """Whether an idle node or a spare is tested now."""
    return any(intent.kind is Kind.TEST for intent in ctx.state.chores.values())


def guards_of_idle(ctx: StepView, node: str, name: str) -> Iterator[Answer]:
    """What every guard says to a test; `node` is the hub's name, `name` the scheduler's."""
    status, observation = ctx.node_status(node), ctx.world.scheduler_nodes.get(name)
    yield from answers(bearing_of_node(ctx, node), Kind.TEST)
    yield data_guard.may_start(ctx.world.guard)
    proof = ctx.proof(node)
    yield proof if isinstance(proof, Denial) else PERMIT
    scheduler = ctx.world.schedulers.get(ctx.world.shown_by.get(name, ""))
    if scheduler is None or scheduler.unavailable or ctx.now - scheduler.time > FRESH_S:
        yield Denial(why=DenialKind.DATA, text="its scheduler does not answer now")
    idle = observation is not None and not (observation.jobs or observation.jobs_missing)
    if not idle or status is None or why_unusable(ctx, name, status):
        yield Denial(why=DenialKind.NO_SPARE, text=f"{name} is not idle, or does not look well")
    if name in nodes_in_tests(ctx):
        yield Denial(why=DenialKind.NO_SPARE, text=f"{name} {IN_A_TEST}")
