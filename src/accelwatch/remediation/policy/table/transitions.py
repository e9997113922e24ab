"""From what has happened to a remedy to its next stage, as the table says."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.conditions.transition import RemedyEvent, Transition
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import BREAKER, BUDGET, REMEDIES
from accelwatch.remediation.policy.effects.intents import BY_HAND, intent_of
from accelwatch.remediation.policy.guards.limits import breaker, budget
from accelwatch.remediation.policy.plan.state_loss import WAITS_FOR_ANNOTATION
from accelwatch.remediation.policy.state import clocks
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.policy.table.machine import ROWS
from accelwatch.remediation.policy.table.row import TransitionRow

replace = msgspec.structs.replace
_TROUBLED = frozenset({Stage.FAILED, Stage.UNKNOWN})
# Whether what was tried has succeeded, by the stage that it led to.
_SUCCEEDED: Mapping[Stage, bool] = MappingProxyType(
    {
        **dict.fromkeys(
            (Stage.HEALTHY, Stage.PROBATION, Stage.SERVICE, Stage.OWNED_BY_OTHER), True
        ),
        **dict.fromkeys((Stage.FAILED, Stage.OVERRIDDEN, Stage.UNKNOWN), False),
    }
)


def apply_event(ctx: StepContext, remedy: Remedy, event: RemedyEvent) -> bool:
    """Apply an event to a remedy; whether the table has a row for it that counts now."""
    row = _row(ctx, remedy, event)
    if row is None:
        return False
    after = remedy
    if row.as_before:
        # The doubt is over: the end counts as it would have in the stage in which it began.
        stage = remedy.came_from or Stage.QUARANTINED
        after = replace(remedy, stage=stage, came_from=None, trouble="")
        row = _row(ctx, after, event)
        if row is None:
            store_remedy(ctx, remedy, after)
            return True
    # In the order of the row: each effect sees what the one before has left.
    for effect in row.does:
        after = effect(Transition(ctx, after, event))
    if row.target is not None:
        after = _entered(ctx, after, row.target)
    # Last of all, so that the intent is made of what the effects have left, in the stage entered.
    if row.intent_kind is not None:
        after = _start_intent(ctx, after, row.intent_kind)
    store_remedy(ctx, remedy, after)
    return True


def _row(ctx: StepContext, remedy: Remedy, event: RemedyEvent) -> TransitionRow | None:
    transition = Transition(ctx, remedy, event)
    for row in ROWS.get((remedy.stage, event.trigger), ()):
        # A loop, not `all(...)` over a generator: it runs for every remedy in every step.
        for condition in row.conditions:
            if not condition(transition):
                break
        else:
            return row
    return None


def store_remedy(ctx: StepContext, before: Remedy, after: Remedy) -> None:
    """Store a remedy as it is now, with its share of the budgets, and inform the breaker."""
    # Without a change no record: the journal has an entry for each transition, not for each tick.
    if after == before:
        return
    over = after.stage is Stage.HEALTHY
    if not (over and before.stage is Stage.HEALTHY):
        ctx.set_row(REMEDIES, after.node, None if over else after)
    incident = before.incident
    if over and not before.cases:
        ctx.set(BREAKER, breaker.forgotten(ctx.state.breaker, incident))
    well = _SUCCEEDED.get(after.stage)
    if well is not None and after.stage is not before.stage and incident:
        ctx.set(BREAKER, breaker.trial_over(ctx.state.breaker, incident, well=well, now=ctx.now))
    balance(ctx, after.node)


def balance(ctx: StepContext, node: str) -> None:
    """What may be a quarantine of ours counts against the budget, and nothing else does."""
    remedy = ctx.state.remedies.get(node)
    lingering = ctx.state.lingering.get(node)
    counts = (remedy is not None and remedy.counts) or (
        lingering is not None and lingering.kind is Kind.QUARANTINE
    )
    own = ctx.state.budget.own.get(node)
    if counts is (own is not None):
        return
    state = ctx.state.budget
    if own is None:
        existing = ctx.remedy(node)
        location = ctx.failure_domain(existing)
        state = budget.adopt(state, location, existing.incident or BY_HAND, ctx.now)
    else:
        for incident in own.incidents:
            state = budget.give_back(state, node, incident)
    ctx.set(BUDGET, state)


def replaced(ctx: StepContext, node: str) -> None:
    """Count a node of ours where it belongs: after a start its mark may be seen before its labels."""
    own = ctx.state.budget.own.get(node)
    location = ctx.failure_domain(ctx.remedy(node))
    if own is not None and location.domains and location != own.place:
        incident = own.incidents[-1]
        ctx.set(BUDGET, budget.adopt(ctx.state.budget, location, incident, ctx.now))


def _start_intent(ctx: StepContext, remedy: Remedy, kind: Kind) -> Remedy:
    """Start an intent; the row's conditions have checked that it may."""
    if kind is Kind.QUARANTINE:
        remedy = _reserved(ctx, remedy)
        after_s = ctx.now - remedy.clocks.begun
        text = f"{remedy.node} is to be taken out, {after_s:.1f} s after it was suspected"
        ctx.note(remedy, text)
    intent = intent_of(ctx, remedy, kind)
    ctx.pursue(intent)
    return replace(remedy, pursuing=intent, cancelling=False, denial=None)


