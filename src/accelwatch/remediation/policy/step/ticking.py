"""Time passes: clocks run out, and touched remedies are evaluated, the most urgent first."""

import msgspec

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.conditions.transition import RemedyEvent
from accelwatch.remediation.policy.context.cases import needs_quarantine
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import BREAKER, DENIED, RELAPSES, VETOES
from accelwatch.remediation.policy.context.touched import Touched
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.effects.deadlines import overdue
from accelwatch.remediation.policy.guards.denial import Denial, DenialKind
from accelwatch.remediation.policy.guards.limits import breaker
from accelwatch.remediation.policy.guards.order import Waiting, in_order
from accelwatch.remediation.policy.jobs.departures import tidy
from accelwatch.remediation.policy.jobs.jobs import cancels, must_fence, next_job
from accelwatch.remediation.policy.jobs.probing import probe_silent
from accelwatch.remediation.policy.jobs.reviving import revive
from accelwatch.remediation.policy.plan.escalation import INTENTS, next_escalation_step
from accelwatch.remediation.policy.plan.gates import first_denial, reported_denial
from accelwatch.remediation.policy.plan.tests import idle_tests, spare_tests
from accelwatch.remediation.policy.plan.verify import waits_for_test
from accelwatch.remediation.policy.state import relapses
from accelwatch.remediation.policy.state.clocks import REVIVAL_S
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.stage import Stage, Trigger
from accelwatch.remediation.policy.state.world import PendingChecks
from accelwatch.remediation.policy.step.dead_spares import reconcile_spares
from accelwatch.remediation.policy.step.hanging import notify_hanging
from accelwatch.remediation.policy.step.job_deaths import start_job_checks
from accelwatch.remediation.policy.step.late_spares import draw_late
from accelwatch.remediation.policy.step.reservations import return_reservations
from accelwatch.remediation.policy.table.transitions import apply_event, store_remedy

# Between two evaluations of everything, for changes that time alone brings.
CHECK_EVERY_S = 1.0
# Stages that a remedy goes through in one moment at most.
MOST_AT_ONCE = 8
_TICK = RemedyEvent(Trigger.TICK)
_DUE = RemedyEvent(Trigger.DUE)
_OVERDUE = RemedyEvent(Trigger.OVERDUE)
_WAITING = frozenset({Stage.SUSPECT, Stage.AWAITING_APPROVAL, Stage.UNREACHABLE})
_FOR_PEOPLE = frozenset({DenialKind.ATTEMPTS, DenialKind.RETRY, DenialKind.NO_SPARE})
_SPENT = frozenset({DenialKind.BUDGET, DenialKind.DOMAIN_BUDGET, DenialKind.AVAILABLE})


def tick(ctx: StepContext) -> None:
    """Evaluate what was touched, what is due, and once in a while everything."""
    now, last = ctx.now, ctx.world.pending_checks.at
    every = last is None or not 0 <= now - last < CHECK_EVERY_S
    if every or ctx.touched.nodes or ctx.touched.everything:
        _groups(ctx)
    ctx.set(BREAKER, breaker.advanced(ctx.state.breaker, now, ctx.settings.breaker))
    _expire_rows(ctx)
    _forget_relapses(ctx)
    tidy(ctx)
    start_job_checks(ctx)
    revive(ctx)
    reconcile_spares(ctx)
    spare_tests.start_due_test(ctx)
    probe_silent(ctx)
    if every:
        idle_tests.start_due_test(ctx)
        idle_tests.tidy(ctx)
        notify_hanging(ctx)
        draw_late(ctx)
    # From here on a new record collects what is touched: the next step has to evaluate it.
    before = ctx.touched
    before.everything |= every
    ctx.touched = Touched(PendingChecks())
    remedies = list(ctx.state.remedies.values())
    shown = _nodes_of(ctx, before.shown, remedies)
    # Nodes that are out come first: a release gives its share of the budget back to those that wait.
    for remedy in remedies:
        if remedy.stage not in _WAITING and _is_due(ctx, remedy, before, shown):
            _settle(ctx, remedy.node)
    waiting = [remedy for remedy in remedies if remedy.stage in _WAITING]
    if before.waiting or ctx.touched.waiting:
        before.nodes.update(remedy.node for remedy in waiting)
    if any(_is_due(ctx, remedy, before, shown) for remedy in waiting):
        for remedy in _in_order(ctx, waiting):
            if ctx.touched.waiting or _is_due(ctx, remedy, before, shown):
                _settle(ctx, remedy.node)
    return_reservations(ctx)  # of jobs that nothing moves, not even from this moment on
    after = ctx.touched
    ctx.set_pending_checks(
        PendingChecks(
            at=now if before.everything else last,
            again=frozenset(after.nodes) | _nodes_of(ctx, after.shown, remedies),
            waiting=after.waiting,
            everything=after.everything,
        )
    )


def _expire_rows(ctx: StepContext) -> None:
    for node, veto in list(ctx.state.vetoes.items()):
        if veto.until is not None and veto.until <= ctx.now:
            ctx.set_row(VETOES, node, None)
    for node, denied in list(ctx.state.denied.items()):
        if denied.until <= ctx.now:
            ctx.set_row(DENIED, node, None)


def _forget_relapses(ctx: StepContext) -> None:
    """Of nodes that have been well for long enough, or that we do not hold."""
    for node, node_relapses in list(ctx.state.relapses.items()):
        unused = node_relapses.released is None and node not in ctx.state.remedies
        if unused or relapses.is_over(node_relapses, ctx.now, ctx.settings.relapse_s):
            ctx.set_row(RELAPSES, node, None)


