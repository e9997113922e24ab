"""Conditions: what is on its way, which clocks run, and where what has failed goes on."""

from collections.abc import Mapping
from types import MappingProxyType

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.conditions.transition import TransitionView
from accelwatch.remediation.policy.plan import device_level
from accelwatch.remediation.policy.plan.desired_policy import is_otherwise
from accelwatch.remediation.policy.plan.gates import withdrawn
from accelwatch.remediation.policy.state.clocks import MOST_FAILURES
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.relapses import MOST
from accelwatch.remediation.policy.state.stage import Stage


def idle(transition: TransitionView) -> bool:
    """Nothing that we want of the node is on its way."""
    return (
        transition.remedy.pursuing is None
        and transition.remedy.node not in transition.ctx.state.lingering
    )


def busy(transition: TransitionView) -> bool:
    """An intent is on its way."""
    return not idle(transition)


def revoked(transition: TransitionView) -> bool:
    """A running intent lost its permission: a person or a ceiling forbids it."""
    kind = transition.remedy.pursued_kind
    # A release harms nobody: it goes on even after a STOP.
    if kind is None or kind is Kind.RELEASE:
        return False
    if kind is Kind.QUARANTINE and transition.remedy.approval.manual:
        return transition.ctx.state.stop is not None
    return withdrawn(transition.ctx, transition.remedy, kind) is not None


def no_clock(transition: TransitionView) -> bool:
    """No clock of its stage runs."""
    return transition.remedy.clocks.due is None


def clock_runs(transition: TransitionView) -> bool:
    """A clock of its stage runs."""
    return transition.remedy.clocks.due is not None


def evaluated_otherwise(transition: TransitionView) -> bool:
    """Another rule's policy counts by now than that of the quarantine."""
    return is_otherwise(transition.ctx, transition.remedy)


def exceeds_quarantine(transition: TransitionView) -> bool:
    """More is to be out of it than the devices that are, by another rule or a person."""
    return device_level.exceeds_quarantine(transition.ctx, transition.remedy)


def stays_out(transition: TransitionView) -> bool:
    """It has relapsed so often that only a person gives it back."""
    return transition.remedy.repair.relapses >= MOST and not transition.remedy.approval.manual


def not_ticketed(transition: TransitionView) -> bool:
    """Nobody was notified yet to repair it."""
    return not transition.remedy.repair.ticketed


def tries_left(transition: TransitionView) -> bool:
    """What has failed is tried again by itself."""
    return transition.remedy.failures <= MOST_FAILURES


# The stage that retries what failed in a stage; otherwise `quarantined`, which decides again.
GOES_ON: Mapping[Stage, Stage] = MappingProxyType(
    {Stage.QUARANTINING: Stage.SUSPECT, Stage.RELEASING: Stage.RELEASING}
)


def _resumes_at(remedy: Remedy) -> Stage:
    if remedy.came_from is Stage.QUARANTINING and remedy.hold is not None:
        return Stage.QUARANTINED
    return GOES_ON.get(remedy.came_from or Stage.QUARANTINED, Stage.QUARANTINED)


def goes_on_suspect(transition: TransitionView) -> bool:
    """The intent that failed was the quarantine."""
    return _resumes_at(transition.remedy) is Stage.SUSPECT


def goes_on_quarantined(transition: TransitionView) -> bool:
    """What has failed was done to a node that is out."""
    return _resumes_at(transition.remedy) is Stage.QUARANTINED


def goes_on_releasing(transition: TransitionView) -> bool:
    """What has failed was to give it back."""
    return _resumes_at(transition.remedy) is Stage.RELEASING
