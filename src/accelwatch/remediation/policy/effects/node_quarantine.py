"""What rows of the table do with our mark on a node, and with what is on its way there."""

from collections.abc import Mapping

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.action.step import RefusalKind
from accelwatch.remediation.policy.conditions.scene import Happening, Scene
from accelwatch.remediation.policy.context.cases import leading
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import (
    ATTEMPTS,
    BREAKER,
    CHORES,
    FORGOTTEN,
    LINGERING,
    OVERRIDES,
)
from accelwatch.remediation.policy.effects.approvals import actor_of
from accelwatch.remediation.policy.effects.intents import annotation_of, intent_of, restoring
from accelwatch.remediation.policy.effects.relapsing import (
    failed_on_probation,
    forget_relapses,
    released,
)
from accelwatch.remediation.policy.guards.limits import attempts, breaker
from accelwatch.remediation.policy.guards.ownership import Imprint, Ownership, ownership
from accelwatch.remediation.policy.jobs.unfinished import with_unfinished
from accelwatch.remediation.policy.plan.stand_ins import return_spare
from accelwatch.remediation.policy.plan.state_loss import controller_boot
from accelwatch.remediation.policy.state.model import (
    Clocks,
    NodeQuarantine,
    Override,
    Remedy,
    Repair,
)
from accelwatch.remediation.policy.state.pursued import Pursued
from accelwatch.remediation.policy.state.stage import Stage

replace = msgspec.structs.replace
# Steps after which a scheduler shows another reason, writer or moment than before.
_RESETS_REASON = frozenset({Kind.FENCE, Kind.REBOOT, Kind.POWER_CYCLE, Kind.TEST})


def cancel(at: Scene) -> Remedy:
    """What is on its way is not wanted any more; its end is waited for."""
    if at.remedy.pursuing is None or at.remedy.cancelling:
        return at.remedy
    at.ctx.cancel(at.remedy.pursuing)
    return replace(at.remedy, cancelling=True)


def drop(at: Scene) -> Remedy:
    """A person has looked at what nobody knew the end of: it is waited for no more."""
    if at.remedy.pursuing is None:
        return at.remedy
    at.ctx.cancel(at.remedy.pursuing)
    at.ctx.set(ATTEMPTS, attempts.finish(at.ctx.state.attempts, at.remedy.node))
    free = replace(at.remedy, pursuing=None, cancelling=False)
    if at.remedy.pursuing.kind is not Kind.MOVE_JOB:
        return free
    return with_unfinished(free, at.remedy.pursuing)


def record_quarantine(at: Scene) -> Remedy:
    """Our mark is on the node: keep how it looks, to know it again."""
    if at.remedy.hold is None:
        at.ctx.note(at.remedy, f"{at.remedy.node} takes no new work", Loudness.NOTIFY)
    pursued = at.happening.pursued
    observation = at.happening.observation
    if pursued is not None and pursued.observed is not None:
        observation = pursued.observed.node
    original = {} if pursued is None else dict(pursued.original)
    if at.remedy.hold is not None:
        original = {**at.remedy.hold.original, **original}
    return replace(
        at.remedy, hold=_build_quarantine(at.ctx, at.remedy, observation, original), mark_lost=False
    )


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
    )


def refresh_quarantine(remedy: Remedy, pursued: Pursued) -> Remedy:
    """After a step of our own that sets a reason anew: keep how our mark looks since then."""
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
    """Whether somebody has put himself in our place, though the node still bears our mark."""
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


def adopt(at: Scene) -> Remedy:
    """A mark of ours of which we know nothing, as after a lost journal: a person decides."""
    quarantined = record_quarantine(at)
    incident = "" if quarantined.hold is None else quarantined.hold.mark.incident
    at.ctx.note(
        at.remedy,
        f"{at.remedy.node} bears a mark of ours ({incident}) that the journal does not know; "
        "look at it, then release or forget it",
        Loudness.ALERT,
    )
    return replace(quarantined, incident=incident)


