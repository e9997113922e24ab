"""What rows of the table do about jobs, remedies, verification and repair."""

import msgspec

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.intent import JobKey
from accelwatch.action.step import RefusalKind
from accelwatch.alerting.rules.document import Fence
from accelwatch.remediation.policy.guards import attempts, breaker
from accelwatch.remediation.policy.guards.attempts import AttemptState
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.jobs.jobs import jobs_of, next_job
from accelwatch.remediation.policy.jobs.resuming import count_resume, follow, revert_resume
from accelwatch.remediation.policy.jobs.unfinished import finished
from accelwatch.remediation.policy.plan.escalation import next_escalation_step as rung_of
from accelwatch.remediation.policy.plan.stand_ins import drawn, not_drawn, reserve, without, works
from accelwatch.remediation.policy.plan.verify import scored, well_for_s
from accelwatch.remediation.policy.state.clocks import MOST_FAILURES
from accelwatch.remediation.policy.state.model import (
    Attempt,
    Remedy,
    Verification,
)
from accelwatch.remediation.policy.state.outcome import Loudness
from accelwatch.remediation.policy.state.pursued import Pursued
from accelwatch.remediation.policy.state.score import Failing, added, tidied
from accelwatch.remediation.policy.state.stage import Trigger
from accelwatch.remediation.policy.table.conditions import Scene

MOST_TRIED = 500
"""Incidents whose attempts are known."""
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
    at.ctx.set("attempts", _bounded(attempts.tidied(started, at.ctx.now)))
    at.ctx.set("breaker", breaker.start_trial(at.ctx.state.breaker, at.remedy.incident))
    step_name = rung_of(at.remedy)
    failing = Failing.RESET if step_name == "reset" else Failing.REBOOT
    scores = tidied(at.ctx.state.scores, at.ctx.now)
    at.ctx.set("scores", added(scores, scored(at.remedy), failing, at.ctx.now))
    new_attempt = Attempt(rung=step_name, at=at.ctx.now)
    return replace(at.remedy, attempts=(*at.remedy.attempts, new_attempt))


def _bounded(state: AttemptState) -> AttemptState:
    """Without the attempts of the incidents of long ago."""
    tried = dict(list(state.tried.items())[-MOST_TRIED:])
    return replace(state, tried=tried)


def count_failure(at: Scene) -> Remedy:
    """An action has failed; enough of them open the breaker."""
    at.ctx.set("breaker", breaker.failed(at.ctx.state.breaker, at.ctx.now, at.ctx.settings.breaker))
    return at.remedy


def count_refusal(at: Scene) -> Remedy:
    """The scheduler has refused an action, which counts as one that has failed.

    What cannot be done to such a node or job was never asked of it, and counts for nothing.
    """
    pursued = at.happening.pursued
    refused = pursued is not None and pursued.refusal is RefusalKind.NOT_ALLOWED
    return count_failure(at) if refused else at.remedy


def fail(at: Scene) -> Remedy:
    """It could not be done: it is tried again later, less and less often."""
    failures = at.remedy.failures + 1
    trouble = f"{_what(at)} could not be done: {_text(at)}"
    if failures > MOST_FAILURES:
        trouble += "; it is not tried again before a person says so"
    at.ctx.note(at.remedy, trouble, Loudness.ALERT)
    return replace(at.remedy, failures=failures, came_from=at.remedy.stage, trouble=trouble)


def doubt(at: Scene) -> Remedy:
    """Nobody knows whether it was done."""
    trouble = f"{_what(at)}: it is unknown whether it was done: {_text(at)}"
    at.ctx.note(at.remedy, trouble, Loudness.ALERT)
    return replace(at.remedy, came_from=at.remedy.stage, trouble=trouble)


def _what(at: Scene) -> str:
    """`release of n3`."""
    pursued = at.happening.pursued
    kind = at.remedy.stage.value if pursued is None else pursued.intent.kind.value
    return f"{kind.replace('_', ' ')} of {at.remedy.node}"


def _text(at: Scene) -> str:
    return "" if at.happening.pursued is None else at.happening.pursued.text


def resume_counted(at: Scene) -> Remedy:
    """A job is begun again elsewhere, and counts from now on."""
    job = next_job(at.ctx, at.remedy)
    if job is not None:
        count_resume(at.ctx, at.remedy, job)
    return at.remedy


def move_instead(at: Scene) -> Remedy:
    """The job's launcher has not gone on without the node: the job is moved like any other."""
    pursued = at.happening.pursued
    if pursued is None or pursued.intent.job is None:
        return at.remedy
    job = pursued.intent.job
    text = f"job {job} did not continue without {at.remedy.node} and is moved"
    at.ctx.note(at.remedy, f"{text}: {pursued.text}", Loudness.NOTIFY)
    return replace(at.remedy, unswapped=(*at.remedy.unswapped, job))


