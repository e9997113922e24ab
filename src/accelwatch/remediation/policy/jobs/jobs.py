"""Whether a node answers, which jobs are on it, and which of them is next. Pure."""

from accelwatch.action.intent import IntentKind, JobKey
from accelwatch.action.observed import NodeObservation
from accelwatch.alerting.rules.document import Fence, JobPolicy, QuarantineLevel, When
from accelwatch.remediation.policy.context.cases import needs_repair
from accelwatch.remediation.policy.context.views import NodeView
from accelwatch.remediation.policy.state.clocks import (
    DEATH_SETTLES_S,
    FRESH_S,
    REVIVAL_S,
    UNREACHABLE_S,
)
from accelwatch.remediation.policy.state.model import Remedy


def silent(ctx: NodeView, remedy: Remedy) -> bool:
    """Neither the agent nor the scheduler's daemon answers."""
    status, observation = ctx.node_status(remedy.node), ctx.scheduler_node(remedy)
    # Both have to be silent: a crashed agent alone is no reason to fence a node whose jobs run.
    if observation is None or observation.answering is not False:
        return False
    return status is None or status.down or ctx.now - status.time > FRESH_S


def _long_silent(ctx: NodeView, remedy: Remedy) -> bool:
    """Whether it has been silent for long, whatever the hub's settings call unreachable."""
    status = ctx.node_status(remedy.node)
    long = status is None or ctx.now - status.time >= UNREACHABLE_S
    return long and silent(ctx, remedy)


def jobs_of(ctx: NodeView, remedy: Remedy) -> tuple[JobKey, ...] | None:
    """The jobs on a node; None when they are unknown."""
    observation = ctx.scheduler_node(remedy)
    if observation is None:
        return None
    if not _is_fresh(ctx, remedy, observation):
        return None
    return observation.device_jobs if only_devices_quarantined(remedy) else observation.jobs


def only_devices_quarantined(remedy: Remedy) -> bool:
    """Whether we have quarantined some of its devices, and the rest of the node goes on working."""
    return remedy.hold is not None and remedy.hold.level is QuarantineLevel.DEVICE


def _is_fresh(ctx: NodeView, remedy: Remedy, observation: NodeObservation) -> bool:
    """Whether a node was shown not long ago, and after the last look of an action at it."""
    action = ctx.world.shown_by.get(observation.name)
    scheduler = None if action is None else ctx.world.schedulers.get(action)
    if scheduler is None or ctx.now - scheduler.time > FRESH_S:
        return False
    return scheduler.time > ctx.world.settled.get(remedy.node, float("-inf"))


def departed_jobs(ctx: NodeView, remedy: Remedy) -> tuple[JobKey, ...]:
    """Jobs that left a node when it went bad, or shortly before, and may have died of it."""
    policy = remedy.policy
    if policy is None or policy.job is not JobPolicy.REQUEUE or policy.when is When.AFTER_JOB:
        return ()
    shown = jobs_of(ctx, remedy)
    if shown is None or not needs_repair(ctx, remedy):
        return ()
    # A job often dies of a fault before its rule fires.
    departures, since = ctx.departed_from(ctx.target(remedy)), remedy.clocks.begun - DEATH_SETTLES_S
    here = {(job.cluster, job.id, job.part) for job in shown}
    settled = {
        *remedy.jobs.handled,
        *remedy.jobs.stranded,
        *remedy.jobs.looked_for,
        *remedy.jobs.lost,
    }
    jobs = (
        departure.job
        for departure in departures
        if departure.at >= since and departure.job not in settled
    )
    return tuple(job for job in jobs if (job.cluster, job.id, job.part) not in here)


def lost_jobs(ctx: NodeView, remedy: Remedy) -> list[JobKey]:
    """Jobs that have died on the node and are to be restarted; after a while that is up to people."""
    if remedy.jobs.lost_at is None or ctx.now - remedy.jobs.lost_at > REVIVAL_S:
        return []
    return [job for job in remedy.jobs.lost if job not in remedy.jobs.handled]


def jobs_waiting(ctx: NodeView, remedy: Remedy) -> bool:
    """Jobs are on the node about which something is to be done or waited for."""
    if remedy.policy is None or not needs_repair(ctx, remedy):
        return False
    return bool(jobs_of(ctx, remedy) or _stranded(remedy) or lost_jobs(ctx, remedy))


def _stranded(remedy: Remedy) -> list[JobKey]:
    """Jobs that are held in the queue until their node is fenced, wherever they are."""
    return [job for job in remedy.jobs.stranded if job not in remedy.jobs.handled]