def hand_over(at: Scene) -> Remedy:
    """Somebody else holds the node: what we held is theirs, though it may bear our mark."""
    if at.remedy.hold is not None or _was_drained(at.happening):
        observation = _shown(at.happening)
        if (
            observation is not None
            and observation.hold_state is HoldState.OURS
            and observation.annotation is not None
        ):
            at.ctx.set_row(FORGOTTEN, at.remedy.node, observation.annotation.incident)
        _override(at.ctx, at.remedy, f"{_holder(at.happening)} took it over")
        text = f"{_holder(at.happening)} took {at.remedy.node} over"
        if (
            observation is not None
            and observation.hold_state is HoldState.FOREIGN
            and observation.reason
        ):
            text = f"{text}: {observation.reason}"
        at.ctx.note(at.remedy, text, Loudness.ALERT)
    forget_relapses(at.ctx, at.remedy.node)
    return _clean(_with_chores(at.ctx, at.remedy))


def _was_drained(happening: Happening) -> bool:
    """Whether our drain had happened that is refused now: somebody was there in the same moment."""
    pursued = happening.pursued
    return (
        pursued is not None
        and pursued.intent.kind is Kind.QUARANTINE
        and pursued.was_applied
        and pursued.refusal is RefusalKind.FOREIGN
    )


def _shown(happening: Happening) -> NodeObservation | None:
    pursued = happening.pursued
    if pursued is None or pursued.observed is None:
        return happening.observation
    return pursued.observed.node


def override(at: Scene) -> Remedy:
    """A person undid what we did, or wants the node left alone; that it looks bad is told once."""
    what = "it is left alone, as a person asked"
    bad = _unhealthy_text(at)
    _override(at.ctx, at.remedy, what)
    if at.remedy.hold is not None:
        changed = breaker.overridden(at.ctx.state.breaker, at.ctx.now, at.ctx.settings.breaker)
        at.ctx.set(BREAKER, changed)
    if bad:
        at.ctx.note(at.remedy, bad, Loudness.ALERT, actor_of(at.happening))
    else:
        at.ctx.note(at.remedy, f"{at.remedy.node}: {what}", Loudness.NOTIFY, actor_of(at.happening))
    forget_relapses(at.ctx, at.remedy.node)
    return _clean(_with_chores(at.ctx, at.remedy))


def _unhealthy_text(at: Scene) -> str:
    """For people: that a node which a person gave back is bad, and with what; empty when it is not."""
    remedy, node = at.remedy, at.remedy.node
    why = dict.fromkeys(case.title or case.policy.rule for case in leading(at.ctx, remedy))
    if remedy.repair.unfit:
        why[remedy.repair.unfit] = None
    if not why or (remedy.hold is None and not remedy.mark_lost and not remedy.approval.forced):
        return ""
    by = actor_of(at.happening) or remedy.approval.forced or "a person"
    hours = at.ctx.settings.override_s / 3600
    return (
        f"{node} is back in the pool and takes jobs, but looks bad: {'; '.join(why)}. Because "
        f"{by} gave it back, it is left alone for {hours:g} h; accelwatch remedy quarantine {node} "
        "--reason WHY takes it out again"
    )


def reopen(at: Scene) -> Remedy:
    """The scheduler has lost its state: our mark is gone, and so is what was kept for jobs.

    What a person had approved is asked about anew. Who is told, and of which nodes, is decided when the
    whole look is taken up (`state_loss.tell_state_lost`).
    """
    at.ctx.note(
        at.remedy, f"the scheduler has lost our mark on {at.remedy.node}, which is open again"
    )
    free = _with_chores(at.ctx, at.remedy)
    return replace(
        free,
        hold=None,
        mark_lost=True,
        approval=replace(free.approval, approved="", approved_plan="", asked="", expired=None),
        repair=replace(free.repair, verification=None),
        jobs=replace(free.jobs, fenced=False),
    )


def _override(ctx: StepContext, remedy: Remedy, text: str, cooldown_s: float | None = None) -> None:
    wait = ctx.settings.override_s if cooldown_s is None else cooldown_s
    row = Override(node=remedy.node, at=ctx.now, until=ctx.now + wait, text=text)
    ctx.set_row(OVERRIDES, remedy.node, row)


def revert_late_quarantine(at: Scene) -> Remedy:
    """A mark of ours came late on a node that a person wants free."""
    at.ctx.note(at.remedy, "a late mark of ours is removed", Loudness.NOTIFY)
    return replace(at.remedy, approval=replace(at.remedy.approval, forced="who undid it before"))


