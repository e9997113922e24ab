"""Jobs that have died and are restarted, as soon as they may be; people have those that may not. Pure.

A job is restarted only with something else than the last time: without a node that has gone bad, from
a later checkpoint, or after what affected many has passed. What its own code does is left to people.
"""

from collections.abc import Iterator

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.base.names.hardware_keys import keys_of
from accelwatch.remediation.policy.context.bearings import bearing_of_node
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import RETRIES, SCORES
from accelwatch.remediation.policy.guards import data_guard
from accelwatch.remediation.policy.guards.denial import Answer, Denial, DenialKind, denial_in
from accelwatch.remediation.policy.guards.limits.ceiling import answers
from accelwatch.remediation.policy.guards.retry import job_events, resume_guard
from accelwatch.remediation.policy.guards.retry.job_history import JobHistory, Run, Try
from accelwatch.remediation.policy.jobs.another_try import (
    Another,
    another,
    bad_now,
    blame,
    group_of,
)
from accelwatch.remediation.policy.jobs.chores import add_note, name_of, restore, start_chore
from accelwatch.remediation.policy.jobs.following import follow
from accelwatch.remediation.policy.jobs.jobs import departed_jobs, lost_jobs
from accelwatch.remediation.policy.state.clocks import DEATH_SETTLES_S, FRESH_S, JOB_S, REVIVAL_S
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from accelwatch.remediation.policy.state.score import Failing, added
from accelwatch.remediation.policy.state.stage import Stage

replace = msgspec.structs.replace


def revive(ctx: StepContext) -> None:
    """Restart dead jobs as soon as they may be; notify people of those that may not."""
    for name, history in ctx.state.retries.jobs.items():
        if history.run is not None and history.run.dead:
            _revive(ctx, name, history.run)


def _revive(ctx: StepContext, name: str, run: Run) -> None:
    key = f"revive {name}"
    if key in ctx.state.chores or _is_moved(ctx, name):
        return
    last = ctx.state.retries.jobs[name].deaths[-1]
    fault = not bad_now(ctx, run.seen.nodes).isdisjoint(run.seen.nodes)
    if not last.device_fault and fault:
        what = blame(ctx, run.seen.nodes)
        ctx.set(RETRIES, job_events.fault_attributed(ctx.state.retries, name, what))
    other = another(ctx, ctx.state.retries.jobs[name], run)
    denial = denial_in(_evaluate_guards(ctx, name, run, other.tried))
    if denial is not None:
        _wait(ctx, name, run, denial)
        return
    limits = ctx.settings.resume
    ctx.set(RETRIES, job_events.resumed(ctx.state.retries, name, other.tried, ctx.now, limits))
    add_note(ctx, run, f"job {run.moved.job} is restarted{_with_what(other)}", Loudness.NOTIFY)
    _count_passed(ctx, name, other)
    where = sorted(other.bad.intersection(run.seen.nodes)) or sorted(run.seen.nodes)
    intent = replace(
        run.moved,
        kind=Kind.MOVE_JOB,
        node=where[0] if where else run.moved.node,
        revive=True,
        restarts=run.seen.restarts,
        bad_nodes=tuple(sorted(other.bad)),
        ran_on=tuple(sorted({*run.moved.ran_on, *run.seen.nodes})),
        checkpoint=other.checkpoint,
        original={},
        asked=ctx.now,
        deadline=ctx.now + JOB_S,
    )
    start_chore(ctx, key, intent)


def _with_what(other: Another) -> str:
    """What is another than the last time, for people."""
    if other.checkpoint:
        return f" from {other.checkpoint}, the checkpoint before its newest"
    if other.passed:
        what = " and ".join(
            f"{cause.rule or 'the silence'} on {cause.node or cause.target}"
            for cause in other.passed
        )
        return f" on the same nodes, once: {what} has passed"
    return ""


