"""What rows of the table do when somebody else has the node, or a person undoes what we did."""

import msgspec

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.action.step import RefusalKind
from accelwatch.remediation.policy.conditions.transition import RemedyEvent, Transition
from accelwatch.remediation.policy.context.cases import leading
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import BREAKER, FORGOTTEN, LINGERING, OVERRIDES
from accelwatch.remediation.policy.effects.approvals import actor_of
from accelwatch.remediation.policy.effects.relapsing import forget_relapses
from accelwatch.remediation.policy.effects.restored_jobs import with_chores
from accelwatch.remediation.policy.guards.limits import breaker
from accelwatch.remediation.policy.state.model import Clocks, Remedy, Repair
from accelwatch.remediation.policy.state.orders import Override
from accelwatch.remediation.policy.state.stage import Stage

replace = msgspec.structs.replace


def hand_over(transition: Transition) -> Remedy:
    """Somebody else holds the node: what we held is theirs, though it may bear our mark."""
    if transition.remedy.hold is not None or _was_drained(transition.event):
        observation = shown_node(transition.event)
        if (
            observation is not None
            and observation.hold_state is HoldState.OURS
            and observation.annotation is not None
        ):
            transition.ctx.set_row(
                FORGOTTEN, transition.remedy.node, observation.annotation.incident
            )
        _override(transition.ctx, transition.remedy, f"{_holder(transition.event)} took it over")
        text = f"{_holder(transition.event)} took {transition.remedy.node} over"
        if (
            observation is not None
            and observation.hold_state is HoldState.FOREIGN
            and observation.reason
        ):
            text = f"{text}: {observation.reason}"
        transition.ctx.note(transition.remedy, text, Loudness.ALERT)
    forget_relapses(transition.ctx, transition.remedy.node)
    return clean(with_chores(transition.ctx, transition.remedy))


def _was_drained(event: RemedyEvent) -> bool:
    """Whether our drain had happened that is refused now: somebody was there in the same moment."""
    pursued = event.pursued
    return (
        pursued is not None
        and pursued.intent.kind is Kind.QUARANTINE
        and pursued.was_applied
        and pursued.refusal is RefusalKind.FOREIGN
    )


def shown_node(event: RemedyEvent) -> NodeObservation | None:
    """The node as the end of a pursuit showed it, else as the scheduler did."""
    pursued = event.pursued
    if pursued is None or pursued.observed is None:
        return event.observation
    return pursued.observed.node


def override(transition: Transition) -> Remedy:
    """A person undid our action, or vetoes the node; notifies once if it looks bad."""
    what = "it is left alone, as a person asked"
    bad = _unhealthy_text(transition)
    _override(transition.ctx, transition.remedy, what)
    if transition.remedy.hold is not None:
        changed = breaker.overridden(
            transition.ctx.state.breaker, transition.ctx.now, transition.ctx.settings.breaker
        )
        transition.ctx.set(BREAKER, changed)
    if bad:
        transition.ctx.note(transition.remedy, bad, Loudness.ALERT, actor_of(transition.event))
    else:
        transition.ctx.note(
            transition.remedy,
            f"{transition.remedy.node}: {what}",
            Loudness.NOTIFY,
            actor_of(transition.event),
        )
    forget_relapses(transition.ctx, transition.remedy.node)
    return clean(with_chores(transition.ctx, transition.remedy))


def _unhealthy_text(transition: Transition) -> str:
    """For people: that a node which a person gave back is bad, and with what; empty when it is not."""
    remedy, node = transition.remedy, transition.remedy.node
    why = dict.fromkeys(case.title or case.policy.rule for case in leading(transition.ctx, remedy))
    if remedy.repair.unfit:
        why[remedy.repair.unfit] = None
    if not why or (remedy.hold is None and not remedy.mark_lost and not remedy.approval.forced):
        return ""
    by = actor_of(transition.event) or remedy.approval.forced or "a person"
    hours = transition.ctx.settings.override_s / 3600
    return (
        f"{node} is back in the pool and takes jobs, but looks bad: {'; '.join(why)}. Because "
        f"{by} gave it back, it is left alone for {hours:g} h; accelwatch remedy quarantine {node} "
        "--reason WHY takes it out again"
    )


def reopen(transition: Transition) -> Remedy:
    """The scheduler has lost its state: our mark is gone, and so is what was kept for jobs.

    A plan that a person had approved needs approval again. Whom to notify, and of which nodes, is
    decided when the whole poll is processed (`state_loss.tell_state_lost`).
    """
    transition.ctx.note(
        transition.remedy,
        f"the scheduler has lost our mark on {transition.remedy.node}, which is open again",
    )
    free = with_chores(transition.ctx, transition.remedy)
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


def revert_late_quarantine(transition: Transition) -> Remedy:
    """A mark of ours came late on a node that a person wants free."""
    transition.ctx.note(transition.remedy, "a late mark of ours is removed", Loudness.NOTIFY)
    return replace(
        transition.remedy,
        approval=replace(transition.remedy.approval, forced="who undid it before"),
    )


def forget(transition: Transition) -> Remedy:
    """A person wants us to have nothing to do with it: nothing is touched, not even our mark."""
    annotation = transition.remedy.hold.mark if transition.remedy.hold is not None else None
    if transition.remedy.pursuing is not None:
        transition.ctx.cancel(transition.remedy.pursuing)
        if transition.remedy.stage is not Stage.UNKNOWN:
            transition.ctx.set_row(LINGERING, transition.remedy.node, transition.remedy.pursuing)
        if transition.remedy.pursuing.kind is Kind.QUARANTINE:
            annotation = transition.remedy.pursuing.mark
    if annotation is not None:
        transition.ctx.set_row(FORGOTTEN, transition.remedy.node, annotation.incident)
    _override(transition.ctx, transition.remedy, "forgotten", 0.0)
    forget_relapses(transition.ctx, transition.remedy.node)
    return replace(
        with_chores(transition.ctx, transition.remedy), pursuing=None, cancelling=False, hold=None
    )


def clean(remedy: Remedy) -> Remedy:
    """Without anything that was started or allowed for cases that are over."""
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


def _holder(event: RemedyEvent) -> str:
    observation = event.observation
    pursued = event.pursued
    if pursued is not None and pursued.observed is not None:
        observation = pursued.observed.node
    return "somebody" if observation is None or not observation.set_by else observation.set_by
