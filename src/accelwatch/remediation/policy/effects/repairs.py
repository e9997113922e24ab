"""Effects: what rows of the table do about attempts, verification, failures and tickets."""

import msgspec

from accelwatch.action.step import RefusalKind
from accelwatch.remediation.policy.conditions.scene import Scene
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.tables import ATTEMPTS, BREAKER, SCORES
from accelwatch.remediation.policy.guards.limits import attempts, breaker
from accelwatch.remediation.policy.guards.limits.attempts import AttemptState
from accelwatch.remediation.policy.plan.escalation import next_escalation_step as rung_of
from accelwatch.remediation.policy.plan.verify import scored, well_for_s
from accelwatch.remediation.policy.state.clocks import MOST_FAILURES
from accelwatch.remediation.policy.state.model import (
    Attempt,
    Remedy,
    Verification,
)
from accelwatch.remediation.policy.state.score import Failing, added, tidied

# Incidents whose attempts are known.
MOST_TRIED = 500
replace = msgspec.structs.replace


def attempt(at: Scene) -> Remedy:
    """One more remedy is begun, and counts from now on."""
    started, _ = attempts.start(
        at.ctx.state.attempts,
        at.ctx.failure_domain(at.remedy),
        at.remedy.incident,
        at.ctx.now,
        at.ctx.settings.budget,
    )
    at.ctx.set(ATTEMPTS, _bounded(attempts.tidied(started, at.ctx.now)))
    at.ctx.set(BREAKER, breaker.start_trial(at.ctx.state.breaker, at.remedy.incident))
    step_name = rung_of(at.remedy)
    failing = Failing.RESET if step_name == "reset" else Failing.REBOOT
    scores = tidied(at.ctx.state.scores, at.ctx.now)
    at.ctx.set(SCORES, added(scores, scored(at.remedy), failing, at.ctx.now))
    new_attempt = Attempt(rung=step_name, at=at.ctx.now)
    return replace(
        at.remedy,
        repair=replace(at.remedy.repair, attempts=(*at.remedy.repair.attempts, new_attempt)),
    )


def _bounded(state: AttemptState) -> AttemptState:
    """Without the attempts of the incidents of long ago."""
    tried = dict(list(state.tried.items())[-MOST_TRIED:])
    return replace(state, tried=tried)


def count_failure(at: Scene) -> Remedy:
    """An action has failed; enough of them open the breaker."""
    at.ctx.set(BREAKER, breaker.failed(at.ctx.state.breaker, at.ctx.now, at.ctx.settings.breaker))
    return at.remedy


def count_refusal(at: Scene) -> Remedy:
    """The scheduler has refused an action, which counts as one that has failed.

    What cannot be done to such a node or job was never asked of it, and counts for nothing.
    """
    pursued = at.event.pursued
    refused = pursued is not None and pursued.refusal is RefusalKind.NOT_ALLOWED
    return count_failure(at) if refused else at.remedy


def fail(at: Scene) -> Remedy:
    """It could not be done: it is tried again later, less and less often."""
    failures = at.remedy.failures + 1
    trouble = f"{_what(at)} could not be done: {_text(at)}"
    if failures > MOST_FAILURES:
        trouble += "; it is not retried until a person says so"
    at.ctx.note(at.remedy, trouble, Loudness.ALERT)
    return replace(at.remedy, failures=failures, came_from=at.remedy.stage, trouble=trouble)


def doubt(at: Scene) -> Remedy:
    """Nobody knows whether it was done."""
    trouble = f"{_what(at)}: it is unknown whether it was done: {_text(at)}"
    at.ctx.note(at.remedy, trouble, Loudness.ALERT)
    return replace(at.remedy, came_from=at.remedy.stage, trouble=trouble)


def _what(at: Scene) -> str:
    """`release of n3`."""
    pursued = at.event.pursued
    kind = at.remedy.stage.value if pursued is None else pursued.intent.kind.value
    return f"{kind.replace('_', ' ')} of {at.remedy.node}"


def _text(at: Scene) -> str:
    return "" if at.event.pursued is None else at.event.pursued.text


def record_repair(at: Scene) -> Remedy:
    """A remedy was done: what spoke against the node besides its cases has to be seen anew."""
    return replace(
        at.remedy,
        repair=replace(at.remedy.repair, unfit=""),
        jobs=replace(at.remedy.jobs, fenced=False),
    )