def confirm_release(at: Scene) -> Remedy:
    """Our mark is gone by our own doing; what its scheduler keeps down takes no work all the same."""
    observation, text = _shown(at.happening), f"{at.remedy.node} takes work again"
    if observation is not None and observation.hold_state is HoldState.DOWN:
        why = observation.reason or "no reason is given"
        text = f"{at.remedy.node} is not held by us any more; its scheduler keeps it down: {why}"
    at.ctx.note(at.remedy, text, Loudness.NOTIFY)
    if not (at.remedy.approval.manual or at.remedy.approval.forced):
        released(at.ctx, at.remedy.node)
    return replace(_with_chores(at.ctx, at.remedy), hold=None)


def relapse(at: Scene) -> Remedy:
    """It has failed again while it was watched."""
    at.ctx.note(at.remedy, f"{at.remedy.node} has failed again on probation", Loudness.NOTIFY)
    failed_on_probation(at.ctx, at.remedy)
    return _clean(at.remedy)


def forget(at: Scene) -> Remedy:
    """A person wants us to have nothing to do with it: nothing is touched, not even our mark."""
    annotation = at.remedy.hold.mark if at.remedy.hold is not None else None
    if at.remedy.pursuing is not None:
        at.ctx.cancel(at.remedy.pursuing)
        if at.remedy.stage is not Stage.UNKNOWN:
            at.ctx.set_row(LINGERING, at.remedy.node, at.remedy.pursuing)
        if at.remedy.pursuing.kind is Kind.QUARANTINE:
            annotation = at.remedy.pursuing.mark
    if annotation is not None:
        at.ctx.set_row(FORGOTTEN, at.remedy.node, annotation.incident)
    _override(at.ctx, at.remedy, "forgotten", 0.0)
    forget_relapses(at.ctx, at.remedy.node)
    return replace(_with_chores(at.ctx, at.remedy), pursuing=None, cancelling=False, hold=None)


def restore_jobs(at: Scene) -> Remedy:
    """What moves have changed of jobs is put back before the node takes work again.

    A job that waits for the node starts as soon as that is open, and a job that runs keeps its lists.
    """
    return _with_jobs_put_back(at.ctx, at.remedy)


def _with_jobs_put_back(ctx: StepContext, remedy: Remedy) -> Remedy:
    for moved in (
        *remedy.jobs.moved,
        *remedy.jobs.unfinished,
        *_moves_of_pending_jobs(ctx, remedy),
    ):
        restore_job(ctx, moved)
    return replace(remedy, jobs=replace(remedy.jobs, moved=(), unfinished=(), stranded=()))


def _with_chores(ctx: StepContext, remedy: Remedy) -> Remedy:
    """What the moves of jobs have changed is put back as soon as it can be."""
    remedy = _with_jobs_put_back(ctx, remedy)
    if remedy.jobs.spare:
        intent = intent_of(ctx, remedy, Kind.RETURN_SPARE)
        remedy = return_spare(ctx, remedy, intent)
    return replace(
        remedy, jobs=replace(remedy.jobs, lost=(), lost_at=None, spareless=False, spare_asked=None)
    )


def restore_job(ctx: StepContext, move: Intent) -> None:
    """Have what the move of a job has changed put back as soon as it can be."""
    intent = restoring(move, ctx.now)
    ctx.set_row(CHORES, f"{move.node} {move.job}", intent)
    ctx.pursue(intent)


def _moves_of_pending_jobs(ctx: StepContext, remedy: Remedy) -> list[Intent]:
    """The moves that did not come about of jobs that may be held for them."""
    handled = {*remedy.jobs.handled, *(move.job for move in remedy.jobs.unfinished)}
    left = [job for job in remedy.jobs.stranded if job not in handled]
    move = intent_of(ctx, remedy, Kind.MOVE_JOB) if left else None
    return [] if move is None else [replace(move, job=job) for job in left]


def _clean(remedy: Remedy) -> Remedy:
    """Without anything that was begun or allowed for what is over."""
    return Remedy(
        node=remedy.node,
        stage=remedy.stage,
        clocks=Clocks(since=remedy.clocks.since, begun=remedy.clocks.begun),
        target=remedy.target,
        cases=remedy.cases,
        incident=remedy.incident,
        repair=Repair(serials=remedy.repair.serials),
        pursuing=remedy.pursuing,
        cancelling=remedy.cancelling,
    )


def _holder(happening: Happening) -> str:
    observation = happening.observation
    pursued = happening.pursued
    if pursued is not None and pursued.observed is not None:
        observation = pursued.observed.node
    return "somebody" if observation is None or not observation.set_by else observation.set_by
