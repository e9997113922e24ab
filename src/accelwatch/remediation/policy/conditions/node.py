"""Conditions: what is wrong with a node, whether it answers, and who holds it."""

from collections.abc import Sequence

from accelwatch.action.observed import HoldState
from accelwatch.remediation.policy.conditions.transition import TransitionView
from accelwatch.remediation.policy.context import cases as node_cases
from accelwatch.remediation.policy.context.cases import counting, leading
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.jobs import jobs
from accelwatch.remediation.policy.plan.state_loss import is_lost
from accelwatch.remediation.policy.state.case import Case
from accelwatch.remediation.policy.state.model import Remedy


def is_releasable(transition: TransitionView) -> bool:
    """No rule and no person wants it out."""
    return node_cases.is_releasable(transition.ctx, transition.remedy)


def needs_quarantine(transition: TransitionView) -> bool:
    """A rule wants it quarantined."""
    return node_cases.needs_quarantine(transition.ctx, transition.remedy)


def suspicious(transition: TransitionView) -> bool:
    """Something is open on it, if only for people to know: its remedy is kept until that is over."""
    return bool(counting(transition.ctx, transition.remedy))


def quiet(transition: TransitionView) -> bool:
    """Nothing at all is open on it, and no person keeps it out."""
    return node_cases.is_releasable(transition.ctx, transition.remedy) and not suspicious(
        transition
    )


def nothing_open(transition: TransitionView) -> bool:
    """No rule that still exists wants it out."""
    return all(case.orphaned for case in leading(transition.ctx, transition.remedy))


def suppressed(transition: TransitionView) -> bool:
    """All that wants it out is silenced or in maintenance, or a person has said no."""
    if transition.remedy.approval.manual:
        return False
    cases = _weighing(transition.ctx, transition.remedy)
    no = transition.ctx.state.denied.get(transition.remedy.node)
    return bool(cases) and all(
        case.muted or (no is not None and no.bears(case.policy.rule, transition.ctx.now))
        for case in cases
    )


def not_suppressed(transition: TransitionView) -> bool:
    """Something wants it out that is neither silenced nor denied."""
    return not suppressed(transition)


def _weighing(ctx: StepView, remedy: Remedy) -> Sequence[Case]:
    """The cases that could have something done; where there are none, those that are only reported."""
    return leading(ctx, remedy) or counting(ctx, remedy)


def blind(transition: TransitionView) -> bool:
    """Of every open case it is unknown whether it is over."""
    cases = _weighing(transition.ctx, transition.remedy)
    return bool(cases) and all(case.blind for case in cases)


def seeing(transition: TransitionView) -> bool:
    """Of one case at least it is known whether it is over, or there is none."""
    return not blind(transition)


def not_answering(transition: TransitionView) -> bool:
    """Neither the agent nor the scheduler's daemon answers."""
    return jobs.silent(transition.ctx, transition.remedy)


def answering(transition: TransitionView) -> bool:
    """The agent answers, or the scheduler's daemon."""
    return not jobs.silent(transition.ctx, transition.remedy)


def by_person(transition: TransitionView) -> bool:
    """A person quarantined it: only a person releases it."""
    return transition.remedy.approval.manual


def not_by_person(transition: TransitionView) -> bool:
    """No person wants it out."""
    return not transition.remedy.approval.manual


def forced(transition: TransitionView) -> bool:
    """A person wants it back whatever is seen."""
    return bool(transition.remedy.approval.forced)


def not_forced(transition: TransitionView) -> bool:
    """It has to be well before it goes back."""
    return not transition.remedy.approval.forced


def is_quarantined(transition: TransitionView) -> bool:
    """Our mark is on it."""
    return transition.remedy.hold is not None


def is_not_quarantined(transition: TransitionView) -> bool:
    """Our mark is not on it."""
    return transition.remedy.hold is None


def ours_observed(transition: TransitionView) -> bool:
    """An intent has ended, and our mark was seen on it then."""
    return transition.event.pursued_hold_state is HoldState.OURS


def open_observed(transition: TransitionView) -> bool:
    """An intent has ended, and the node was observed open then."""
    return transition.event.pursued_hold_state is HoldState.OPEN


def state_lost(transition: TransitionView) -> bool:
    """The scheduler has lost its state, and our mark with it: no person has undone anything."""
    return is_lost(transition.ctx, transition.remedy, transition.event.observation)


def not_forgotten(transition: TransitionView) -> bool:
    """The mark that is seen on it is none that a person wanted left alone."""
    observation = transition.event.observation
    annotation = None if observation is None else observation.annotation
    # `forgotten` gives None for most nodes: without a mark there is nothing to compare that with.
    return annotation is None or (
        transition.ctx.state.forgotten.get(transition.remedy.node) != annotation.incident
    )


def probation(transition: TransitionView) -> bool:
    """Its policy has it watched after it was given back."""
    return transition.remedy.policy is not None and transition.remedy.policy.probation_s > 0
