"""What rows of the table do with our mark on a node, and with what is on its way there."""

from collections.abc import Mapping

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.alerting.rules.document import QuarantineLevel
from accelwatch.remediation.policy.conditions.transition import Transition
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import ATTEMPTS
from accelwatch.remediation.policy.effects.intents import annotation_of
from accelwatch.remediation.policy.effects.overrides import clean, shown_node
from accelwatch.remediation.policy.effects.relapsing import failed_on_probation, released
from accelwatch.remediation.policy.effects.restored_jobs import with_chores
from accelwatch.remediation.policy.guards.limits import attempts
from accelwatch.remediation.policy.guards.ownership import Imprint, Ownership, ownership
from accelwatch.remediation.policy.jobs.unfinished import with_unfinished
from accelwatch.remediation.policy.plan.state_loss import controller_boot
from accelwatch.remediation.policy.state.model import NodeQuarantine, Remedy
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from accelwatch.remediation.policy.state.stage import Stage

replace = msgspec.structs.replace
# Steps after which a scheduler shows another reason, writer or moment than before.
_RESETS_REASON = frozenset({Kind.FENCE, Kind.REBOOT, Kind.POWER_CYCLE, Kind.TEST})


def cancel(transition: Transition) -> Remedy:
    """What is on its way is not wanted any more; its end is waited for."""
    if transition.remedy.pursuing is None or transition.remedy.cancelling:
        return transition.remedy
    transition.ctx.cancel(transition.remedy.pursuing)
    return replace(transition.remedy, cancelling=True)


def drop(transition: Transition) -> Remedy:
    """A person has checked an operation of unknown outcome: stop waiting for it."""
    if transition.remedy.pursuing is None:
        return transition.remedy
    transition.ctx.cancel(transition.remedy.pursuing)
    transition.ctx.set(
        ATTEMPTS, attempts.finish(transition.ctx.state.attempts, transition.remedy.node)
    )
    free = replace(transition.remedy, pursuing=None, cancelling=False)
    if transition.remedy.pursuing.kind is not Kind.MOVE_JOB:
        return free
    return with_unfinished(free, transition.remedy.pursuing)


def record_quarantine(transition: Transition) -> Remedy:
    """Our mark is on the node: keep how it looks, to know it again."""
    pursued = transition.event.pursued
    observation = transition.event.observation
    if pursued is not None and pursued.observed is not None:
        observation = pursued.observed.node
    is_achieved = pursued is not None and pursued.result is PursuitResult.ACHIEVED
    if observation is not None and pursued is not None and is_achieved:
        observation = _with_covered(observation, pursued.intent)
    if text := _change_text(transition.remedy, observation):
        transition.ctx.note(transition.remedy, text, Loudness.NOTIFY)
    original = {} if pursued is None else dict(pursued.original)
    if transition.remedy.hold is not None:
        original = {**transition.remedy.hold.original, **original}
    return replace(
        transition.remedy,
        hold=replace(
            _build_quarantine(transition.ctx, transition.remedy, observation, original),
            action=_quarantining_action(transition, pursued),
        ),
        mark_lost=False,
    )


def _quarantining_action(transition: Transition, pursued: Pursued | None) -> str:
    """Name of the action that has set our mark, or that shows it."""
    ctx, remedy = transition.ctx, transition.remedy
    if pursued is not None and pursued.action:
        return pursued.action
    if remedy.hold is not None and remedy.hold.action:
        return remedy.hold.action
    return ctx.world.shown_by.get(ctx.target(remedy), "")


def _with_covered(observation: NodeObservation, intent: Intent) -> NodeObservation:
    """With all requested devices, where single devices are quarantined.

    One mark may cover several names, as a GPU's does its MIG devices, and shows one of them: what it
    covers would be requested again at every poll.
    """
    shown = observation.quarantined_devices
    if not shown:
        return observation
    covered = {*shown, *(device.id for device in intent.devices if device.id)}
    return replace(observation, quarantined_devices=tuple(sorted(covered)))