def _nodes_of(ctx: StepView, shown: set[str], remedies: list[Remedy]) -> set[str]:
    """The hub's names of nodes that have a remedy and are shown otherwise than before."""
    if not shown:
        return set()
    return {
        remedy.node for remedy in remedies if remedy.node in shown or ctx.target(remedy) in shown
    }


def _is_due(ctx: StepContext, remedy: Remedy, touched: Touched, shown: set[str]) -> bool:
    """Whether evaluating a remedy may change something."""
    return (
        touched.everything
        or ctx.touched.everything
        or remedy.node in touched.nodes
        or remedy.node in ctx.touched.nodes
        or remedy.node in shown
        or (remedy.clocks.due is not None and ctx.now >= remedy.clocks.due)
        # It depends on other nodes: who could stand in for it, where its job may not go.
        or (remedy.stage is Stage.DRAINING and remedy.pursuing is None)
    )


def _in_order(ctx: StepContext, remedies: list[Remedy]) -> list[Remedy]:
    if len(remedies) < 2:
        return remedies
    by_node = {remedy.node: remedy for remedy in remedies}
    waiting = [
        Waiting(
            incident=remedy.node,
            rank=max((case.severity.weight for case in remedy.cases), default=0),
            since=remedy.clocks.begun,
            attempts=remedy.failures,
        )
        for remedy in remedies
    ]
    return [by_node[entry.incident] for entry in in_order(waiting, ctx.now)]


def _settle(ctx: StepContext, node: str) -> None:
    remedy = ctx.state.remedies.get(node)
    if remedy is None:
        return
    if remedy.clocks.due is not None and ctx.now >= remedy.clocks.due:
        _due(ctx, remedy)
    # A row may lead to a stage in which the next row counts at once; the bound ends a circle.
    for _ in range(MOST_AT_ONCE):
        before = ctx.state.remedies.get(node)
        if before is None or not apply_event(ctx, before, _TICK):
            break
        if ctx.state.remedies.get(node) is before:
            break
    _report_denial(ctx, node)
    after = ctx.state.remedies.get(node)
    if after is not None and overdue(ctx, after):
        apply_event(ctx, after, _OVERDUE)


def _due(ctx: StepContext, remedy: Remedy) -> None:
    """A clock has run out; it does so once."""
    apply_event(ctx, remedy, _DUE)
    after = ctx.state.remedies.get(remedy.node)
    if after is not None and after.stage is remedy.stage and after.clocks.due == remedy.clocks.due:
        store_remedy(
            ctx,
            after,
            msgspec.structs.replace(after, clocks=msgspec.structs.replace(after.clocks, due=None)),
        )


def _groups(ctx: StepContext) -> None:
    groups = {
        case.group for remedy in ctx.state.remedies.values() for case in remedy.cases if case.group
    }
    storms = tuple(sorted(groups))
    if storms != ctx.state.breaker.storms:
        ctx.set(BREAKER, breaker.stormed(ctx.state.breaker, storms, ctx.now))


def _report_denial(ctx: StepContext, node: str) -> None:
    """Store what stands in the way, and report it when it differs from before."""
    remedy = ctx.state.remedies.get(node)
    if remedy is None:
        return
    kind = _desired_kind(ctx, remedy)
    denial = None if kind is None else first_denial(ctx, remedy, kind)
    if denial is not None and denial.why in _SPENT and remedy.incident:
        changed = breaker.breached(
            ctx.state.breaker, remedy.incident, remedy.clocks.begun, ctx.now, ctx.settings.breaker
        )
        ctx.set(BREAKER, changed)
    denial = None if kind is None else reported_denial(ctx, remedy, kind)
    if _same(denial, remedy.denial):
        return
    store_remedy(ctx, remedy, msgspec.structs.replace(remedy, denial=denial))
    # A mere notification wants nothing that could be held back.
    desired = remedy.approval.manual or remedy.repair.unfit or kind is Kind.TEST
    if denial is not None and (desired or needs_quarantine(ctx, remedy)):
        ctx.note(remedy, f"{kind} is held back: {denial.text}", _loudness(denial, ctx.now))


def _loudness(denial: Denial, now: float) -> Loudness:
    """Who has to know: nobody of what passes, a person of what only a person can change."""
    if denial.why in _FOR_PEOPLE:
        soon = denial.until is not None and denial.until - now < REVIVAL_S
        return Loudness.NOTIFY if soon else Loudness.ALERT
    return Loudness.LOG if denial.why.passes_by_itself else Loudness.NOTIFY


def _same(denial: Denial | None, other: Denial | None) -> bool:
    return (denial and denial.why) == (other and other.why)


def _desired_kind(ctx: StepContext, remedy: Remedy) -> Kind | None:
    """What a remedy waits for."""
    if remedy.stage in _WAITING:
        return Kind.QUARANTINE
    if remedy.pursuing is not None:
        return None
    if remedy.stage is Stage.RELEASING:
        return Kind.RELEASE
    if remedy.stage is Stage.VERIFYING and waits_for_test(ctx, remedy):
        return Kind.TEST
    if remedy.stage is Stage.DRAINING and next_job(ctx, remedy) is not None:
        return Kind.CANCEL_JOB if cancels(remedy) else Kind.MOVE_JOB
    if remedy.stage is Stage.QUARANTINED and must_fence(ctx, remedy):
        return Kind.FENCE
    if remedy.stage is Stage.QUARANTINED and not remedy.approval.manual:
        return INTENTS.get(next_escalation_step(remedy))
    return None
