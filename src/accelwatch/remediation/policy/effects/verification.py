"""Effects: what rows of the table do about a verification: its start, its tests, its end."""

import msgspec

from accelwatch.remediation.policy.conditions.transition import Transition
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.plan.tests.peers import refuted
from accelwatch.remediation.policy.plan.tests.results import record, record_blame, result_of
from accelwatch.remediation.policy.plan.verify import well_for_s
from accelwatch.remediation.policy.state.model import Remedy, Verification
from accelwatch.remediation.policy.state.node_tests import MOST_RESULTS, VerificationResult
from accelwatch.remediation.policy.state.pursued import Pursued

replace = msgspec.structs.replace


def start_verifying(transition: Transition) -> Remedy:
    """From now on, and for this boot and hardware, the node has to show that it is well."""
    status = transition.ctx.node_status(transition.remedy.node)
    generation = "" if status is None else status.generation
    return replace(
        transition.remedy,
        repair=replace(
            transition.remedy.repair,
            verification=Verification(since=transition.ctx.now, generation=generation),
        ),
    )


def record_unhealthy(transition: Transition) -> Remedy:
    """Some rule fires on it, though nothing that led here does."""
    return replace(
        transition.remedy,
        repair=replace(transition.remedy.repair, unfit="a rule fired on it while it was verified"),
    )


def test_passed(transition: Transition) -> Remedy:
    """An active test has passed."""
    pursued, verification = transition.event.pursued, transition.remedy.repair.verification
    if pursued is None or verification is None:
        return transition.remedy
    remedy, result = _with_result(transition, pursued)
    transition.ctx.note(remedy, f"{remedy.node} {result.text}", Loudness.NOTIFY)
    for peer in refuted(remedy, pursued.intent.test):
        text = record_blame(transition.ctx, remedy.node, peer, result)
        transition.ctx.note(remedy, text, Loudness.ALERT)
    passed = (*verification.passed, pursued.intent.test)
    return replace(
        remedy,
        repair=replace(remedy.repair, verification=replace(verification, passed=passed)),
    )


def doubt_peer(transition: Transition) -> Remedy:
    """It has failed with one peer: either may be to blame, so another peer is next."""
    pursued = transition.event.pursued
    if pursued is None:
        return transition.remedy
    remedy, result = _with_result(transition, pursued)
    transition.ctx.note(remedy, f"{result.text}; another peer takes part next", Loudness.NOTIFY)
    return remedy


def unfit(transition: Transition) -> Remedy:
    """A test has failed, measured too little, or could not be run: its reason stays to be seen."""
    pursued = transition.event.pursued
    if pursued is None:
        return replace(transition.remedy, repair=replace(transition.remedy.repair, unfit="a test"))
    remedy, result = _with_result(transition, pursued)
    transition.ctx.note(remedy, result.text, Loudness.NOTIFY)
    return replace(remedy, repair=replace(remedy.repair, unfit=result.text))


def _with_result(transition: Transition, pursued: Pursued) -> tuple[Remedy, VerificationResult]:
    """The remedy with what a test has shown as evidence, which also the next tests are judged by."""
    remedy = transition.remedy
    result = result_of(transition.ctx, remedy.node, pursued)
    record(transition.ctx, remedy.node, pursued, result)
    results = (*remedy.repair.results, result)[-MOST_RESULTS:]
    return replace(remedy, repair=replace(remedy.repair, results=results)), result


def notify_verified(transition: Transition) -> Remedy:
    """It has shown that it is well, and may be given back."""
    node, vouched = transition.remedy.node, transition.remedy.approval.vouched
    if vouched:
        text = f"{node} is healthy, as {vouched} says, and fresh data confirm it"
    else:
        text = (
            f"{node} is healthy: no fault for {well_for_s(transition.ctx, transition.remedy):.0f} s"
        )
    transition.ctx.note(transition.remedy, text, Loudness.NOTIFY)
    return transition.remedy