def is_drained(ctx: NodeView, remedy: Remedy) -> bool:
    """Whether no job of the node certainly needs care any more."""
    return is_empty(ctx, remedy) and not (_stranded(remedy) or lost_jobs(ctx, remedy))


def is_empty(ctx: NodeView, remedy: Remedy) -> bool:
    """Whether certainly no job is on a node."""
    observation = ctx.scheduler_node(remedy)
    if observation is None or observation.jobs_missing:
        return False
    # `== ()`, for None means that nobody knows, and a node may be rebooted on this.
    return jobs_of(ctx, remedy) == ()


def must_fence(ctx: NodeView, remedy: Remedy) -> bool:
    """Jobs would go on elsewhere while their old copy may still run."""
    policy = remedy.policy
    if policy is None or not needs_fence(remedy):
        return False
    # A fence ends what runs on the other devices, too.
    if only_devices_quarantined(remedy):
        return False
    # Only a job that restarts elsewhere can write beside its old copy.
    if policy.job is not JobPolicy.REQUEUE and not remedy.jobs.unswapped:
        return False
    return _long_silent(ctx, remedy) and jobs_waiting(ctx, remedy)


def needs_fence(remedy: Remedy) -> bool:
    """Whether its jobs may only leave it, while it does not answer, after it was fenced."""
    policy = remedy.policy
    if policy is None or remedy.jobs.fenced:
        return False
    return policy.fence is Fence.REQUIRE or remedy.jobs.fence_first


def hung(ctx: NodeView, remedy: Remedy) -> bool:
    """Whether a move of its jobs would not come true: its daemon is silent, and it is not fenced.

    After a move that has found it silent, one that was shown before that says nothing of it.
    """
    observation = ctx.scheduler_node(remedy)
    if observation is None or not needs_fence(remedy):
        return False
    return observation.answering is False or (
        remedy.jobs.fence_first and not _is_fresh(ctx, remedy, observation)
    )


def cancels(remedy: Remedy) -> bool:
    """Whether its jobs are ended rather than moved."""
    return remedy.policy is not None and remedy.policy.job is JobPolicy.CANCEL


# By which jobs leave the node before they have ended.
LEAVING = frozenset({JobPolicy.REQUEUE, JobPolicy.CANCEL, JobPolicy.IN_JOB})


def next_job(ctx: NodeView, remedy: Remedy) -> JobKey | None:
    """The job that is to be moved or cancelled next."""
    policy = remedy.policy
    if policy is None or policy.job not in LEAVING or policy.when is When.AFTER_JOB:
        return None
    if not needs_repair(ctx, remedy):
        return None
    lost = lost_jobs(ctx, remedy)
    jobs = (*(jobs_of(ctx, remedy) or ()), *_stranded(remedy), *lost)
    if policy.job is JobPolicy.IN_JOB:
        leaving = {*remedy.jobs.unswapped, *remedy.jobs.stranded, *lost}
        jobs = tuple(job for job in jobs if job in leaving)
    return next((job for job in jobs if job not in remedy.jobs.handled), None)


def next_swap(ctx: NodeView, remedy: Remedy) -> JobKey | None:
    """The job whose own launcher is to go on without the node next."""
    policy = remedy.policy
    if policy is None or policy.job is not JobPolicy.IN_JOB or policy.when is When.AFTER_JOB:
        return None
    if not needs_repair(ctx, remedy):
        return None
    done = {*remedy.jobs.handled, *remedy.jobs.unswapped}
    return next((job for job in jobs_of(ctx, remedy) or () if job not in done), None)


def next_signal(ctx: NodeView, remedy: Remedy) -> JobKey | None:
    """The job that is to be signalled to write a checkpoint before it leaves."""
    job = next_job(ctx, remedy)
    if job is None or remedy.policy is None or not remedy.policy.signal or remedy.jobs.unswapped:
        return None
    done = job in remedy.jobs.signalled or job in remedy.jobs.lost
    return None if done or silent(ctx, remedy) else job


def job_of(ctx: NodeView, remedy: Remedy, kind: IntentKind) -> JobKey | None:
    """The job that an intent is about; None where it is about none."""
    match kind:
        case IntentKind.SWAP_IN_JOB:
            return next_swap(ctx, remedy)
        case IntentKind.FOLLOW_JOB:
            return next(iter(departed_jobs(ctx, remedy)), None)
        case IntentKind.SIGNAL_JOB:
            return next_signal(ctx, remedy)
        case IntentKind.MOVE_JOB | IntentKind.CANCEL_JOB | IntentKind.DRAW_SPARE:
            return next_job(ctx, remedy)
        case _:
            return None