def _reserved(ctx: StepContext, remedy: Remedy) -> Remedy:
    # Our mark is widened: who quarantined the node, and its share of the budget, stay.
    if remedy.hold is not None:
        return remedy
    observation = ctx.scheduler_node(remedy)
    target = remedy.node if observation is None else observation.name
    if not remedy.approval.manual:
        # The row's condition has evaluated every guard and chosen this case; that is not repeated.
        case = ctx.memo.permitted[remedy.node]
        remedy = replace(remedy, policy=case.policy, incident=case.incident)
    remedy = replace(remedy, target=target, first_policy=None, led_by="")
    incident = remedy.incident or BY_HAND
    trial = breaker.start_trial(ctx.state.breaker, incident)
    # A node that is counted already, as after a restart, does not reserve a second share.
    if remedy.node not in ctx.state.budget.own:
        location = ctx.failure_domain(remedy)
        state, _ = budget.reserve(
            ctx.state.budget,
            location,
            incident,
            ctx.group_counts,
            now=ctx.now,
            budget=ctx.settings.budget,
        )
        if remedy.node in state.own:
            state = budget.spend(state, remedy.node)
        ctx.set(BUDGET, state)
    ctx.set(BREAKER, trial)
    return remedy


def _entered(ctx: StepContext, remedy: Remedy, stage: Stage) -> Remedy:
    trouble = remedy.trouble if stage in _TROUBLED else ""
    due = _due(ctx, remedy, stage)
    lost = remedy.mark_lost and stage in WAITS_FOR_ANNOTATION
    entered = replace(
        remedy,
        stage=stage,
        clocks=replace(remedy.clocks, since=ctx.now, due=due, overdue=""),
        denial=None,
        trouble=trouble,
    )
    return replace(entered, mark_lost=lost) if lost is not remedy.mark_lost else entered


def _due(ctx: StepContext, remedy: Remedy, stage: Stage) -> float | None:
    """When the clock of a stage that is entered now runs out."""
    policy = remedy.policy
    match stage:
        case Stage.AWAITING_APPROVAL:
            return ctx.now + ctx.settings.approval_s
        case Stage.UNREACHABLE:
            status = ctx.node_status(remedy.node)
            since = ctx.now if status is None else status.time
            # From the last sign of the agent, not from now: the time that a rule has waited counts.
            return max(since + clocks.UNREACHABLE_S, ctx.now)
        case Stage.PROBATION:
            return ctx.now + (0.0 if policy is None else policy.probation_s)
        case Stage.FAILED:
            # Doubles: what failed for a lasting reason must not call the scheduler every few
            # minutes.
            return ctx.now + clocks.RETRY_S * 2.0 ** (max(remedy.failures, 1) - 1)
        case Stage.OVERRIDDEN:
            row = ctx.state.overrides.get(remedy.node)
            return ctx.now if row is None else row.until
        case _:
            return None
