"""Effects: what rows of the table do about a node's jobs, and the spare that they move to."""

import msgspec

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.intent import JobKey
from accelwatch.action.step import RefusalKind
from accelwatch.alerting.rules.document import Fence
from accelwatch.remediation.policy.conditions.scene import Scene
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.tables import ATTEMPTS
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.guards.limits import attempts
from accelwatch.remediation.policy.jobs.following import follow
from accelwatch.remediation.policy.jobs.jobs import jobs_of, next_job
from accelwatch.remediation.policy.jobs.resuming import count_resume, revert_resume
from accelwatch.remediation.policy.jobs.unfinished import finished
from accelwatch.remediation.policy.plan.spares.stand_ins import (
    drawn,
    not_drawn,
    reserve,
    without,
    works,
)
from accelwatch.remediation.policy.state.model import (
    Remedy,
)
from accelwatch.remediation.policy.state.pursued import Pursued
from accelwatch.remediation.policy.state.stage import Trigger

# Incidents whose attempts are known.
MOST_TRIED = 500
replace = msgspec.structs.replace


def resume_counted(at: Scene) -> Remedy:
    """A job is restarted elsewhere, and counts from now on."""
    job = next_job(at.ctx, at.remedy)
    if job is not None:
        count_resume(at.ctx, at.remedy, job)
    return at.remedy


def move_instead(at: Scene) -> Remedy:
    """The job's launcher has not gone on without the node: the job is moved like any other."""
    pursued = at.event.pursued
    if pursued is None or pursued.intent.job is None:
        return at.remedy
    job = pursued.intent.job
    text = f"job {job} did not continue without {at.remedy.node} and is moved"
    at.ctx.note(at.remedy, f"{text}: {pursued.text}", Loudness.NOTIFY)
    return replace(
        at.remedy, jobs=replace(at.remedy.jobs, unswapped=(*at.remedy.jobs.unswapped, job))
    )


def count_cancel(at: Scene) -> Remedy:
    """One more job is cancelled, at the pace that is allowed."""
    state, _ = attempts.cancel(at.ctx.state.attempts, at.ctx.now, at.ctx.settings.budget)
    at.ctx.set(ATTEMPTS, state)
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
    pursued = at.event.pursued
    return at.remedy if pursued is None else not_drawn(at.ctx, at.remedy, pursued)


def move_again(at: Scene) -> Remedy:
    """A move was cancelled: its job is moved when that may be, also one that has left the node."""
    job = None if at.event.pursued is None else at.event.pursued.intent.job
    if job is None or job in (*at.remedy.jobs.handled, *at.remedy.jobs.lost):
        return at.remedy
    revert_resume(at.ctx, job)
    return replace(
        at.remedy, jobs=replace(at.remedy.jobs, stranded=_with(at.remedy.jobs.stranded, job))
    )


def fenced(at: Scene) -> Remedy:
    """Nothing of what ran on the node runs any more; what stood there before us is kept."""
    pursued, quarantine = at.event.pursued, at.remedy.hold
    if pursued is not None and quarantine is not None:
        quarantine = replace(quarantine, original={**pursued.original, **quarantine.original})
    return replace(
        at.remedy, jobs=replace(at.remedy.jobs, fenced=True, fence_first=False), hold=quarantine
    )


