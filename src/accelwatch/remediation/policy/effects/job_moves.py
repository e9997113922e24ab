"""Effects: what rows of the table do about a node's jobs, and the spare that they move to."""

import msgspec

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.intent import JobKey
from accelwatch.action.step import RefusalKind
from accelwatch.alerting.rules.document import Fence
from accelwatch.remediation.policy.conditions.transition import Transition
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.tables import ATTEMPTS
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.guards.limits import attempts
from accelwatch.remediation.policy.jobs.following import follow
from accelwatch.remediation.policy.jobs.jobs import jobs_of, next_job
from accelwatch.remediation.policy.jobs.resuming import count_resume, revert_resume
from accelwatch.remediation.policy.jobs.unfinished import finished
from accelwatch.remediation.policy.plan.spares.candidates import drawn
from accelwatch.remediation.policy.plan.spares.stand_ins import (
    activate_spare,
    not_drawn,
    reserve,
    without,
)
from accelwatch.remediation.policy.state.model import (
    Remedy,
)
from accelwatch.remediation.policy.state.pursued import Pursued
from accelwatch.remediation.policy.state.stage import Trigger

# Incidents whose attempts are known.
MOST_TRIED = 500
replace = msgspec.structs.replace


def resume_counted(transition: Transition) -> Remedy:
    """A job is restarted elsewhere, and counts from now on."""
    job = next_job(transition.ctx, transition.remedy)
    if job is not None:
        count_resume(transition.ctx, transition.remedy, job)
    return transition.remedy


def move_instead(transition: Transition) -> Remedy:
    """The job's launcher has not gone on without the node: the job is moved like any other."""
    pursued = transition.event.pursued
    if pursued is None or pursued.intent.job is None:
        return transition.remedy
    job = pursued.intent.job
    text = f"job {job} did not continue without {transition.remedy.node} and is moved"
    transition.ctx.note(transition.remedy, f"{text}: {pursued.text}", Loudness.NOTIFY)
    return replace(
        transition.remedy,
        jobs=replace(transition.remedy.jobs, unswapped=(*transition.remedy.jobs.unswapped, job)),
    )


def count_cancel(transition: Transition) -> Remedy:
    """One more job is cancelled, at the pace that is allowed."""
    state, _ = attempts.cancel(
        transition.ctx.state.attempts, transition.ctx.now, transition.ctx.settings.budget
    )
    transition.ctx.set(ATTEMPTS, state)
    return transition.remedy


def reserve_spare(transition: Transition) -> Remedy:
    """The best spare is kept for this node."""
    return reserve(transition.ctx, transition.remedy)


def no_spare(transition: Transition) -> Remedy:
    """Nobody can stand in for it."""
    answer = drawn(transition.ctx, transition.remedy)[1]
    text = answer.text if isinstance(answer, Denial) else ""
    return without(transition.ctx, transition.remedy, text)


def drop_spare_draw(transition: Transition) -> Remedy:
    """The spare that was being drawn is not drawn."""
    pursued = transition.event.pursued
    return (
        transition.remedy
        if pursued is None
        else not_drawn(transition.ctx, transition.remedy, pursued)
    )


def move_again(transition: Transition) -> Remedy:
    """A move was cancelled: its job is moved when that may be, also one that has left the node."""
    job = None if transition.event.pursued is None else transition.event.pursued.intent.job
    if job is None or job in (*transition.remedy.jobs.handled, *transition.remedy.jobs.lost):
        return transition.remedy
    revert_resume(transition.ctx, job)
    return replace(
        transition.remedy,
        jobs=replace(transition.remedy.jobs, stranded=_with(transition.remedy.jobs.stranded, job)),
    )


def fenced(transition: Transition) -> Remedy:
    """Nothing of what ran on the node runs any more; what stood there before us is kept."""
    pursued, quarantine = transition.event.pursued, transition.remedy.hold
    if pursued is not None and quarantine is not None:
        quarantine = replace(quarantine, original={**pursued.original, **quarantine.original})
    return replace(
        transition.remedy,
        jobs=replace(transition.remedy.jobs, fenced=True, fence_first=False),
        hold=quarantine,
    )


