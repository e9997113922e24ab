"""Idle spares are tested at intervals, one after another: who stands in is known to work. Pure."""

from collections.abc import Iterator

from accelwatch.action.intent import Intent, OwnerAnnotation
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.step import RefusalKind
from accelwatch.alerting.rules.document import Mode
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import CHORES, SPARES
from accelwatch.remediation.policy.guards import data_guard
from accelwatch.remediation.policy.guards.denial import (
    PERMIT,
    Answer,
    Denial,
    DenialKind,
    denial_in,
)
from accelwatch.remediation.policy.guards.limits.ceiling import Bearing, Ceiling, answers
from accelwatch.remediation.policy.plan.spares.stand_ins import candidate, hub_name
from accelwatch.remediation.policy.state.clocks import FRESH_S, TEST_S
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from accelwatch.remediation.policy.state.spares import spare_selection, spare_transitions
from accelwatch.remediation.policy.state.spares.model import SpareStatus

# What stands in the mark of such a test, in the place of an incident.
INCIDENT = "spare-test"


def start_due_test(ctx: StepContext) -> None:
    """Begin the test that is due most, unless one runs."""
    spare_state = ctx.state.spares
    if any(spare.standing is SpareStatus.TESTING for spare in spare_state.spares.values()):
        return
    for name in spare_selection.due_for_test(spare_state, ctx.now, ctx.settings.spares):
        if denial_in(_evaluate_guards(ctx, name)) is None:
            _start_test(ctx, name)
            return


def _start_test(ctx: StepContext, name: str) -> None:
    test = ctx.settings.spares.test
    intent = Intent(
        kind=Kind.TEST,
        mark=OwnerAnnotation(INCIDENT, ctx.state.token),
        node=name,
        reason=f"idle spare, {test}",
        spare=name,
        test=test,
        asked=ctx.now,
        deadline=ctx.now + TEST_S,
    )
    ctx.set(SPARES, spare_transitions.testing(ctx.state.spares, name, ctx.now))
    ctx.set_row(CHORES, f"test {name}", intent)
    ctx.pursue(intent)


def _evaluate_guards(ctx: StepContext, name: str) -> Iterator[Answer]:
    node = hub_name(ctx, name)
    status, observation = ctx.node_status(node), ctx.world.scheduler_nodes.get(name)
    stop, veto = ctx.state.stop, ctx.state.vetoes.get(node)
    bearing = Bearing(
        node=node,
        mode=Mode.AUTO,
        site=Ceiling(ctx.settings.ceiling),
        profile=None if status is None else Ceiling(status.ceiling),
        stopped_by="" if stop is None else f"{stop.by}: {stop.reason}",
        vetoed_by="" if veto is None else f"{veto.by}: {veto.reason}",
    )
    yield from answers(bearing, Kind.TEST)
    yield data_guard.may_start(ctx.world.guard)
    proof = ctx.proof(node)
    yield proof if isinstance(proof, Denial) else PERMIT
    scheduler = ctx.world.schedulers.get(ctx.world.shown_by.get(name, ""))
    if scheduler is None or scheduler.unavailable or ctx.now - scheduler.time > FRESH_S:
        yield Denial(why=DenialKind.DATA, text="its scheduler does not answer now")
    if observation is None or observation.jobs or not candidate(ctx, name).usable:
        yield Denial(why=DenialKind.NO_SPARE, text=f"{name} is not idle, or does not look well")


def tested(ctx: StepContext, pursued: Pursued) -> None:
    """What came of a test; one that could not be run says nothing of the spare."""
    name, spare_state = pursued.intent.node, ctx.state.spares
    spare = spare_state.spares.get(name)
    if spare is None or spare.standing is not SpareStatus.TESTING:
        return
    if pursued.result is PursuitResult.ACHIEVED:
        ctx.set(SPARES, spare_transitions.passed(spare_state, name, ctx.now))
        return
    if pursued.refusal is RefusalKind.UNFIT:
        text = f"failed {pursued.intent.test}: {pursued.text}"
        ctx.set(SPARES, spare_transitions.failed(spare_state, name, text))
        ctx.call(f"the spare {name} {text}; it is not drawn", hub_name(ctx, name))
        return
    ctx.set(SPARES, spare_transitions.untested(spare_state, name))
    if pursued.result is not PursuitResult.CANCELLED:
        text = f"the spare {name} could not be tested: {pursued.text}"
        ctx.call(text, hub_name(ctx, name))