def job_done(at: Scene) -> Remedy:
    """A job was asked for a checkpoint, or runs elsewhere."""
    pursued = at.event.pursued
    if pursued is not None and pursued.intent.kind is Kind.DRAW_SPARE:
        return works(at.ctx, at.remedy, pursued.intent.spare)
    if pursued is None or pursued.intent.job is None:
        return at.remedy
    job = pursued.intent.job
    if pursued.intent.kind is Kind.SIGNAL_JOB:
        return replace(
            at.remedy,
            jobs=replace(
                at.remedy.jobs, signalled=(*at.remedy.jobs.signalled, job), signalled_at=at.ctx.now
            ),
        )
    if pursued.intent.kind is Kind.FOLLOW_JOB:
        return replace(
            at.remedy, jobs=replace(at.remedy.jobs, looked_for=(*at.remedy.jobs.looked_for, job))
        )
    if pursued.intent.kind is Kind.SWAP_IN_JOB:
        text = f"job {job} continues without {at.remedy.node} and holds it until the job ends"
        at.ctx.note(at.remedy, text, Loudness.NOTIFY)
        return replace(
            at.remedy, jobs=replace(at.remedy.jobs, handled=(*at.remedy.jobs.handled, job))
        )
    if pursued.intent.kind is Kind.CANCEL_JOB:
        at.ctx.note(at.remedy, f"job {job} was cancelled, as the rule requires", Loudness.NOTIFY)
        return replace(
            at.remedy, jobs=replace(at.remedy.jobs, handled=(*at.remedy.jobs.handled, job))
        )
    if pursued.intent.kind is not Kind.MOVE_JOB:
        return at.remedy
    if at.event.trigger is Trigger.ACHIEVED and pursued.moved_to:
        at.ctx.note(at.remedy, f"job {job} runs on {','.join(pursued.moved_to)}", Loudness.NOTIFY)
    # What a move has changed is given back with the node, not when the job has run for a while.
    run = replace(pursued, intent=replace(pursued.intent, revive=False))
    follow(at.ctx, at.remedy.node, run)
    moved = replace(pursued.intent, original=dict(pursued.original))
    return finished(
        replace(at.remedy, jobs=replace(at.remedy.jobs, handled=(*at.remedy.jobs.handled, job))),
        moved,
    )


def moved_back(at: Scene) -> Remedy:
    """A job was moved and runs on a bad node all the same."""
    where = () if at.event.pursued is None else at.event.pursued.moved_to
    text = f"a job was moved and runs on {', '.join(where) or 'unknown nodes'}"
    at.ctx.note(at.remedy, f"{text}; a person has to check it", Loudness.ALERT)
    return job_done(at)


def leave_job(at: Scene) -> Remedy:
    """A job cannot be signalled or moved: its end is waited for."""
    pursued = at.event.pursued
    if pursued is not None and pursued.intent.kind is Kind.DRAW_SPARE:
        return not_drawn(at.ctx, at.remedy, pursued)
    if pursued is None or pursued.intent.job is None:
        return at.remedy
    job = pursued.intent.job
    if pursued.intent.kind is Kind.SIGNAL_JOB:
        text = f"job {job} got no checkpoint signal before it leaves: {pursued.text}"
        at.ctx.note(at.remedy, text, Loudness.NOTIFY)
        return replace(
            at.remedy,
            jobs=replace(
                at.remedy.jobs, signalled=(*at.remedy.jobs.signalled, job), signalled_at=at.ctx.now
            ),
        )
    if _fence_first(at.remedy, pursued):
        revert_resume(at.ctx, job)
        if not at.remedy.jobs.fence_first:
            text = f"job {job} waits for a fence: {pursued.text}"
            at.ctx.note(at.remedy, text, Loudness.NOTIFY)
        return replace(
            at.remedy,
            jobs=replace(
                at.remedy.jobs, fence_first=True, stranded=_with(at.remedy.jobs.stranded, job)
            ),
        )
    what = "is not restarted" if pursued.intent.revive else "stays until it ends"
    at.ctx.note(at.remedy, f"job {job} {what}: {pursued.text}", Loudness.ALERT)
    return replace(at.remedy, jobs=replace(at.remedy.jobs, handled=(*at.remedy.jobs.handled, job)))


def _with(jobs: tuple[JobKey, ...], *more: JobKey) -> tuple[JobKey, ...]:
    return tuple(dict.fromkeys((*jobs, *more)))


def strand(at: Scene) -> Remedy:
    """A fence begins: the jobs on the node will be held, on no node, until each is moved."""
    jobs = jobs_of(at.ctx, at.remedy) or ()
    return replace(
        at.remedy, jobs=replace(at.remedy.jobs, stranded=_with(at.remedy.jobs.stranded, *jobs))
    )


def _fence_first(remedy: Remedy, pursued: Pursued) -> bool:
    """Whether a job could only not leave because its node does not answer, which a fence mends."""
    policy, observed = remedy.policy, pursued.observed
    if policy is None or policy.fence is Fence.NONE or remedy.jobs.fenced:
        return False
    node = None if observed is None else observed.node
    silent = node is not None and node.answering is False
    return silent and pursued.refusal is RefusalKind.UNSAFE
