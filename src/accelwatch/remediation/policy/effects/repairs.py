"""Effects: what rows of the table do about attempts, failures, releases and tickets."""

import msgspec

from accelwatch.action.step import RefusalKind
from accelwatch.remediation.policy.conditions.transition import Transition
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.tables import ATTEMPTS, BREAKER, SCORES
from accelwatch.remediation.policy.guards.limits import attempts, breaker
from accelwatch.remediation.policy.guards.limits.attempts import AttemptState
from accelwatch.remediation.policy.plan.escalation import next_escalation_step
from accelwatch.remediation.policy.plan.verify import scored
from accelwatch.remediation.policy.state.clocks import MOST_FAILURES
from accelwatch.remediation.policy.state.model import Attempt, Remedy
from accelwatch.remediation.policy.state.score import Failing, added, tidied

# Incidents whose attempts are known.
MOST_TRIED = 500
replace = msgspec.structs.replace


def attempt(transition: Transition) -> Remedy:
    """One more remedy starts, and counts from now on."""
    started, _ = attempts.start(
        transition.ctx.state.attempts,
        transition.ctx.failure_domain(transition.remedy),
        transition.remedy.incident,
        transition.ctx.now,
        transition.ctx.settings.budget,
    )
    transition.ctx.set(ATTEMPTS, _bounded(attempts.tidied(started, transition.ctx.now)))
    transition.ctx.set(
        BREAKER, breaker.start_trial(transition.ctx.state.breaker, transition.remedy.incident)
    )
    step_name = next_escalation_step(transition.remedy)
    failing = Failing.RESET if step_name == "reset" else Failing.REBOOT
    scores = tidied(transition.ctx.state.scores, transition.ctx.now)
    transition.ctx.set(
        SCORES, added(scores, scored(transition.remedy), failing, transition.ctx.now)
    )
    new_attempt = Attempt(rung=step_name, at=transition.ctx.now)
    return replace(
        transition.remedy,
        repair=replace(
            transition.remedy.repair, attempts=(*transition.remedy.repair.attempts, new_attempt)
        ),
    )


def _bounded(state: AttemptState) -> AttemptState:
    """Without the attempts of the incidents of long ago."""
    tried = dict(list(state.tried.items())[-MOST_TRIED:])
    return replace(state, tried=tried)


def count_failure(transition: Transition) -> Remedy:
    """An action has failed; enough of them open the breaker."""
    transition.ctx.set(
        BREAKER,
        breaker.failed(
            transition.ctx.state.breaker, transition.ctx.now, transition.ctx.settings.breaker
        ),
    )
    return transition.remedy


def count_refusal(transition: Transition) -> Remedy:
    """The scheduler has refused an action, which counts as one that has failed.

    A request that is impossible for such a node or job was never sent, and does not count.
    """
    pursued = transition.event.pursued
    refused = pursued is not None and pursued.refusal is RefusalKind.NOT_ALLOWED
    return count_failure(transition) if refused else transition.remedy


def fail(transition: Transition) -> Remedy:
    """It could not be done: it is tried again later, less and less often."""
    failures = transition.remedy.failures + 1
    trouble = f"{_what(transition)} could not be done: {_text(transition)}"
    if failures > MOST_FAILURES:
        trouble += "; it is not retried until a person says so"
    transition.ctx.note(transition.remedy, trouble, Loudness.ALERT)
    return replace(
        transition.remedy, failures=failures, came_from=transition.remedy.stage, trouble=trouble
    )


def doubt(transition: Transition) -> Remedy:
    """Nobody knows whether it was done."""
    trouble = f"{_what(transition)}: it is unknown whether it was done: {_text(transition)}"
    transition.ctx.note(transition.remedy, trouble, Loudness.ALERT)
    return replace(transition.remedy, came_from=transition.remedy.stage, trouble=trouble)


def _what(transition: Transition) -> str:
    """`release of n3`."""
    pursued = transition.event.pursued
    kind = transition.remedy.stage.value if pursued is None else pursued.intent.kind.value
    return f"{kind.replace('_', ' ')} of {transition.remedy.node}"


def _text(transition: Transition) -> str:
    return "" if transition.event.pursued is None else transition.event.pursued.text


def record_repair(transition: Transition) -> Remedy:
    """A remedy was done: other evidence against the node must be observed again to count."""
    return replace(
        transition.remedy,
        repair=replace(transition.remedy.repair, unfit=""),
        jobs=replace(transition.remedy.jobs, fenced=False),
    )


def count_release(transition: Transition) -> Remedy:
    """One more node is given back, at the pace that is allowed."""
    if not transition.remedy.approval.forced:
        state, _ = attempts.release(
            transition.ctx.state.attempts, transition.ctx.now, transition.ctx.settings.budget
        )
        transition.ctx.set(ATTEMPTS, state)
    return transition.remedy


def ticketed(transition: Transition) -> Remedy:
    """A ticket for its repair was opened."""
    return replace(transition.remedy, repair=replace(transition.remedy.repair, ticketed=True))


def ticket_failed(transition: Transition) -> Remedy:
    """The ticket could not be opened."""
    why = f": {_text(transition)}" if _text(transition) else ""
    text = f"{transition.remedy.node} needs a repair; the ticket was not taken{why}"
    transition.ctx.note(transition.remedy, text, Loudness.ALERT)
    return replace(
        transition.remedy,
        repair=replace(transition.remedy.repair, ticketed=True),
        pursuing=None,
        cancelling=False,
    )


def fit(transition: Transition) -> Remedy:
    """What was seen before of its tests counts no more."""
    return replace(
        transition.remedy,
        repair=replace(transition.remedy.repair, unfit="", ticketed=False, left_out=()),
    )


def swap(transition: Transition) -> Remedy:
    """Other hardware is in the node: what is wrong with the old one is not wrong with it."""
    status = transition.ctx.node_status(transition.remedy.node)
    serials = {} if status is None else dict(status.serials)
    present = frozenset(serials.values())
    left = tuple(
        case for case in transition.remedy.cases if not case.serial or case.serial in present
    )
    transition.ctx.note(
        transition.remedy,
        f"other hardware is in {transition.remedy.node}; it is verified",
        Loudness.NOTIFY,
    )
    return replace(
        transition.remedy,
        repair=replace(transition.remedy.repair, serials=serials, rung=0, attempts=(), left_out=()),
        cases=left,
    )
