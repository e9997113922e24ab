"""Conditions: which of a node's jobs is next, and what the end of an intent on a job means."""

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import JobState
from accelwatch.action.step import RefusalKind
from accelwatch.remediation.policy.conditions.scene import Situation
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.jobs import jobs
from accelwatch.remediation.policy.jobs.avoiding import as_of_now
from accelwatch.remediation.policy.plan.gates import first_denial
from accelwatch.remediation.policy.plan.spares.stand_ins import (
    drawn,
    may_request_spare,
    needs_spare,
)
from accelwatch.remediation.policy.state.pursued import Pursued


def must_fence(at: Situation) -> bool:
    """Jobs would go on elsewhere while their old copy may still run."""
    return jobs.must_fence(at.ctx, at.remedy)


def jobs_wait(at: Situation) -> bool:
    """Jobs are there about which something is to be done or waited for, without a fence."""
    waiting = jobs.jobs_waiting(at.ctx, at.remedy) and not must_fence(at)
    return waiting or check_next(at)


def drained(at: Situation) -> bool:
    """It is known that no job of the node is to be looked after any more."""
    return jobs.is_drained(at.ctx, at.remedy) and not check_next(at)


def empty(at: Situation) -> bool:
    """No job is on the node, as was seen just now."""
    return jobs.is_empty(at.ctx, at.remedy)


def check_next(at: Situation) -> bool:
    """A job is to be looked for that may have died of the node, and could be begun again."""
    if not jobs.departed_jobs(at.ctx, at.remedy):
        return False
    return first_denial(at.ctx, at.remedy, Kind.MOVE_JOB) is None


def swap_next(at: Situation) -> bool:
    """A job's own launcher is to go on without the node."""
    return jobs.next_swap(at.ctx, at.remedy) is not None


def signal_next(at: Situation) -> bool:
    """A job is to be asked for a checkpoint before it leaves."""
    return jobs.next_signal(at.ctx, at.remedy) is not None


def spare_next(at: Situation) -> bool:
    """A job is to be moved, and a spare is to stand in for the node first."""
    if jobs.cancels(at.remedy) or jobs.next_job(at.ctx, at.remedy) is None:
        return False
    return needs_spare(at.ctx, at.remedy)


def has_spare(at: Situation) -> bool:
    """A spare can stand in for the node."""
    return not no_spare(at)


def no_spare(at: Situation) -> bool:
    """No spare can stand in for the node."""
    return isinstance(drawn(at.ctx, at.remedy)[1], Denial)


def spare_for_move(at: Situation) -> bool:
    """A spare can be drawn by now for a job whose move was begun without one."""
    remedy, policy = at.remedy, at.remedy.policy
    if remedy.pursued_kind is not Kind.MOVE_JOB or policy is None or not policy.draw_spare:
        return False
    return not (remedy.jobs.spare or remedy.cancelling) and may_request_spare(at.ctx, remedy)


def move_next(at: Situation) -> bool:
    """A job has to be moved now."""
    return not jobs.cancels(at.remedy) and _leave_next(at)


def cancel_next(at: Situation) -> bool:
    """A job has to be cancelled now."""
    return jobs.cancels(at.remedy) and _leave_next(at)


def _leave_next(at: Situation) -> bool:
    """Whether a job has to leave now: it was asked for a checkpoint, and had the time for it."""
    ctx, remedy = at.ctx, at.remedy
    if jobs.next_job(ctx, remedy) is None or jobs.next_signal(ctx, remedy) is not None:
        return False
    grace = 0.0 if remedy.policy is None else remedy.policy.grace_s
    return remedy.jobs.signalled_at is None or ctx.now >= remedy.jobs.signalled_at + grace


def move_has_left(at: Situation) -> bool:
    """Nothing is on the node any more, and only a job that waits elsewhere is in flight."""
    moving = at.remedy.pursued_kind is Kind.MOVE_JOB and not at.remedy.cancelling
    return moving and empty(at)


def job_waits(at: Situation) -> bool:
    """A move ends with its job in the queue: nothing has failed, it waits for nodes."""
    pursued = at.event.pursued
    if pursued is None or pursued.intent.kind is not Kind.MOVE_JOB or pursued.observed is None:
        return False
    job = pursued.observed.job
    return job is not None and job.state in (JobState.WAITING, JobState.HELD)


def moved_back(at: Situation) -> bool:
    """A job was moved, and runs on a bad node all the same, or nobody knows where."""
    pursued = at.event.pursued
    if pursued is None or pursued.intent.kind is not Kind.MOVE_JOB:
        return False
    # What has gone bad since is moved by its own remedy, and what is well by now may be used.
    now = as_of_now(at.ctx.state, pursued.intent, at.ctx.now)
    bad = set(pursued.intent.avoided) & set(now.avoided)
    return not pursued.moved_to or not bad.isdisjoint(pursued.moved_to)


def died(at: Situation) -> bool:
    """The job of a look or move has died by itself before anything was done to it."""
    return died_before(at.event.pursued)


def died_before(pursued: Pursued | None) -> bool:
    """Whether the job of a look or move has died by itself before anything was done to it."""
    if pursued is None or pursued.observed is None or pursued.observed.job is None:
        return False
    if pursued.intent.kind is Kind.FOLLOW_JOB:
        return pursued.refusal is RefusalKind.DIED
    dead = pursued.observed.job.state is JobState.FINISHED and pursued.observed.job.failed
    return dead and pursued.intent.kind is Kind.MOVE_JOB and not pursued.intent.revive


def of_check(at: Situation) -> bool:
    """What has ended is a look at how a job has ended."""
    return at.event.pursued_kind is Kind.FOLLOW_JOB


def of_swap(at: Situation) -> bool:
    """What has ended is a swap inside a job."""
    return at.event.pursued_kind is Kind.SWAP_IN_JOB


def of_spare(at: Situation) -> bool:
    """What has ended is the draw of a spare."""
    return at.event.pursued_kind is Kind.DRAW_SPARE


def of_move(at: Situation) -> bool:
    """What has ended is the move of a job."""
    return at.event.pursued_kind is Kind.MOVE_JOB
