"""Conditions: what is wrong with a node, whether it answers, and who holds it."""

from collections.abc import Sequence

from accelwatch.action.observed import HoldState
from accelwatch.remediation.policy.conditions.scene import Situation
from accelwatch.remediation.policy.context.cases import counting, leading
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.jobs import jobs
from accelwatch.remediation.policy.plan.state_loss import is_lost
from accelwatch.remediation.policy.state.case import Case
from accelwatch.remediation.policy.state.model import Remedy


def well(at: Situation) -> bool:
    """No rule and no person wants it out."""
    return jobs.well(at.ctx, at.remedy)


def wrong(at: Situation) -> bool:
    """A rule wants it taken out."""
    return jobs.wrong(at.ctx, at.remedy)


def suspicious(at: Situation) -> bool:
    """Something is open on it, if only for people to know: its remedy is kept until that is over."""
    return bool(counting(at.ctx, at.remedy))


def quiet(at: Situation) -> bool:
    """Nothing at all is open on it, and no person keeps it out."""
    return jobs.well(at.ctx, at.remedy) and not suspicious(at)


def nothing_open(at: Situation) -> bool:
    """No rule that still exists wants it out."""
    return all(case.orphaned for case in leading(at.ctx, at.remedy))


def suppressed(at: Situation) -> bool:
    """All that wants it out is silenced or in maintenance, or a person has said no."""
    if at.remedy.approval.manual:
        return False
    cases = _weighing(at.ctx, at.remedy)
    no = at.ctx.state.denied.get(at.remedy.node)
    return bool(cases) and all(
        case.muted or (no is not None and no.bears(case.policy.rule, at.ctx.now)) for case in cases
    )


def heeded(at: Situation) -> bool:
    """Something wants it out that is neither silenced nor denied."""
    return not suppressed(at)


def _weighing(ctx: StepView, remedy: Remedy) -> Sequence[Case]:
    """The cases that could have something done; where there are none, those that are only reported."""
    return leading(ctx, remedy) or counting(ctx, remedy)


def blind(at: Situation) -> bool:
    """Nobody can tell whether anything of what is open is over."""
    cases = _weighing(at.ctx, at.remedy)
    return bool(cases) and all(case.blind for case in cases)


def seeing(at: Situation) -> bool:
    """Somebody can tell of a case at least, or there is none."""
    return not blind(at)


def not_answering(at: Situation) -> bool:
    """Neither the agent nor the scheduler's daemon answers."""
    return jobs.silent(at.ctx, at.remedy)


def answering(at: Situation) -> bool:
    """The agent answers, or the scheduler's daemon."""
    return not jobs.silent(at.ctx, at.remedy)


def by_person(at: Situation) -> bool:
    """A person took it out: only a person lets it go."""
    return at.remedy.approval.manual


def not_by_person(at: Situation) -> bool:
    """No person wants it out."""
    return not at.remedy.approval.manual


def forced(at: Situation) -> bool:
    """A person wants it back whatever is seen."""
    return bool(at.remedy.approval.forced)


def not_forced(at: Situation) -> bool:
    """It has to be well before it goes back."""
    return not at.remedy.approval.forced


def is_quarantined(at: Situation) -> bool:
    """Our mark is on it."""
    return at.remedy.hold is not None


def is_not_quarantined(at: Situation) -> bool:
    """Our mark is not on it."""
    return at.remedy.hold is None


def ours_observed(at: Situation) -> bool:
    """An intent has ended, and our mark was seen on it then."""
    return at.event.pursued_hold_state is HoldState.OURS


def open_observed(at: Situation) -> bool:
    """An intent has ended, and the node was seen to take work then."""
    return at.event.pursued_hold_state is HoldState.OPEN


def state_lost(at: Situation) -> bool:
    """The scheduler has lost its state, and our mark with it: no person has undone anything."""
    return is_lost(at.ctx, at.remedy, at.event.observation)


def not_forgotten(at: Situation) -> bool:
    """The mark that is seen on it is none that a person wanted left alone."""
    observation = at.event.observation
    annotation = None if observation is None else observation.annotation
    # `forgotten` gives None for most nodes: without a mark there is nothing to compare that with.
    return annotation is None or (at.ctx.state.forgotten.get(at.remedy.node) != annotation.incident)


def probation(at: Situation) -> bool:
    """Its policy has it watched after it was given back."""
    return at.remedy.policy is not None and at.remedy.policy.probation_s > 0
