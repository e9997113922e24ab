"""Ends of intents: which remedy, chore or cancelled intent they are of, and what they mean to it."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import HoldState
from accelwatch.action.step import RefusalKind
from accelwatch.remediation.policy.conditions.transition import RemedyEvent, Transition
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import ATTEMPTS, CHORES, LINGERING
from accelwatch.remediation.policy.context.world_tables import SETTLED
from accelwatch.remediation.policy.effects.handed_on import moved_on
from accelwatch.remediation.policy.effects.job_moves import fenced, record_job_result
from accelwatch.remediation.policy.effects.node_quarantine import (
    record_quarantine,
    refresh_quarantine,
)
from accelwatch.remediation.policy.effects.restored_jobs import restore_job
from accelwatch.remediation.policy.guards.limits import attempts
from accelwatch.remediation.policy.jobs.chores import MOVED_ON
from accelwatch.remediation.policy.jobs.following import followed
from accelwatch.remediation.policy.jobs.resuming import learn_submission
from accelwatch.remediation.policy.jobs.reviving import revived
from accelwatch.remediation.policy.jobs.unfinished import changed_by, with_unfinished
from accelwatch.remediation.policy.plan.spares.stand_ins import (
    activate_spare,
    is_back,
    not_drawn,
)
from accelwatch.remediation.policy.plan.tests.idle_tests import CHORE, idle_tested
from accelwatch.remediation.policy.plan.tests.spare_tests import tested
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from accelwatch.remediation.policy.state.stage import Stage, Trigger
from accelwatch.remediation.policy.step import reservations
from accelwatch.remediation.policy.step.job_deaths import JOB_CHECK, apply_job_check
from accelwatch.remediation.policy.step.late_spares import LATE, drawn_late
from accelwatch.remediation.policy.table.transitions import apply_event, balance, store_remedy

replace = msgspec.structs.replace
# What a stage pursues; the end of anything else is of an intent that was cancelled before.
OF_STAGE: Mapping[Stage, frozenset[Kind]] = MappingProxyType(
    {
        Stage.QUARANTINING: frozenset({Kind.QUARANTINE}),
        Stage.FENCING: frozenset({Kind.FENCE}),
        Stage.DRAINING: frozenset(
            {
                Kind.SIGNAL_JOB,
                Kind.SWAP_IN_JOB,
                Kind.MOVE_JOB,
                Kind.CANCEL_JOB,
                Kind.DRAW_SPARE,
                Kind.FOLLOW_JOB,
            }
        ),
        Stage.REMEDIATING: frozenset({Kind.RESET_DEVICE, Kind.REBOOT, Kind.POWER_CYCLE}),
        Stage.VERIFYING: frozenset({Kind.TEST}),
        Stage.RELEASING: frozenset({Kind.RELEASE}),
        Stage.SERVICE: frozenset({Kind.SERVICE}),
    }
)
_TRIGGERS: Mapping[PursuitResult, Trigger] = MappingProxyType(
    {
        PursuitResult.ACHIEVED: Trigger.ACHIEVED,
        PursuitResult.FAILED: Trigger.GAVE_UP,
        PursuitResult.UNKNOWN: Trigger.UNCERTAIN,
        PursuitResult.CANCELLED: Trigger.CANCELLED,
    }
)
_REFUSALS: Mapping[RefusalKind, Trigger] = MappingProxyType(
    {RefusalKind.FOREIGN: Trigger.FOREIGN, RefusalKind.OVERRIDDEN: Trigger.UNDONE}
)
# What the end of a cancelled intent means to any stage.
_GO_ON = frozenset({Trigger.FOREIGN, Trigger.UNDONE, Trigger.UNCERTAIN})


def apply_result(ctx: StepContext, pursued: Pursued) -> None:
    """The end of an intent. One of which nothing is known is left alone."""
    _route_result(ctx, pursued)
    learn_submission(ctx, pursued)


def _route_result(ctx: StepContext, pursued: Pursued) -> None:
    remedy = _whose(ctx, pursued)
    if remedy is not None:
        _of_remedy(ctx, remedy, pursued)
        return
    for node, intent in ctx.state.lingering.items():
        if intent == pursued.intent:
            _lingered(ctx, node, pursued)
            return
    for key, intent in ctx.state.chores.items():
        if intent == pursued.intent:
            _chore(ctx, key, pursued)
            return


def _whose(ctx: StepContext, pursued: Pursued) -> Remedy | None:
    node = pursued.intent.node
    remedy = ctx.state.remedies.get(node)
    if remedy is not None and remedy.pursuing == pursued.intent:
        return remedy
    for other in ctx.state.remedies.values():
        if other.target == node and other.pursuing == pursued.intent:
            return other
    return None


def _of_remedy(ctx: StepContext, remedy: Remedy, pursued: Pursued) -> None:
    trigger = trigger_of(pursued)
    _settle(ctx, remedy.node, pursued)
    event = RemedyEvent(trigger, pursued=pursued)
    if trigger is Trigger.UNCERTAIN:
        if remedy.stage is not Stage.UNKNOWN:
            apply_event(ctx, remedy, event)
        return
    ctx.set(ATTEMPTS, attempts.finish(ctx.state.attempts, remedy.node))
    stage = remedy.came_from if remedy.stage is Stage.UNKNOWN else remedy.stage
    own = stage is not None and pursued.intent.kind in OF_STAGE.get(stage, frozenset())
    free = refresh_quarantine(replace(remedy, pursuing=None, cancelling=False), pursued)
    free = _with_unfinished(ctx, free, pursued)
    if own or trigger in _GO_ON:
        # The share of the budget must not be given back in between.
        apply_event(ctx, free, event)
        _freed(ctx, free, pursued)
        return
    if remedy.stage is Stage.UNKNOWN and stage is not None:
        free = replace(free, stage=stage, came_from=None)
    store_remedy(ctx, remedy, _late(ctx, free, event))


def _with_unfinished(ctx: StepContext, remedy: Remedy, pursued: Pursued) -> Remedy:
    """What a move has changed is put back with the node; at once, where that is not ours any more."""
    move = changed_by(pursued)
    if move is None:
        return remedy
    if remedy.hold is not None:
        return with_unfinished(remedy, move)
    restore_job(ctx, move)
    return remedy


def _freed(ctx: StepContext, free: Remedy, pursued: Pursued) -> None:
    """Where the table changes nothing at an end, the intent is over all the same."""
    remedy = ctx.state.remedies.get(free.node)
    if remedy is not None and remedy.pursuing == pursued.intent:
        store_remedy(ctx, remedy, free)


def _late(ctx: StepContext, remedy: Remedy, event: RemedyEvent) -> Remedy:
    """What a cancelled intent has come to, while something else is wanted by now."""
    pursued = event.pursued
    if pursued is None:
        return remedy
    kind, done = pursued.intent.kind, event.trigger is Trigger.ACHIEVED
    if kind is Kind.QUARANTINE and (done or _ours(pursued)):
        return record_quarantine(Transition(ctx, remedy, event))
    if kind is Kind.FENCE and done:
        return fenced(Transition(ctx, remedy, event))
    if kind is Kind.DRAW_SPARE and done:
        return activate_spare(ctx, remedy, pursued)
    if kind is Kind.DRAW_SPARE:
        return not_drawn(ctx, remedy, pursued)
    if kind in (Kind.MOVE_JOB, Kind.CANCEL_JOB, Kind.SWAP_IN_JOB) and done:
        return record_job_result(Transition(ctx, remedy, event))
    return remedy


def _lingered(ctx: StepContext, node: str, pursued: Pursued) -> None:
    if pursued.result is PursuitResult.UNKNOWN:
        text = f"it is unknown whether {pursued.intent.kind} of {node} was done: {pursued.text}"
        ctx.note(ctx.remedy(node), text, Loudness.ALERT)
    _settle(ctx, node, pursued)
    ctx.set_row(LINGERING, node, None)
    if (move := changed_by(pursued)) is not None:
        restore_job(ctx, move)
    remedy = ctx.state.remedies.get(node)
    if remedy is None:
        ctx.set(ATTEMPTS, attempts.finish(ctx.state.attempts, node))
    else:
        store_remedy(ctx, remedy, refresh_quarantine(remedy, pursued))
    balance(ctx, node)


def _chore(ctx: StepContext, key: str, pursued: Pursued) -> None:
    for prefix, end_of in ((MOVED_ON, moved_on), (LATE, drawn_late), (CHORE, idle_tested)):
        if key.startswith(prefix):
            end_of(ctx, key, pursued)
            return
    ctx.set_row(CHORES, key, None)
    if key.startswith(reservations.CHORE):
        reservations.returned(ctx, key, pursued)
        return
    if key.startswith(JOB_CHECK):
        apply_job_check(ctx, key, pursued)
        return
    if pursued.intent.kind is Kind.FOLLOW_JOB:
        followed(ctx, pursued)
        return
    if pursued.intent.kind is Kind.TEST:
        tested(ctx, pursued)
        return
    if pursued.intent.kind is Kind.PROBE:
        return  # what it has come to is what the next poll shows
    if pursued.intent.kind is Kind.MOVE_JOB:
        revived(ctx, pursued)
        return
    if pursued.result is not PursuitResult.ACHIEVED:
        text = f"{pursued.intent.kind} ({key}) was not done: {pursued.text}"
        ctx.call(text, ctx.hub_name(pursued.intent.node))
    else:
        is_back(ctx, pursued.intent)


_OF_A_JOB = frozenset({Kind.SIGNAL_JOB, Kind.MOVE_JOB})


def trigger_of(pursued: Pursued) -> Trigger:
    """What the end of an intent is to the table."""
    if pursued.result is PursuitResult.REFUSED:
        kind = pursued.refusal or RefusalKind.IMPOSSIBLE
        if kind is RefusalKind.OVERRIDDEN and pursued.intent.kind in _OF_A_JOB:
            # Who holds a job has said nothing of the node: it stays out.
            return Trigger.REFUSED
        return _REFUSALS.get(kind, Trigger.REFUSED)
    return _TRIGGERS[pursued.result]


def _ours(pursued: Pursued) -> bool:
    observed = pursued.observed
    return (
        observed is not None
        and observed.node is not None
        and observed.node.hold_state is HoldState.OURS
    )


def _settle(ctx: StepContext, node: str, pursued: Pursued) -> None:
    at = pursued.time if pursued.observed is None else max(pursued.time, pursued.observed.time)
    at = min(at, ctx.now)  # what is polled from now on is newer, whatever the clock was then
    ctx.set_world_row(SETTLED, node, max(at, ctx.world.settled.get(node, at)))
