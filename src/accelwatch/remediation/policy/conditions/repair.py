"""Conditions: which step of the escalation is next, and whether the node has shown that it is well."""

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.conditions.scene import Situation
from accelwatch.remediation.policy.guards.denial import Denial, DenialKind
from accelwatch.remediation.policy.jobs.jobs import needs_repair
from accelwatch.remediation.policy.plan import verify
from accelwatch.remediation.policy.plan.escalation import (
    INTENTS,
    SERVICE,
    impossible,
    next_escalation_step,
)
from accelwatch.remediation.policy.plan.gates import first_denial
from accelwatch.remediation.policy.state.relapses import MOST
from accelwatch.remediation.policy.state.score import Verdict, verdict

_TRIED_ENOUGH = frozenset({DenialKind.ATTEMPTS, DenialKind.TOO_MANY_REMEDIES})


def next_is_reset(at: Situation) -> bool:
    """A reset of the device is next."""
    return _next_is(at, Kind.RESET_DEVICE)


def next_is_reboot(at: Situation) -> bool:
    """A reboot is next."""
    return _next_is(at, Kind.REBOOT)


def next_is_power_cycle(at: Situation) -> bool:
    """A power cycle is next."""
    return _next_is(at, Kind.POWER_CYCLE)


def _next_is(at: Situation, kind: Kind) -> bool:
    if at.remedy.repair.relapses >= MOST:
        return False  # nothing that we can do helps for long
    step = next_escalation_step(at.remedy)
    return needs_repair(at.ctx, at.remedy) and INTENTS.get(step) is kind


def next_is_service(at: Situation) -> bool:
    """Every step was tried, or as many as may be for one incident or one node."""
    if not needs_repair(at.ctx, at.remedy):
        return False
    step = next_escalation_step(at.remedy)
    if step == SERVICE:
        return True
    denial = first_denial(at.ctx, at.remedy, INTENTS[step]) if step in INTENTS else None
    return denial is not None and denial.why in _TRIED_ENOUGH


def step_impossible(at: Situation) -> bool:
    """The step that is next can be done to no node here."""
    if not needs_repair(at.ctx, at.remedy):
        return False
    kind = INTENTS.get(next_escalation_step(at.remedy))
    return kind is not None and impossible(at.ctx, kind) != ""


def past_repair(at: Situation) -> bool:
    """It, or a board in it, has failed so often that only a repair helps."""
    if not needs_repair(at.ctx, at.remedy) or next_escalation_step(at.remedy) == "":
        return False
    scores = at.ctx.state.scores
    return verdict(scores, verify.scored(at.remedy), at.ctx.now) is Verdict.SERVICE


def wrong_again(at: Situation) -> bool:
    """A rule that wants it out has begun to fire since the verification began."""
    return verify.wrong_again(at.ctx, at.remedy)


def still_wrong(at: Situation) -> bool:
    """What was wrong is so still, though its rule had the time to clear."""
    return verify.still_wrong(at.ctx, at.remedy)


def observed_bad(at: Situation) -> bool:
    """A rule with an action fires on fresh data, though none of its incidents is open."""
    return verify.is_observed_bad(at.ctx, at.remedy)


def other_generation(at: Situation) -> bool:
    """It has begun anew, or has other hardware, since the verification began."""
    return verify.other_generation(at.ctx, at.remedy)


def passive_done(at: Situation) -> bool:
    """It has looked well for long enough, and does so now."""
    return not isinstance(verify.verify_health(at.ctx, at.remedy), Denial)


def test_next(at: Situation) -> bool:
    """An active test is left to be passed."""
    return verify.next_test(at.remedy) != ""


def tests_done(at: Situation) -> bool:
    """Every active test has passed."""
    return verify.next_test(at.remedy) == ""
