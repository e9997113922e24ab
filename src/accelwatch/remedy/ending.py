"""Ends of intents: which remedy, chore or cancelled intent they are of, and what they mean to it."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import Standing
from accelwatch.action.step import RefusalKind
from accelwatch.remedy import attempts, reservations
from accelwatch.remedy.conditions import Happening, Scene
from accelwatch.remedy.handed_on import moved_on
from accelwatch.remedy.holding import looked_again, put_back, take_mark
from accelwatch.remedy.late_spares import LATE, drawn_late
from accelwatch.remedy.mending import fenced, job_done
from accelwatch.remedy.model import Remedy
from accelwatch.remedy.outcome import Loudness
from accelwatch.remedy.own_ends import LOOK, looked
from accelwatch.remedy.pursued import Ending, Pursued
from accelwatch.remedy.resuming import MOVED_ON, followed, learn_submission, revived
from accelwatch.remedy.spare_tests import tested
from accelwatch.remedy.stage import Stage, Trigger
from accelwatch.remedy.standing_in import hub_name, is_back, not_drawn, works
from accelwatch.remedy.surroundings import Surroundings
from accelwatch.remedy.transitions import balance, happen, keep
from accelwatch.remedy.unfinished import changed_by, with_unfinished

replace = msgspec.structs.replace
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
"""What a stage pursues; the end of anything else is of an intent that was cancelled before."""
_TRIGGERS: Mapping[Ending, Trigger] = MappingProxyType(
    {
        Ending.ACHIEVED: Trigger.ACHIEVED,
        Ending.FAILED: Trigger.GAVE_UP,
        Ending.UNKNOWN: Trigger.UNCERTAIN,
        Ending.CANCELLED: Trigger.CANCELLED,
    }
)
_REFUSALS: Mapping[RefusalKind, Trigger] = MappingProxyType(
    {RefusalKind.FOREIGN: Trigger.FOREIGN, RefusalKind.OVERRIDDEN: Trigger.UNDONE}
)
_GO_ON = frozenset({Trigger.FOREIGN, Trigger.UNDONE, Trigger.UNCERTAIN})
"""What the end of a cancelled intent means to any stage."""


def ended(sur: Surroundings, pursued: Pursued) -> None:
    """The end of an intent. One of which nothing is known is left alone."""
    _taken_up(sur, pursued)
    learn_submission(sur, pursued)


def _taken_up(sur: Surroundings, pursued: Pursued) -> None:
    remedy = _whose(sur, pursued)
    if remedy is not None:
        _of_remedy(sur, remedy, pursued)
        return
    for node, intent in sur.state.lingering.items():
        if intent == pursued.intent:
            _lingered(sur, node, pursued)
            return
    for key, intent in sur.state.chores.items():
        if intent == pursued.intent:
            _chore(sur, key, pursued)
            return


def _whose(sur: Surroundings, pursued: Pursued) -> Remedy | None:
    node = pursued.intent.node
    remedy = sur.state.remedies.get(node)
    if remedy is not None and remedy.pursuing == pursued.intent:
        return remedy
    for other in sur.state.remedies.values():
        if other.target == node and other.pursuing == pursued.intent:
            return other
    return None


def _of_remedy(sur: Surroundings, remedy: Remedy, pursued: Pursued) -> None:
    trigger = trigger_of(pursued)
    _settle(sur, remedy.node, pursued)
    happening = Happening(trigger, pursued=pursued)
    if trigger is Trigger.UNCERTAIN:
        if remedy.stage is not Stage.UNKNOWN:
            happen(sur, remedy.node, happening)
        return
    sur.set("attempts", attempts.ended(sur.state.attempts, remedy.node))
    stage = remedy.came_from if remedy.stage is Stage.UNKNOWN else remedy.stage
    own = stage is not None and pursued.intent.kind in OF_STAGE.get(stage, frozenset())
    free = looked_again(replace(remedy, pursuing=None, cancelling=False), pursued)
    free = _with_unfinished(sur, free, pursued)
    if own or trigger in _GO_ON:
        # The share of the budget must not be given back in between.
        happen(sur, remedy.node, happening, free)
        _freed(sur, free, pursued)
        return
    if remedy.stage is Stage.UNKNOWN and stage is not None:
        free = replace(free, stage=stage, came_from=None)
    keep(sur, remedy, _late(sur, free, happening))


def _with_unfinished(sur: Surroundings, remedy: Remedy, pursued: Pursued) -> Remedy:
    """What a move has changed is put back with the node; at once, where that is not ours any more."""
    move = changed_by(pursued)
    if move is None:
        return remedy
    if remedy.hold is not None:
        return with_unfinished(remedy, move)
    put_back(sur, move)
    return remedy


def _freed(sur: Surroundings, free: Remedy, pursued: Pursued) -> None:
    """Where the table changes nothing at an end, the intent is over all the same."""
    remedy = sur.state.remedies.get(free.node)
    if remedy is not None and remedy.pursuing == pursued.intent:
        keep(sur, remedy, free)


def _late(sur: Surroundings, remedy: Remedy, happening: Happening) -> Remedy:
    """What a cancelled intent has come to, while something else is wanted by now."""
    pursued = happening.pursued
    if pursued is None:
        return remedy
    kind, done = pursued.intent.kind, happening.trigger is Trigger.ACHIEVED
    if kind is Kind.QUARANTINE and (done or _ours(pursued)):
        return take_mark(Scene(sur, remedy, happening))
    if kind is Kind.FENCE and done:
        return fenced(Scene(sur, remedy, happening))
    if kind is Kind.DRAW_SPARE and done:
        return works(sur, remedy, pursued.intent.spare)
    if kind is Kind.DRAW_SPARE:
        return not_drawn(sur, remedy, pursued)
    if kind in (Kind.MOVE_JOB, Kind.CANCEL_JOB, Kind.SWAP_IN_JOB) and done:
        return job_done(Scene(sur, remedy, happening))
    return remedy


def _lingered(sur: Surroundings, node: str, pursued: Pursued) -> None:
    if pursued.ending is Ending.UNKNOWN:
        text = f"it is unknown whether {pursued.intent.kind} of {node} was done: {pursued.text}"
        sur.note(sur.remedy(node), text, Loudness.ALERT)
    _settle(sur, node, pursued)
    sur.put("lingering", node, None)
    if (move := changed_by(pursued)) is not None:
        put_back(sur, move)
    remedy = sur.state.remedies.get(node)
    if remedy is None:
        sur.set("attempts", attempts.ended(sur.state.attempts, node))
    else:
        keep(sur, remedy, looked_again(remedy, pursued))
    balance(sur, node)


def _chore(sur: Surroundings, key: str, pursued: Pursued) -> None:
    for begins, end_of in ((MOVED_ON, moved_on), (LATE, drawn_late)):
        if key.startswith(begins):
            end_of(sur, key, pursued)
            return
    sur.put("chores", key, None)
    if key.startswith(reservations.CHORE):
        reservations.returned(sur, key, pursued)
        return
    if key.startswith(LOOK):
        looked(sur, key, pursued)
        return
    if pursued.intent.kind is Kind.FOLLOW_JOB:
        followed(sur, pursued)
        return
    if pursued.intent.kind is Kind.TEST:
        tested(sur, pursued)
        return
    if pursued.intent.kind is Kind.PROBE:
        return  # what it has come to is what the next survey shows
    if pursued.intent.kind is Kind.MOVE_JOB:
        revived(sur, pursued)
        return
    if pursued.ending is not Ending.ACHIEVED:
        text = f"{pursued.intent.kind} ({key}) was not done: {pursued.text}"
        sur.call(text, hub_name(sur, pursued.intent.node))
    else:
        is_back(sur, pursued.intent)


_OF_A_JOB = frozenset({Kind.SIGNAL_JOB, Kind.MOVE_JOB})


def trigger_of(pursued: Pursued) -> Trigger:
    """What the end of an intent is to the table."""
    if pursued.ending is Ending.REFUSED:
        kind = pursued.refusal or RefusalKind.IMPOSSIBLE
        if kind is RefusalKind.OVERRIDDEN and pursued.intent.kind in _OF_A_JOB:
            # Who holds a job has said nothing of the node: it stays out.
            return Trigger.REFUSED
        return _REFUSALS.get(kind, Trigger.REFUSED)
    return _TRIGGERS[pursued.ending]


def _ours(pursued: Pursued) -> bool:
    observed = pursued.observed
    return (
        observed is not None
        and observed.node is not None
        and observed.node.standing is Standing.OURS
    )


def _settle(sur: Surroundings, node: str, pursued: Pursued) -> None:
    at = pursued.time if pursued.observed is None else max(pursued.time, pursued.observed.time)
    at = min(at, sur.now)  # what is surveyed from now on is newer, whatever the clock was then
    sur.look("settled", node, max(at, sur.world.settled.get(node, at)))