def _count_passed(ctx: StepContext, name: str, other: Another) -> None:
    """What has passed is forgiven once, and counts a little against the node and its board."""
    if not other.passed:
        return
    ctx.set(RETRIES, job_events.fault_cleared(ctx.state.retries, name, other.passed))
    scores = ctx.state.scores
    for cause in other.passed:
        if cause.node:
            keys = keys_of(cause.node, serial=cause.serial)
            scores = added(scores, keys, Failing.APP, ctx.now)
    ctx.set(SCORES, scores)


def _is_moved(ctx: StepContext, name: str) -> bool:
    """Whether a node that went bad under a job has it in hand, with a spare for it."""
    return any(
        name_of(job) == name
        for remedy in ctx.state.remedies.values()
        if remedy.hold is not None
        and remedy.stage in (Stage.QUARANTINED, Stage.FENCING, Stage.DRAINING)
        for job in (*departed_jobs(ctx, remedy), *lost_jobs(ctx, remedy))
    )


def _evaluate_guards(ctx: StepContext, name: str, run: Run, tried: Try) -> Iterator[Answer]:
    # The plan that it was moved by was allowed, and this goes on with it.
    yield from answers(bearing_of_node(ctx, run.node, goes_on=True), Kind.MOVE_JOB)
    yield data_guard.may_start(ctx.world.guard)
    scheduler = ctx.world.schedulers.get(ctx.world.shown_by.get(run.moved.node, ""))
    if scheduler is None or scheduler.unavailable or ctx.now - scheduler.time > FRESH_S:
        yield Denial(why=DenialKind.DATA, text="its scheduler does not answer now")
    group = group_of(ctx, run.seen.nodes)
    if group:
        yield Denial(
            why=DenialKind.GROUP, text=f"its nodes are part of {group}, which is still open"
        )
    yield resume_guard.may_resume(ctx.state.retries, name, tried, ctx.now, ctx.settings.resume)


def _wait(ctx: StepContext, name: str, run: Run, denial: Denial) -> None:
    """Some of what is in the way passes; evidence may come late; after an hour a person has it."""
    lasts = ctx.now - run.since
    for_good = denial.why is DenialKind.RETRY and denial.until is None
    if lasts < (DEATH_SETTLES_S if for_good else REVIVAL_S):
        return
    text = f"job {run.moved.job} is not restarted: {denial.text}"
    add_note(ctx, run, text, Loudness.ALERT)
    ctx.set(RETRIES, job_events.watched(ctx.state.retries, name, None))
    restore(ctx, name, run)


def revived(ctx: StepContext, pursued: Pursued) -> None:
    """A job that had died runs again, or cannot be restarted."""
    job = pursued.intent.job
    name = "" if job is None else name_of(job)
    run = ctx.state.retries.jobs.get(name, JobHistory()).run
    if run is None or not run.dead:
        return
    if pursued.result is PursuitResult.ACHIEVED:
        where = ",".join(pursued.moved_to)
        add_note(ctx, run, f"job {job} runs again on {where}", Loudness.NOTIFY)
        ctx.set(RETRIES, job_events.watched(ctx.state.retries, name, None))
        follow(ctx, run.node, _with_earlier(run.moved, pursued))
        return
    text = f"job {job} could not be restarted: {pursued.text}; a person has to check it"
    add_note(ctx, run, text, Loudness.ALERT)
    ctx.set(RETRIES, job_events.watched(ctx.state.retries, name, None))
    tried = _with_earlier(run.moved, pursued)
    last = replace(tried.intent, original=dict(tried.original))
    restore(ctx, name, replace(run, moved=last))


def _with_earlier(before: Intent, pursued: Pursued) -> Pursued:
    """A revival that also gives back what the one before it has changed."""
    if not before.revive:
        return pursued
    avoided = dict.fromkeys((*before.bad_nodes, *pursued.intent.bad_nodes))
    intent = replace(pursued.intent, bad_nodes=tuple(avoided))
    original = {**pursued.original, **before.original}
    return replace(pursued, intent=intent, original=original)
