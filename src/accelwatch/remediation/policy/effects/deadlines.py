"""After how long a person is notified of what still waits: a stage, or what is on its way in it. Pure.

A person is notified once of a stage, or of the job or test that it waits for. Nothing ends by that: it
goes on waiting, and ends as it would have ended.
"""

from typing import NamedTuple

import msgspec

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.alerting.rules.rule import Deadlines
from accelwatch.remediation.policy.conditions.transition import Transition
from accelwatch.remediation.policy.context.cases import needs_quarantine
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.guards.denial import DenialKind
from accelwatch.remediation.policy.plan.overdue_texts import text_of
from accelwatch.remediation.policy.plan.verify import passive_s
from accelwatch.remediation.policy.state import clocks
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.relapses import MOST
from accelwatch.remediation.policy.state.stage import Stage

# A swap and a look end by themselves before that.
_OF_A_JOB = frozenset({Kind.SIGNAL_JOB, Kind.MOVE_JOB, Kind.CANCEL_JOB, Kind.DRAW_SPARE})
# What a person has decided, or is notified of for all nodes together.
_PERSONS = frozenset(
    {
        DenialKind.STOPPED,
        DenialKind.VETOED,
        DenialKind.SILENCE,
        DenialKind.OVERRIDDEN,
        DenialKind.CANARY,
        DenialKind.GROUP,
        DenialKind.BREAKER,
    }
)


class Awaited(NamedTuple):
    """What a remedy waits for now."""

    # By which it is known that a person was notified of it.
    key: str
    # Unix seconds.
    since: float
    within_s: float


def deadlines_of(remedy: Remedy) -> Deadlines:
    """Those of the rule that leads; the usual ones where a person alone began it."""
    return Deadlines() if remedy.policy is None else remedy.policy.deadlines


def notified_after_s(remedy: Remedy, kind: Kind) -> float | None:
    """How long an intent may be on its way before a person is notified; None: its stage counts."""
    deadlines = deadlines_of(remedy)
    if kind in _OF_A_JOB:
        return deadlines.move_s
    return {
        Kind.FENCE: deadlines.fence_s,
        Kind.RESET_DEVICE: deadlines.reboot_s,
        Kind.REBOOT: deadlines.reboot_s,
        Kind.POWER_CYCLE: deadlines.reboot_s,
        Kind.TEST: deadlines.test_s,
    }.get(kind)


def stage_within_s(ctx: StepContext, remedy: Remedy) -> float | None:
    """How long a remedy may be in its stage before a person is notified; None: nobody has to be, now."""
    deadlines = deadlines_of(remedy)
    match remedy.stage:
        case Stage.SUSPECT:
            return clocks.QUARANTINE_S if _is_kept_in(ctx, remedy) else None
        case Stage.QUARANTINING | Stage.RELEASING:
            return clocks.QUARANTINE_S + clocks.OVERRUN_S
        case Stage.QUARANTINED:
            person_knows = (
                remedy.approval.manual or remedy.repair.relapses >= MOST
            )  # a person knows that it stays out
            return None if person_knows else deadlines.drain_s
        case Stage.FENCING:
            return deadlines.fence_s
        case Stage.DRAINING:
            return deadlines.drain_s
        case Stage.REMEDIATING:
            return deadlines.reboot_s
        case Stage.VERIFYING:
            tests = 0 if remedy.policy is None else len(remedy.policy.tests)
            return passive_s(ctx, remedy) + (1 + tests) * deadlines.test_s
        case Stage.SERVICE:
            return (
                None if remedy.repair.ticketed else deadlines.drain_s
            )  # whoever has the ticket knows
        case _:
            return None


def _is_kept_in(ctx: StepContext, remedy: Remedy) -> bool:
    """Whether a quarantine waits for something that may pass by itself, or never."""
    denial = remedy.denial
    if denial is None or not denial.why.passes_by_itself or denial.why in _PERSONS:
        return False
    watched = remedy.clocks.due is not None  # a node of unknown state has its own notification
    return not watched and (remedy.approval.manual or needs_quarantine(ctx, remedy))


# Stages in which one thing after another is on its way, each with a deadline of its own.
_SEVERAL = frozenset({Stage.DRAINING, Stage.VERIFYING})


def overdue(ctx: StepContext, remedy: Remedy) -> Awaited | None:
    """What has waited for longer than its deadline and nobody was notified of."""
    if ctx.state.stop is not None or remedy.node in ctx.state.vetoes:
        return None
    late = _in_flight(ctx, remedy)
    if late is None or (late.key != remedy.clocks.overdue and not _is_over(ctx, late)):
        # What is on its way has time left; the stage may have none.
        within_s = stage_within_s(ctx, remedy)
        if within_s is None or remedy.clocks.overdue:
            return None
        key = remedy.stage.value if late is None else late.key
        since = max(remedy.clocks.since, remedy.clocks.begun)
        late = Awaited(key, since, _within_s(ctx, remedy, within_s))
    return late if late.key != remedy.clocks.overdue and _is_over(ctx, late) else None


def _in_flight(ctx: StepContext, remedy: Remedy) -> Awaited | None:
    intent = remedy.pursuing
    within_s = None if intent is None else notified_after_s(remedy, intent.kind)
    if intent is None or within_s is None or remedy.stage not in _SEVERAL:
        return None
    if intent.kind is Kind.MOVE_JOB and remedy.jobs.hanging:
        return None  # a person was called for the node that it cannot leave
    what = intent.test or intent.spare if intent.job is None else str(intent.job)
    # Where the clock was set back, the intent's time is yet to come.
    since = intent.asked if intent.asked <= ctx.now else remedy.clocks.since
    return Awaited(f"{intent.kind} {what}", since, _within_s(ctx, remedy, within_s))


def _within_s(ctx: StepContext, remedy: Remedy, usual_s: float) -> float:
    """Longer while its scheduler does not answer, which is no matter of this node alone."""
    scheduler = ctx.world.schedulers.get(ctx.world.shown_by.get(ctx.target(remedy), ""))
    silent = scheduler is not None and bool(scheduler.unavailable)
    return max(usual_s, clocks.SCHEDULER_S) if silent else usual_s


def _is_over(ctx: StepContext, awaited: Awaited) -> bool:
    return ctx.now >= awaited.since + awaited.within_s


def notify_overdue(transition: Transition) -> Remedy:
    """Have a person notified of what waits, how long it has, and what to do."""
    awaited = overdue(transition.ctx, transition.remedy)
    if awaited is None:
        return transition.remedy
    transition.ctx.note(
        transition.remedy,
        text_of(transition.ctx, transition.remedy, transition.ctx.now - awaited.since),
        Loudness.ALERT,
    )
    return msgspec.structs.replace(
        transition.remedy,
        clocks=msgspec.structs.replace(transition.remedy.clocks, overdue=awaited.key),
    )
