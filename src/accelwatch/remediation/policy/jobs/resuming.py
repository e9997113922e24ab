"""What the history of a job says of restarting it, and what is added to that history. Pure."""

import msgspec

from accelwatch.action.intent import JobKey
from accelwatch.action.observed import JobObservation, JobState
from accelwatch.remediation.policy.context.cases import bad_nodes
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import RETRIES
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.guards.denial import Answer, Denial, DenialKind
from accelwatch.remediation.policy.guards.retry import job_events, resume_guard
from accelwatch.remediation.policy.guards.retry.job_history import (
    Death,
    JobHistory,
    RetryState,
    Run,
    Try,
)
from accelwatch.remediation.policy.jobs.another_try import blame
from accelwatch.remediation.policy.jobs.chores import MOVED_ON, name_of, restore, stop_following
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.pursued import Pursued

replace = msgspec.structs.replace


def _histories(ctx: StepView, job: JobKey) -> RetryState:
    """All histories, that of this very job under its name: an id may have been given again."""
    return job_events.without_reused_id(ctx.state.retries, name_of(job), job.submitted)


def learn_submission(ctx: StepContext, pursued: Pursued) -> None:
    """An observed job with a history may have been requeued, and so resubmitted."""
    job, observed = pursued.intent.job, pursued.observed
    observed_job = None if observed is None else observed.job
    if job is None or observed_job is None or observed_job.state is JobState.MISSING:
        return
    name = name_of(job)
    if name in _histories(ctx, job).jobs:
        retries = job_events.submitted_at(ctx.state.retries, name, job.submitted)
        ctx.set(RETRIES, job_events.submitted_at(retries, name, observed_job.submitted))


def may_resume(ctx: StepView, remedy: Remedy, job: JobKey) -> Answer:
    """Whether a job on a bad node may be restarted elsewhere without a person."""
    name = name_of(job)
    if f"revive {name}" in ctx.state.chores or f"{MOVED_ON}{name}" in ctx.state.chores:
        text = f"job {job} is being restarted already"
        return Denial(why=DenialKind.REMEDY_RUNNING, text=text)
    tried, limits = _without(ctx, remedy, job), ctx.settings.resume
    return resume_guard.may_resume(_histories(ctx, job), name_of(job), tried, ctx.now, limits)


def count_resume(ctx: StepContext, remedy: Remedy, job: JobKey) -> None:
    """A job is restarted elsewhere, and counts from now on; the run before it ends by its node."""
    name, limits = name_of(job), ctx.settings.resume
    retries = job_events.tidied(_histories(ctx, job), ctx.now, limits)
    run = retries.jobs.get(name, JobHistory()).run
    tried = _without(ctx, remedy, job)
    if run is not None:
        if not run.dead:
            retries = died(ctx, retries, name, run, device_fault=True)
        retries = job_events.watched(retries, name, None)
        stop_following(ctx, name)
        restore(ctx, name, run)
    retries = job_events.resumed(retries, name, tried, ctx.now, limits)
    ctx.set(RETRIES, job_events.submitted_at(retries, name, job.submitted))


def dead_of(ctx: StepContext, job: JobKey, observed_job: JobObservation) -> None:
    """A job has died of a node before it was moved; one that was watched is dead by now, too."""
    name = name_of(job)
    run = ctx.state.retries.jobs.get(name, JobHistory()).run
    if run is not None:
        return
    death = Death(
        at=ctx.now,
        step=observed_job.step,
        device_fault=True,
        declined=observed_job.declined,
        tried=Try(nodes=tuple(sorted(observed_job.nodes))),
    )
    retries = job_events.died(_histories(ctx, job), name, death, 0.0, ctx.settings.resume)
    ctx.set(RETRIES, job_events.submitted_at(retries, name, job.submitted))


def dead_of_itself(ctx: StepContext, run: Run, *, group: str, device_fault: bool) -> None:
    """A job that was never restarted so far has died, and is to be restarted."""
    job, limits = run.seen.key, ctx.settings.resume
    name = name_of(job)
    retries = job_events.tidied(_histories(ctx, job), ctx.now, limits)
    retries = died(ctx, retries, name, run, device_fault=device_fault)
    dead = replace(run, since=ctx.now, dead=True, group=group)
    retries = job_events.watched(retries, name, dead)
    ctx.set(RETRIES, job_events.submitted_at(retries, name, job.submitted))


def revert_resume(ctx: StepContext, job: JobKey) -> None:
    """A job was not restarted after all."""
    ctx.set(RETRIES, job_events.not_resumed(ctx.state.retries, name_of(job)))


def _without(ctx: StepView, remedy: Remedy, job: JobKey) -> Try:
    """What a job would restart with off a node: where it runs, but for the bad nodes."""
    bad = {remedy.scheduler_name, *bad_nodes(ctx)}
    nodes = tuple(sorted(_nodes_of(ctx, job) - bad))
    # Where it was before is not always known; that it leaves this node is.
    return Try(nodes=nodes, cleared=f"{remedy.incident} {remedy.node}")


def _nodes_of(ctx: StepView, job: JobKey) -> set[str]:
    return {
        name
        for name, node in ctx.world.scheduler_nodes.items()
        if any((node_job.cluster, node_job.id) == (job.cluster, job.id) for node_job in node.jobs)
    }


def died(
    ctx: StepContext, retries: RetryState, name: str, run: Run, *, device_fault: bool
) -> RetryState:
    """The histories with the death of a job that was watched."""
    latest = retries.jobs.get(name, JobHistory()).latest or Try(nodes=run.seen.nodes)
    death = Death(
        at=ctx.now,
        step=run.seen.step,
        newest=run.seen.checkpoint,
        device_fault=device_fault,
        blamed=blame(ctx, run.seen.nodes),
        declined=run.seen.declined,
        tried=latest,
    )
    return job_events.died(retries, name, death, ctx.now - run.since, ctx.settings.resume)
