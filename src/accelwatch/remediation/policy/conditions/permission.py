"""Conditions: whether an intent may start now, or only a person's approval is missing."""

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.conditions.transition import Condition, TransitionView
from accelwatch.remediation.policy.context.cases import leading
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.plan.digest import digest_of, is_plan
from accelwatch.remediation.policy.plan.gates import (
    first_denial,
    lacks_only_a_yes,
    leader,
    only_waits,
)
from accelwatch.remediation.policy.state.model import Remedy


def _may(kind: Kind, name: str) -> Condition:
    """Whether no guard denies an intent; `name` is what the page of the table shows."""

    def may(transition: TransitionView) -> bool:
        return first_denial(transition.ctx, transition.remedy, kind) is None

    may.__name__ = name
    return may


may_cordon = _may(Kind.QUARANTINE, "may_cordon")
may_quarantine = _may(Kind.QUARANTINE, "may_quarantine")
may_fence = _may(Kind.FENCE, "may_fence")
may_check = _may(Kind.FOLLOW_JOB, "may_check")
may_signal = _may(Kind.SIGNAL_JOB, "may_signal")
may_draw = _may(Kind.DRAW_SPARE, "may_draw")
may_move = _may(Kind.MOVE_JOB, "may_move")
may_swap = _may(Kind.SWAP_IN_JOB, "may_swap")
may_cancel = _may(Kind.CANCEL_JOB, "may_cancel")
may_reset = _may(Kind.RESET_DEVICE, "may_reset")
may_reboot = _may(Kind.REBOOT, "may_reboot")
may_power_cycle = _may(Kind.POWER_CYCLE, "may_power_cycle")
may_test = _may(Kind.TEST, "may_test")
may_service = _may(Kind.SERVICE, "may_service")
may_release = _may(Kind.RELEASE, "may_release")


def askable(transition: TransitionView) -> bool:
    """A person's yes is all that is missing, and nobody has let the same question pass."""
    ctx, remedy = transition.ctx, transition.remedy
    if remedy.approval.manual or first_denial(ctx, remedy, Kind.QUARANTINE) is None:
        return False
    case = leader(ctx, remedy)
    if case is None:
        return False
    if remedy.approval.expired is not None and case.evidence_at <= remedy.approval.expired:
        return False
    return lacks_only_a_yes(ctx, remedy, case) and plan_of(ctx, remedy) != ""


def not_askable(transition: TransitionView) -> bool:
    """The question does not stand any more; it does while nobody can look, or the budget is spent."""
    if askable(transition):
        return False
    for case in leading(transition.ctx, transition.remedy):
        if case.incident == transition.remedy.incident:
            return not only_waits(transition.ctx, transition.remedy, case)
    return True


def plan_changed(transition: TransitionView) -> bool:
    """The plan has changed since the request for approval."""
    requested = transition.remedy.approval.asked
    return plan_of(transition.ctx, transition.remedy) != "" and not _is_current_plan(
        transition, requested
    )


def plan_is_this(transition: TransitionView) -> bool:
    """The plan that a person has approved is the one that would be carried out."""
    command = transition.event.command
    return command is not None and _is_current_plan(transition, command.digest)


def _is_current_plan(transition: TransitionView, digest: str) -> bool:
    """Whether a digest is of the plan that would be carried out now."""
    case = leader(transition.ctx, transition.remedy)
    if case is None:
        return False
    return is_plan(digest, transition.ctx, transition.remedy, case.policy, case.incident)


def plan_of(ctx: StepView, remedy: Remedy) -> str:
    """Digest of what would be done now; empty when nothing would, or nobody can see what."""
    case = leader(ctx, remedy)
    return "" if case is None else digest_of(ctx, remedy, case.policy, case.incident)
