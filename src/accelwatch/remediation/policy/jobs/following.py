"""Jobs that run again, watched until they have run for a while. Pure."""

import msgspec

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import JobState
from accelwatch.action.step import RefusalKind
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import RETRIES
from accelwatch.remediation.policy.guards.retry import job_events
from accelwatch.remediation.policy.guards.retry.job_history import JobHistory, Run, Try
from accelwatch.remediation.policy.jobs.another_try import bad_now, group_of
from accelwatch.remediation.policy.jobs.chores import add_note, name_of, restore, start_chore
from accelwatch.remediation.policy.jobs.resuming import died
from accelwatch.remediation.policy.state.clocks import RESTORE_S
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult

replace = msgspec.structs.replace


def follow(ctx: StepContext, node: str, pursued: Pursued) -> None:
    """A job runs again: it is watched until it has run for a while. `node` is the hub's name."""
    moved, job = pursued.intent, pursued.intent.job
    observed_job = None if pursued.observed is None else pursued.observed.job
    if job is None or observed_job is None or observed_job.state is not JobState.RUNNING:
        return
    observed_job = replace(observed_job, nodes=pursued.moved_to or observed_job.nodes)
    move = replace(moved, original=dict(pursued.original))
    _watch(ctx, name_of(job), Run(node=node, moved=move, since=ctx.now, seen=observed_job))


def _watch(ctx: StepContext, name: str, run: Run) -> None:
    history = ctx.state.retries.jobs.get(name)
    if history is None:
        return
    retries = job_events.watched(ctx.state.retries, name, run)
    tried = Try(
        nodes=tuple(sorted(run.seen.nodes)),
        checkpoint=run.moved.checkpoint or run.seen.checkpoint,
        cleared="" if history.latest is None else history.latest.cleared,
    )
    ctx.set(RETRIES, job_events.started_with(retries, name, tried))
    watching = replace(
        run.moved,
        kind=Kind.FOLLOW_JOB,
        bad_nodes=(),
        restarts=run.seen.restarts,
        run_s=ctx.settings.resume.productive_s,
        asked=ctx.now,
        deadline=ctx.now + RESTORE_S,
    )
    start_chore(ctx, f"follow {name}", watching)


def followed(ctx: StepContext, pursued: Pursued) -> None:
    """A job that was watched has run for long enough, has ended, or has died."""
    job = pursued.intent.job
    name = "" if job is None else name_of(job)
    run = ctx.state.retries.jobs.get(name, JobHistory()).run
    if run is None or run.dead:
        return
    observed_job = None if pursued.observed is None else pursued.observed.job
    if pursued.refusal is not RefusalKind.DIED or observed_job is None:
        if pursued.result is PursuitResult.ACHIEVED:
            ctx.set(RETRIES, job_events.ran_well(ctx.state.retries, name))
        else:
            ctx.set(RETRIES, job_events.watched(ctx.state.retries, name, None))
        restore(ctx, name, run)
        return
    fault = not bad_now(ctx, run.seen.nodes).isdisjoint(run.seen.nodes)
    last = replace(observed_job, nodes=run.seen.nodes)
    retries = died(ctx, ctx.state.retries, name, replace(run, seen=last), device_fault=fault)
    ctx.set(RETRIES, retries)
    if observed_job.state is JobState.RUNNING:
        add_note(
            ctx, run, f"job {job} has died, and its scheduler has restarted it", Loudness.NOTIFY
        )
        own = replace(run.moved, checkpoint="")  # its scheduler passes no checkpoint
        _watch(ctx, name, replace(run, since=ctx.now, seen=observed_job, moved=own))
        return
    ran_s = ctx.now - run.since
    text = f"job {job} has died {ran_s:.0f} s after its restart: {pursued.text}"
    add_note(ctx, run, text, Loudness.NOTIFY)
    dead = replace(run, since=ctx.now, seen=last, dead=True, group=group_of(ctx, last.nodes))
    ctx.set(RETRIES, job_events.watched(ctx.state.retries, name, dead))