def start_verifying(at: Scene) -> Remedy:
    """From now on, and for this boot and hardware, the node has to show that it is well."""
    status = at.ctx.node_status(at.remedy.node)
    generation = "" if status is None else status.generation
    return replace(
        at.remedy,
        repair=replace(
            at.remedy.repair, verification=Verification(since=at.ctx.now, generation=generation)
        ),
    )


def record_unhealthy(at: Scene) -> Remedy:
    """Some rule fires on it, though nothing that led here does."""
    return replace(
        at.remedy,
        repair=replace(at.remedy.repair, unfit="a rule fired on it while it was verified"),
    )


def test_passed(at: Scene) -> Remedy:
    """An active test has passed."""
    pursued, verification = at.event.pursued, at.remedy.repair.verification
    if pursued is None or verification is None:
        return at.remedy
    return replace(
        at.remedy,
        repair=replace(
            at.remedy.repair,
            verification=replace(verification, passed=(*verification.passed, pursued.intent.test)),
        ),
    )


def unfit(at: Scene) -> Remedy:
    """An active test has failed, or could not be run: its reason stays to be seen."""
    pursued = at.event.pursued
    if pursued is None:
        return replace(at.remedy, repair=replace(at.remedy.repair, unfit="a test"))
    test, text = pursued.intent.test, pursued.text
    if pursued.refusal is RefusalKind.UNFIT:
        at.ctx.note(at.remedy, f"failed test {test}: {text}", Loudness.NOTIFY)
        return replace(at.remedy, repair=replace(at.remedy.repair, unfit=f"test {test}: {text}"))
    unfit = f"test {test} could not be run: {text}"
    at.ctx.note(at.remedy, unfit, Loudness.NOTIFY)
    return replace(at.remedy, repair=replace(at.remedy.repair, unfit=unfit))


def notify_verified(at: Scene) -> Remedy:
    """It has shown that it is well, and may be given back."""
    node, vouched = at.remedy.node, at.remedy.approval.vouched
    if vouched:
        text = f"{node} is healthy, as {vouched} says, and fresh data confirm it"
    else:
        text = f"{node} is healthy: no fault for {well_for_s(at.ctx, at.remedy):.0f} s"
    at.ctx.note(at.remedy, text, Loudness.NOTIFY)
    return at.remedy


def count_release(at: Scene) -> Remedy:
    """One more node is given back, at the pace that is allowed."""
    if not at.remedy.approval.forced:
        state, _ = attempts.release(at.ctx.state.attempts, at.ctx.now, at.ctx.settings.budget)
        at.ctx.set(ATTEMPTS, state)
    return at.remedy


def ticketed(at: Scene) -> Remedy:
    """Somebody was asked to repair it."""
    return replace(at.remedy, repair=replace(at.remedy.repair, ticketed=True))


def ticket_failed(at: Scene) -> Remedy:
    """Nobody was told by the way that is meant for it."""
    why = f": {_text(at)}" if _text(at) else ""
    text = f"{at.remedy.node} needs a repair; the ticket was not taken{why}"
    at.ctx.note(at.remedy, text, Loudness.ALERT)
    return replace(
        at.remedy, repair=replace(at.remedy.repair, ticketed=True), pursuing=None, cancelling=False
    )


def fit(at: Scene) -> Remedy:
    """What was seen before of its tests counts no more."""
    return replace(
        at.remedy, repair=replace(at.remedy.repair, unfit="", ticketed=False, left_out=())
    )


def swap(at: Scene) -> Remedy:
    """Other hardware is in the node: what is wrong with the old one is not wrong with it."""
    status = at.ctx.node_status(at.remedy.node)
    serials = {} if status is None else dict(status.serials)
    present = frozenset(serials.values())
    left = tuple(case for case in at.remedy.cases if not case.serial or case.serial in present)
    at.ctx.note(
        at.remedy, f"other hardware is in {at.remedy.node}; it is verified", Loudness.NOTIFY
    )
    return replace(
        at.remedy,
        repair=replace(at.remedy.repair, serials=serials, rung=0, attempts=(), left_out=()),
        cases=left,
    )
