"""Idle spares are tested at intervals, one after another: who stands in is known to work. Pure."""

from accelwatch.action.intent import Intent, OwnerAnnotation
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.step import RefusalKind
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import CHORES, SPARES
from accelwatch.remediation.policy.guards.denial import Denial, denial_in
from accelwatch.remediation.policy.plan.tests.idle_guards import guards_of_idle, is_testing
from accelwatch.remediation.policy.plan.tests.peers import peer_of
from accelwatch.remediation.policy.plan.tests.results import is_busy, record, result_of
from accelwatch.remediation.policy.state.clocks import TEST_S
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from accelwatch.remediation.policy.state.spares import spare_selection, spare_transitions
from accelwatch.remediation.policy.state.spares.model import SpareStatus

# Replaces the incident in the mark of such a test.
INCIDENT = "spare-test"


def start_due_test(ctx: StepContext) -> None:
    """Begin the test that is due most, unless one runs on any spare or idle node."""
    if is_testing(ctx):
        return
    for name in spare_selection.due_for_test(ctx.state.spares, ctx.now, ctx.settings.spares):
        node = ctx.hub_name(name)
        if denial_in(guards_of_idle(ctx, node, name)) is None and _start_test(ctx, node, name):
            return


def _start_test(ctx: StepContext, node: str, name: str) -> bool:
    """Start the test of a spare, by the hub's name and the scheduler's; whether it started."""
    test = ctx.settings.spares.test
    peer = peer_of(ctx, test, node, name) if ctx.settings.test_settings(test).pair else None
    if isinstance(peer, Denial):
        return False
    intent = Intent(
        kind=Kind.TEST,
        mark=OwnerAnnotation(INCIDENT, ctx.state.token),
        node=name,
        reason=f"idle spare, {test}",
        spare=name,
        test=test,
        peer="" if peer is None else peer.name,
        asked=ctx.now,
        deadline=ctx.now + TEST_S,
    )
    ctx.set(SPARES, spare_transitions.testing(ctx.state.spares, name, ctx.now))
    ctx.set_row(CHORES, f"test {name}", intent)
    ctx.pursue(intent)
    return True


def tested(ctx: StepContext, pursued: Pursued) -> None:
    """What came of a test; one that could not be run says nothing of the spare."""
    name, spare_state = pursued.intent.node, ctx.state.spares
    spare = spare_state.spares.get(name)
    if spare is None or spare.standing is not SpareStatus.TESTING:
        return
    node = ctx.hub_name(name)
    if pursued.result is PursuitResult.ACHIEVED or pursued.refusal is RefusalKind.UNFIT:
        result = result_of(ctx, node, pursued, may_lack_floor=True)
        record(ctx, node, pursued, result)
        if result.passed:
            ctx.set(SPARES, spare_transitions.passed(spare_state, name, ctx.now))
            return
        ctx.set(SPARES, spare_transitions.failed(spare_state, name, result.text))
        ctx.call(f"the spare {name} {result.text}; it is not drawn", node)
        return
    ctx.set(SPARES, spare_transitions.untested(spare_state, name))
    if pursued.result is not PursuitResult.CANCELLED and not is_busy(pursued):
        ctx.call(f"the spare {name} could not be tested: {pursued.text}", node)