def count_cancel(at: Scene) -> Remedy:
    """One more job is cancelled, at the pace that is allowed."""
    state, _ = attempts.cancel(at.ctx.state.attempts, at.ctx.now, at.ctx.settings.budget)
    at.ctx.set("attempts", state)
    return at.remedy


def reserve_spare(at: Scene) -> Remedy:
    """The best spare is kept for this node."""
    return reserve(at.ctx, at.remedy)


def no_spare(at: Scene) -> Remedy:
    """Nobody can stand in for it."""
    answer = drawn(at.ctx, at.remedy)[1]
    text = answer.text if isinstance(answer, Denial) else ""
    return without(at.ctx, at.remedy, text)


def drop_spare_draw(at: Scene) -> Remedy:
    """The spare that was being drawn is not drawn."""
    pursued = at.happening.pursued
    return at.remedy if pursued is None else not_drawn(at.ctx, at.remedy, pursued)


def move_again(at: Scene) -> Remedy:
    """A move was cancelled: its job is moved when that may be, also one that has left the node."""
    job = None if at.happening.pursued is None else at.happening.pursued.intent.job
    if job is None or job in (*at.remedy.handled, *at.remedy.lost):
        return at.remedy
    revert_resume(at.ctx, job)
    return replace(at.remedy, stranded=_with(at.remedy.stranded, job))


def fenced(at: Scene) -> Remedy:
    """Nothing of what ran on the node runs any more; what stood there before us is kept."""
    pursued, quarantine = at.happening.pursued, at.remedy.hold
    if pursued is not None and quarantine is not None:
        quarantine = replace(quarantine, original={**pursued.original, **quarantine.original})
    return replace(at.remedy, fenced=True, fence_first=False, hold=quarantine)


def job_done(at: Scene) -> Remedy:
    """A job was asked for a checkpoint, or runs elsewhere."""
    pursued = at.happening.pursued
    if pursued is not None and pursued.intent.kind is Kind.DRAW_SPARE:
        return works(at.ctx, at.remedy, pursued.intent.spare)
    if pursued is None or pursued.intent.job is None:
        return at.remedy
    job = pursued.intent.job
    if pursued.intent.kind is Kind.SIGNAL_JOB:
        return replace(at.remedy, signalled=(*at.remedy.signalled, job), signalled_at=at.ctx.now)
    if pursued.intent.kind is Kind.FOLLOW_JOB:
        return replace(at.remedy, looked_for=(*at.remedy.looked_for, job))
    if pursued.intent.kind is Kind.SWAP_IN_JOB:
        text = f"job {job} continues without {at.remedy.node} and holds it until the job ends"
        at.ctx.note(at.remedy, text, Loudness.NOTIFY)
        return replace(at.remedy, handled=(*at.remedy.handled, job))
    if pursued.intent.kind is Kind.CANCEL_JOB:
        at.ctx.note(at.remedy, f"job {job} was cancelled, as the rule wants", Loudness.NOTIFY)
        return replace(at.remedy, handled=(*at.remedy.handled, job))
    if pursued.intent.kind is not Kind.MOVE_JOB:
        return at.remedy
    if at.happening.trigger is Trigger.ACHIEVED and pursued.moved_to:
        at.ctx.note(at.remedy, f"job {job} runs on {','.join(pursued.moved_to)}", Loudness.NOTIFY)
    # What a move has changed is given back with the node, not when the job has run for a while.
    run = replace(pursued, intent=replace(pursued.intent, revive=False))
    follow(at.ctx, at.remedy.node, run)
    moved = replace(pursued.intent, original=dict(pursued.original))
    return finished(replace(at.remedy, handled=(*at.remedy.handled, job)), moved)


def moved_back(at: Scene) -> Remedy:
    """A job was moved and runs on a bad node all the same."""
    where = () if at.happening.pursued is None else at.happening.pursued.moved_to
    text = f"a job was moved and runs on {', '.join(where) or 'unknown nodes'}"
    at.ctx.note(at.remedy, f"{text}; a person has to look at it", Loudness.ALERT)
    return job_done(at)


def leave_job(at: Scene) -> Remedy:
    """A job cannot be signalled or moved: its end is waited for."""
    pursued = at.happening.pursued
    if pursued is not None and pursued.intent.kind is Kind.DRAW_SPARE:
        return not_drawn(at.ctx, at.remedy, pursued)
    if pursued is None or pursued.intent.job is None:
        return at.remedy
    job = pursued.intent.job
    if pursued.intent.kind is Kind.SIGNAL_JOB:
        text = f"job {job} got no checkpoint signal before it leaves: {pursued.text}"
        at.ctx.note(at.remedy, text, Loudness.NOTIFY)
        return replace(at.remedy, signalled=(*at.remedy.signalled, job), signalled_at=at.ctx.now)
    if _fence_first(at.remedy, pursued):
        revert_resume(at.ctx, job)
        if not at.remedy.fence_first:
            text = f"job {job} waits for a fence: {pursued.text}"
            at.ctx.note(at.remedy, text, Loudness.NOTIFY)
        return replace(at.remedy, fence_first=True, stranded=_with(at.remedy.stranded, job))
    what = "is not begun again" if pursued.intent.revive else "stays until it ends"
    at.ctx.note(at.remedy, f"job {job} {what}: {pursued.text}", Loudness.ALERT)
    return replace(at.remedy, handled=(*at.remedy.handled, job))