def record_job_result(transition: Transition) -> Remedy:
    """A job was signalled to write a checkpoint, or runs elsewhere."""
    pursued = transition.event.pursued
    if pursued is not None and pursued.intent.kind is Kind.DRAW_SPARE:
        return activate_spare(transition.ctx, transition.remedy, pursued)
    if pursued is None or pursued.intent.job is None:
        return transition.remedy
    job = pursued.intent.job
    if pursued.intent.kind is Kind.SIGNAL_JOB:
        return replace(
            transition.remedy,
            jobs=replace(
                transition.remedy.jobs,
                signalled=(*transition.remedy.jobs.signalled, job),
                signalled_at=transition.ctx.now,
            ),
        )
    if pursued.intent.kind is Kind.FOLLOW_JOB:
        return replace(
            transition.remedy,
            jobs=replace(
                transition.remedy.jobs, looked_for=(*transition.remedy.jobs.looked_for, job)
            ),
        )
    if pursued.intent.kind is Kind.SWAP_IN_JOB:
        text = (
            f"job {job} continues without {transition.remedy.node} and holds it until the job ends"
        )
        transition.ctx.note(transition.remedy, text, Loudness.NOTIFY)
        return replace(
            transition.remedy,
            jobs=replace(transition.remedy.jobs, handled=(*transition.remedy.jobs.handled, job)),
        )
    if pursued.intent.kind is Kind.CANCEL_JOB:
        transition.ctx.note(
            transition.remedy, f"job {job} was cancelled, as the rule requires", Loudness.NOTIFY
        )
        return replace(
            transition.remedy,
            jobs=replace(transition.remedy.jobs, handled=(*transition.remedy.jobs.handled, job)),
        )
    if pursued.intent.kind is not Kind.MOVE_JOB:
        return transition.remedy
    if transition.event.trigger is Trigger.ACHIEVED and pursued.moved_to:
        transition.ctx.note(
            transition.remedy, f"job {job} runs on {','.join(pursued.moved_to)}", Loudness.NOTIFY
        )
    # What a move has changed is given back with the node, not when the job has run for a while.
    run = replace(pursued, intent=replace(pursued.intent, revive=False))
    follow(transition.ctx, transition.remedy.node, run)
    moved = replace(pursued.intent, original=dict(pursued.original))
    return finished(
        replace(
            transition.remedy,
            jobs=replace(transition.remedy.jobs, handled=(*transition.remedy.jobs.handled, job)),
        ),
        moved,
    )


def moved_back(transition: Transition) -> Remedy:
    """A job was moved and runs on a bad node all the same."""
    where = () if transition.event.pursued is None else transition.event.pursued.moved_to
    text = f"a job was moved and runs on {', '.join(where) or 'unknown nodes'}"
    transition.ctx.note(transition.remedy, f"{text}; a person has to check it", Loudness.ALERT)
    return record_job_result(transition)


def leave_job(transition: Transition) -> Remedy:
    """A job cannot be signalled or moved: its end is waited for."""
    pursued = transition.event.pursued
    if pursued is not None and pursued.intent.kind is Kind.DRAW_SPARE:
        return not_drawn(transition.ctx, transition.remedy, pursued)
    if pursued is None or pursued.intent.job is None:
        return transition.remedy
    job = pursued.intent.job
    if pursued.intent.kind is Kind.SIGNAL_JOB:
        text = f"job {job} got no checkpoint signal before it leaves: {pursued.text}"
        transition.ctx.note(transition.remedy, text, Loudness.NOTIFY)
        return replace(
            transition.remedy,
            jobs=replace(
                transition.remedy.jobs,
                signalled=(*transition.remedy.jobs.signalled, job),
                signalled_at=transition.ctx.now,
            ),
        )
    if _fence_first(transition.remedy, pursued):
        revert_resume(transition.ctx, job)
        if not transition.remedy.jobs.fence_first:
            text = f"job {job} waits for a fence: {pursued.text}"
            transition.ctx.note(transition.remedy, text, Loudness.NOTIFY)
        return replace(
            transition.remedy,
            jobs=replace(
                transition.remedy.jobs,
                fence_first=True,
                stranded=_with(transition.remedy.jobs.stranded, job),
            ),
        )
    what = "is not restarted" if pursued.intent.revive else "stays until it ends"
    transition.ctx.note(transition.remedy, f"job {job} {what}: {pursued.text}", Loudness.ALERT)
    return replace(
        transition.remedy,
        jobs=replace(transition.remedy.jobs, handled=(*transition.remedy.jobs.handled, job)),
    )


def _with(jobs: tuple[JobKey, ...], *more: JobKey) -> tuple[JobKey, ...]:
    return tuple(dict.fromkeys((*jobs, *more)))


def strand(transition: Transition) -> Remedy:
    """A fence begins: the jobs on the node will be held, on no node, until each is moved."""
    jobs = jobs_of(transition.ctx, transition.remedy) or ()
    return replace(
        transition.remedy,
        jobs=replace(
            transition.remedy.jobs, stranded=_with(transition.remedy.jobs.stranded, *jobs)
        ),
    )


def _fence_first(remedy: Remedy, pursued: Pursued) -> bool:
    """Whether a job could only not leave because its node does not answer, which a fence mends."""
    policy, observed = remedy.policy, pursued.observed
    if policy is None or policy.fence is Fence.NONE or remedy.jobs.fenced:
        return False
    node = None if observed is None else observed.node
    silent = node is not None and node.answering is False
    return silent and pursued.refusal is RefusalKind.UNSAFE