def _change_text(remedy: Remedy, observation: NodeObservation | None) -> str:
    """For people: what accepts no new work by our mark since now; empty where that was so before."""
    devices = () if observation is None else observation.quarantined_devices
    before = remedy.hold
    if before is not None and before.devices == devices:
        return ""
    if not devices:
        return f"{remedy.node} takes no new work"
    return f"{', '.join(devices)} of {remedy.node} takes no new work; the rest of the node does"


def _build_quarantine(
    ctx: StepContext,
    remedy: Remedy,
    observation: NodeObservation | None,
    original: Mapping[str, str],
) -> NodeQuarantine:
    annotation = annotation_of(ctx, remedy)
    level = None if remedy.policy is None else remedy.policy.level
    quarantine = NodeQuarantine(
        node=remedy.node,
        mark=annotation,
        original=original,
        controller_boot=controller_boot(ctx, ctx.target(remedy)),
    )
    if level is not None:
        quarantine = replace(quarantine, level=level)
    if observation is None:
        return quarantine
    return replace(
        quarantine,
        mark=observation.annotation or annotation,
        set_by=observation.set_by,
        set_at=observation.set_at,
        reason=observation.reason,
        observed_at=ctx.now,
        incarnation=observation.incarnation,
        level=QuarantineLevel.DEVICE if observation.quarantined_devices else QuarantineLevel.NODE,
        devices=observation.quarantined_devices,
    )


def refresh_quarantine(remedy: Remedy, pursued: Pursued) -> Remedy:
    """After a step of ours that rewrites the reason: record our mark as it is since then."""
    observation = None if pursued.observed is None else pursued.observed.node
    if observation is None or remedy.hold is None or pursued.intent.kind not in _RESETS_REASON:
        return remedy
    others = (
        observation.annotation is not None
        and observation.annotation.incident != remedy.hold.mark.incident
    )
    if others or observation.hold_state is not HoldState.OURS:
        return remedy
    quarantine = replace(
        remedy.hold,
        set_by=observation.set_by,
        set_at=observation.set_at,
        reason=observation.reason,
        observed_at=pursued.time,
    )
    return replace(remedy, hold=quarantine)


def is_taken_over(remedy: Remedy, observation: NodeObservation) -> bool:
    """Whether somebody has replaced our hold, though the node still bears our mark."""
    quarantine = remedy.hold
    if quarantine is None or quarantine.observed_at is None or remedy.stage is Stage.UNKNOWN:
        return False
    imprint = Imprint(
        annotation=quarantine.mark,
        reason=quarantine.reason,
        set_by=quarantine.set_by,
        set_at=quarantine.set_at,
    )
    return ownership(observation, imprint) is Ownership.TAKEN_OVER


def adopt(transition: Transition) -> Remedy:
    """A mark of ours of which we know nothing, as after a lost journal: a person decides."""
    quarantined = record_quarantine(transition)
    incident = "" if quarantined.hold is None else quarantined.hold.mark.incident
    transition.ctx.note(
        transition.remedy,
        f"{transition.remedy.node} bears a mark of ours ({incident}) that the journal does not know; "
        "look at it, then release or forget it",
        Loudness.ALERT,
    )
    return replace(quarantined, incident=incident)


def confirm_release(transition: Transition) -> Remedy:
    """We removed our mark; a node that its scheduler keeps down accepts no work all the same."""
    observation, text = shown_node(transition.event), f"{transition.remedy.node} takes work again"
    if observation is not None and observation.hold_state is HoldState.DOWN:
        why = observation.reason or "no reason is given"
        text = f"{transition.remedy.node} is not held by us any more; its scheduler keeps it down: {why}"
    transition.ctx.note(transition.remedy, text, Loudness.NOTIFY)
    if not (transition.remedy.approval.manual or transition.remedy.approval.forced):
        released(transition.ctx, transition.remedy.node)
    return replace(with_chores(transition.ctx, transition.remedy), hold=None)


def relapse(transition: Transition) -> Remedy:
    """It has failed again while it was watched."""
    transition.ctx.note(
        transition.remedy,
        f"{transition.remedy.node} has failed again on probation",
        Loudness.NOTIFY,
    )
    failed_on_probation(transition.ctx, transition.remedy)
    return clean(transition.remedy)