def _with(jobs: tuple[JobKey, ...], *more: JobKey) -> tuple[JobKey, ...]:
    return tuple(dict.fromkeys((*jobs, *more)))


def strand(at: Scene) -> Remedy:
    """A fence begins: the jobs on the node will be held, on no node, until each is moved."""
    jobs = jobs_of(at.ctx, at.remedy) or ()
    return replace(at.remedy, stranded=_with(at.remedy.stranded, *jobs))


def _fence_first(remedy: Remedy, pursued: Pursued) -> bool:
    """Whether a job could only not leave because its node does not answer, which a fence mends."""
    policy, observed = remedy.policy, pursued.observed
    if policy is None or policy.fence is Fence.NONE or remedy.fenced:
        return False
    node = None if observed is None else observed.node
    silent = node is not None and node.answering is False
    return silent and pursued.refusal is RefusalKind.UNSAFE


def record_repair(at: Scene) -> Remedy:
    """A remedy was done: what spoke against the node besides its cases has to be seen anew."""
    return replace(at.remedy, unfit="", fenced=False)


def start_verifying(at: Scene) -> Remedy:
    """From now on, and for this boot and hardware, the node has to show that it is well."""
    status = at.ctx.node_status(at.remedy.node)
    generation = "" if status is None else status.generation
    return replace(at.remedy, verification=Verification(since=at.ctx.now, generation=generation))


def record_unhealthy(at: Scene) -> Remedy:
    """Some rule fires on it, though nothing that led here does."""
    return replace(at.remedy, unfit="a rule fired on it while it was verified")


def test_passed(at: Scene) -> Remedy:
    """An active test has passed."""
    pursued, verification = at.happening.pursued, at.remedy.verification
    if pursued is None or verification is None:
        return at.remedy
    return replace(
        at.remedy,
        verification=replace(verification, passed=(*verification.passed, pursued.intent.test)),
    )


def unfit(at: Scene) -> Remedy:
    """An active test has failed, or could not be run: its reason stays to be seen."""
    pursued = at.happening.pursued
    if pursued is None:
        return replace(at.remedy, unfit="a test")
    test, text = pursued.intent.test, pursued.text
    if pursued.refusal is RefusalKind.UNFIT:
        at.ctx.note(at.remedy, f"failed test {test}: {text}", Loudness.NOTIFY)
        return replace(at.remedy, unfit=f"test {test}: {text}")
    unfit = f"test {test} could not be run: {text}"
    at.ctx.note(at.remedy, unfit, Loudness.NOTIFY)
    return replace(at.remedy, unfit=unfit)


def notify_verified(at: Scene) -> Remedy:
    """It has shown that it is well, and may be given back."""
    node, vouched = at.remedy.node, at.remedy.vouched
    if vouched:
        text = f"{node} is well, as {vouched} says, and is seen to be so now"
    else:
        text = f"{node} is well: it has looked so for {well_for_s(at.ctx, at.remedy):.0f} s on end"
    at.ctx.note(at.remedy, text, Loudness.NOTIFY)
    return at.remedy


def count_release(at: Scene) -> Remedy:
    """One more node is given back, at the pace that is allowed."""
    if not at.remedy.forced:
        state, _ = attempts.release(at.ctx.state.attempts, at.ctx.now, at.ctx.settings.budget)
        at.ctx.set("attempts", state)
    return at.remedy


def ticketed(at: Scene) -> Remedy:
    """Somebody was asked to repair it."""
    return replace(at.remedy, ticketed=True)


def ticket_failed(at: Scene) -> Remedy:
    """Nobody was told by the way that is meant for it."""
    why = f": {_text(at)}" if _text(at) else ""
    text = f"{at.remedy.node} needs a repair; the ticket was not taken{why}"
    at.ctx.note(at.remedy, text, Loudness.ALERT)
    return replace(at.remedy, ticketed=True, pursuing=None, cancelling=False)


def fit(at: Scene) -> Remedy:
    """What was seen before of its tests counts no more."""
    return replace(at.remedy, unfit="", ticketed=False, left_out=())


def swap(at: Scene) -> Remedy:
    """Other hardware is in the node: what is wrong with the old one is not wrong with it."""
    status = at.ctx.node_status(at.remedy.node)
    serials = {} if status is None else dict(status.serials)
    present = frozenset(serials.values())
    left = tuple(case for case in at.remedy.cases if not case.serial or case.serial in present)
    at.ctx.note(
        at.remedy, f"other hardware is in {at.remedy.node}; it is verified", Loudness.NOTIFY
    )
    return replace(at.remedy, serials=serials, cases=left, rung=0, attempts=(), left_out=())
