"""Conditions: which of a node's jobs is next, and what the end of an intent on a job means."""

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import JobState
from accelwatch.action.step import RefusalKind
from accelwatch.remediation.policy.conditions.transition import TransitionView
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.jobs import jobs
from accelwatch.remediation.policy.jobs.avoiding import as_of_now
from accelwatch.remediation.policy.plan.gates import first_denial
from accelwatch.remediation.policy.plan.spares.candidates import drawn
from accelwatch.remediation.policy.plan.spares.stand_ins import (
    may_request_spare,
    needs_spare,
)
from accelwatch.remediation.policy.state.pursued import Pursued


def must_fence(transition: TransitionView) -> bool:
    """Jobs would go on elsewhere while their old copy may still run."""
    return jobs.must_fence(transition.ctx, transition.remedy)


def jobs_wait(transition: TransitionView) -> bool:
    """Jobs are there about which something is to be done or waited for, without a fence."""
    waiting = jobs.jobs_waiting(transition.ctx, transition.remedy) and not must_fence(transition)
    return waiting or check_next(transition)


def drained(transition: TransitionView) -> bool:
    """It is known that no job of the node is to be looked after any more."""
    return jobs.is_drained(transition.ctx, transition.remedy) and not check_next(transition)


def empty(transition: TransitionView) -> bool:
    """No job is on the node, as was seen just now."""
    return jobs.is_empty(transition.ctx, transition.remedy)


def check_next(transition: TransitionView) -> bool:
    """A job may have died of the node and could be restarted; it is to be checked."""
    if not jobs.departed_jobs(transition.ctx, transition.remedy):
        return False
    return first_denial(transition.ctx, transition.remedy, Kind.MOVE_JOB) is None


def swap_next(transition: TransitionView) -> bool:
    """A job's own launcher is to go on without the node."""
    return jobs.next_swap(transition.ctx, transition.remedy) is not None


def signal_next(transition: TransitionView) -> bool:
    """A job is to be signalled to write a checkpoint before it leaves."""
    return jobs.next_signal(transition.ctx, transition.remedy) is not None


def spare_next(transition: TransitionView) -> bool:
    """A job is to be moved, and a spare is to stand in for the node first."""
    if jobs.cancels(transition.remedy) or jobs.next_job(transition.ctx, transition.remedy) is None:
        return False
    return needs_spare(transition.ctx, transition.remedy)


def has_spare(transition: TransitionView) -> bool:
    """A spare can stand in for the node."""
    return not no_spare(transition)


def no_spare(transition: TransitionView) -> bool:
    """No spare can stand in for the node."""
    return isinstance(drawn(transition.ctx, transition.remedy)[1], Denial)


def spare_for_move(transition: TransitionView) -> bool:
    """A spare can be drawn by now for a job whose move started without one."""
    remedy, policy = transition.remedy, transition.remedy.policy
    if remedy.pursued_kind is not Kind.MOVE_JOB or policy is None or not policy.draw_spare:
        return False
    return not (remedy.jobs.spare or remedy.cancelling) and may_request_spare(
        transition.ctx, remedy
    )


def move_next(transition: TransitionView) -> bool:
    """A job has to be moved now."""
    return not jobs.cancels(transition.remedy) and _leave_next(transition)


def cancel_next(transition: TransitionView) -> bool:
    """A job has to be cancelled now."""
    return jobs.cancels(transition.remedy) and _leave_next(transition)


def _leave_next(transition: TransitionView) -> bool:
    """Whether a job has to leave now: it was signalled to write a checkpoint, and had time for it."""
    ctx, remedy = transition.ctx, transition.remedy
    if jobs.next_job(ctx, remedy) is None or jobs.next_signal(ctx, remedy) is not None:
        return False
    grace = 0.0 if remedy.policy is None else remedy.policy.grace_s
    return remedy.jobs.signalled_at is None or ctx.now >= remedy.jobs.signalled_at + grace


def move_has_left(transition: TransitionView) -> bool:
    """Nothing is on the node any more, and only a job that waits elsewhere is in flight."""
    moving = transition.remedy.pursued_kind is Kind.MOVE_JOB and not transition.remedy.cancelling
    return moving and empty(transition)


def job_waits(transition: TransitionView) -> bool:
    """A move ends with its job in the queue: nothing has failed, it waits for nodes."""
    pursued = transition.event.pursued
    if pursued is None or pursued.intent.kind is not Kind.MOVE_JOB or pursued.observed is None:
        return False
    job = pursued.observed.job
    return job is not None and job.state in (JobState.WAITING, JobState.HELD)


def moved_back(transition: TransitionView) -> bool:
    """A job was moved, and runs on a bad node all the same, or nobody knows where."""
    pursued = transition.event.pursued
    if pursued is None or pursued.intent.kind is not Kind.MOVE_JOB:
        return False
    # What has gone bad since is moved by its own remedy, and what is well by now may be used.
    now = as_of_now(transition.ctx.state, pursued.intent, transition.ctx.now)
    bad = set(pursued.intent.avoided) & set(now.avoided)
    return not pursued.moved_to or not bad.isdisjoint(pursued.moved_to)


def died(transition: TransitionView) -> bool:
    """The job of a look or move has died by itself before anything was done to it."""
    return died_before(transition.event.pursued)


def died_before(pursued: Pursued | None) -> bool:
    """Whether the job of a look or move has died by itself before anything was done to it."""
    if pursued is None or pursued.observed is None or pursued.observed.job is None:
        return False
    if pursued.intent.kind is Kind.FOLLOW_JOB:
        return pursued.refusal is RefusalKind.DIED
    dead = pursued.observed.job.state is JobState.FINISHED and pursued.observed.job.failed
    return dead and pursued.intent.kind is Kind.MOVE_JOB and not pursued.intent.revive


def of_check(transition: TransitionView) -> bool:
    """What has ended is the check of how a job has ended."""
    return transition.event.pursued_kind is Kind.FOLLOW_JOB


def of_swap(transition: TransitionView) -> bool:
    """What has ended is a swap inside a job."""
    return transition.event.pursued_kind is Kind.SWAP_IN_JOB


def of_spare(transition: TransitionView) -> bool:
    """What has ended is the draw of a spare."""
    return transition.event.pursued_kind is Kind.DRAW_SPARE


def of_move(transition: TransitionView) -> bool:
    """What has ended is the move of a job."""
    return transition.event.pursued_kind is Kind.MOVE_JOB
