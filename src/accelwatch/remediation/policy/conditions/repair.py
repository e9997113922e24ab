"""Conditions: which step of the escalation is next, and whether the node has shown that it is well."""

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.step import RefusalKind
from accelwatch.remediation.policy.conditions.transition import TransitionView
from accelwatch.remediation.policy.context.cases import needs_repair
from accelwatch.remediation.policy.guards.denial import Denial, DenialKind
from accelwatch.remediation.policy.plan import verify
from accelwatch.remediation.policy.plan.escalation import (
    INTENTS,
    SERVICE,
    impossible,
    next_escalation_step,
)
from accelwatch.remediation.policy.plan.gates import first_denial
from accelwatch.remediation.policy.plan.tests.peers import peer_of, refuted
from accelwatch.remediation.policy.plan.tests.results import is_busy, result_of
from accelwatch.remediation.policy.state.relapses import MOST
from accelwatch.remediation.policy.state.score import Verdict, verdict

_TRIED_ENOUGH = frozenset({DenialKind.ATTEMPTS, DenialKind.TOO_MANY_REMEDIES})


def next_is_reset(transition: TransitionView) -> bool:
    """A reset of the device is next."""
    return _next_is(transition, Kind.RESET_DEVICE)


def next_is_reboot(transition: TransitionView) -> bool:
    """A reboot is next."""
    return _next_is(transition, Kind.REBOOT)


def next_is_power_cycle(transition: TransitionView) -> bool:
    """A power cycle is next."""
    return _next_is(transition, Kind.POWER_CYCLE)


def _next_is(transition: TransitionView, kind: Kind) -> bool:
    if transition.remedy.repair.relapses >= MOST:
        return False  # nothing that we can do helps for long
    step = next_escalation_step(transition.remedy)
    return needs_repair(transition.ctx, transition.remedy) and INTENTS.get(step) is kind


def next_is_service(transition: TransitionView) -> bool:
    """Every step was tried, or as many as may be for one incident or one node."""
    if not needs_repair(transition.ctx, transition.remedy):
        return False
    step = next_escalation_step(transition.remedy)
    if step == SERVICE:
        return True
    denial = (
        first_denial(transition.ctx, transition.remedy, INTENTS[step]) if step in INTENTS else None
    )
    return denial is not None and denial.why in _TRIED_ENOUGH


def step_impossible(transition: TransitionView) -> bool:
    """The step that is next can be done to no node here."""
    if not needs_repair(transition.ctx, transition.remedy):
        return False
    kind = INTENTS.get(next_escalation_step(transition.remedy))
    return kind is not None and impossible(transition.ctx, kind) != ""


def past_repair(transition: TransitionView) -> bool:
    """It, or a board in it, has failed so often that only a repair helps."""
    if (
        not needs_repair(transition.ctx, transition.remedy)
        or next_escalation_step(transition.remedy) == ""
    ):
        return False
    scores = transition.ctx.state.scores
    return verdict(scores, verify.scored(transition.remedy), transition.ctx.now) is Verdict.SERVICE


def wrong_again(transition: TransitionView) -> bool:
    """A rule that wants it quarantined has fired since the verification started."""
    return verify.wrong_again(transition.ctx, transition.remedy)


def still_wrong(transition: TransitionView) -> bool:
    """What was wrong is so still, though its rule had the time to clear."""
    return verify.still_wrong(transition.ctx, transition.remedy)


def observed_bad(transition: TransitionView) -> bool:
    """A rule with an action fires on fresh data, though none of its incidents is open."""
    return verify.is_observed_bad(transition.ctx, transition.remedy)


def other_generation(transition: TransitionView) -> bool:
    """It has rebooted, or has other hardware, since the verification started."""
    return verify.other_generation(transition.ctx, transition.remedy)


def passive_checks_passed(transition: TransitionView) -> bool:
    """It has looked well for long enough, and does so now."""
    return not isinstance(verify.verify_health(transition.ctx, transition.remedy), Denial)


def test_next(transition: TransitionView) -> bool:
    """An active test is left to be passed."""
    return verify.next_test(transition.remedy) != ""


def fell_short(transition: TransitionView) -> bool:
    """The test has ended well, and has measured too little or nothing."""
    pursued = transition.event.pursued
    return (
        pursued is not None
        and not result_of(transition.ctx, transition.remedy.node, pursued).passed
    )


def failed_test(transition: TransitionView) -> bool:
    """The test was run, and has failed."""
    pursued = transition.event.pursued
    return pursued is not None and pursued.refusal is RefusalKind.UNFIT


def other_peer(transition: TransitionView) -> bool:
    """It has failed with one peer, which may be to blame, and another is available."""
    ctx, remedy, pursued = transition.ctx, transition.remedy, transition.event.pursued
    if pursued is None or not pursued.intent.peer:
        return False
    if pursued.refusal is None and result_of(ctx, remedy.node, pursued).value is None:
        return False  # that a test prints no figure, or in another unit, is the fault of no node
    test, target = pursued.intent.test, ctx.target(remedy)
    if refuted(remedy, test):
        return False
    peer = peer_of(ctx, test, remedy.node, target, (pursued.intent.peer,))
    return not isinstance(peer, Denial)


def peer_is_busy(transition: TransitionView) -> bool:
    """A node that the test needs idle has got a job: another one is looked for."""
    pursued = transition.event.pursued
    return pursued is not None and is_busy(pursued)


def tests_passed(transition: TransitionView) -> bool:
    """Every active test has passed."""
    return verify.next_test(transition.remedy) == ""
