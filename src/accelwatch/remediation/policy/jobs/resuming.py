"""Jobs that were begun again: watched for a while, and what is done about those that die again. Pure.

A job is restarted only with something else than the last time: without a node that has gone bad, from
a later checkpoint, or after what befell many has passed. What its own code does is left to people.
"""

from collections.abc import Iterator

import msgspec

from accelwatch.action.intent import Intent, JobKey
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import JobObservation, JobState
from accelwatch.action.step import RefusalKind
from accelwatch.alerting.rules.document import Mode
from accelwatch.remediation.policy.context.cases import bad_nodes
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import CHORES, RETRIES, SCORES
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.guards import data_guard, retry
from accelwatch.remediation.policy.guards.denial import Answer, Denial, DenialKind
from accelwatch.remediation.policy.guards.limits.ceiling import Bearing, Ceiling, answers
from accelwatch.remediation.policy.guards.retry import Death, JobHistory, Run, Try
from accelwatch.remediation.policy.jobs.another_try import (
    Another,
    another,
    bad_now,
    blame,
    group_of,
)
from accelwatch.remediation.policy.jobs.jobs import departed_jobs, lost_jobs
from accelwatch.remediation.policy.state.clocks import (
    DEATH_SETTLES_S,
    FRESH_S,
    JOB_S,
    RESTORE_S,
    REVIVAL_S,
)
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from accelwatch.remediation.policy.state.score import Failing, added, keys_of
from accelwatch.remediation.policy.state.stage import Stage

replace = msgspec.structs.replace
# Stands in the mark, in the place of an incident, of what is done for a job that died of itself.
OWN_END = "own-end"


# Begins the keys of chores that go on with the move of a job whose node waits for it no more.
MOVED_ON = "move "


def name_of(job: JobKey) -> str:
    """By what a job's history is kept; the history says of which submissions it is."""
    return f"{job.cluster}/{job}"


def _histories(ctx: StepView, job: JobKey) -> retry.RetryState:
    """All histories, that of this very job under its name: an id may have been given again."""
    return retry.only_of(ctx.state.retries, name_of(job), job.submitted)


def learn_submission(ctx: StepContext, pursued: Pursued) -> None:
    """A look at a job that has a history may show that it was requeued, and so submitted anew."""
    job, observed = pursued.intent.job, pursued.observed
    observed_job = None if observed is None else observed.job
    if job is None or observed_job is None or observed_job.state is JobState.MISSING:
        return
    name = name_of(job)
    if name in _histories(ctx, job).jobs:
        retries = retry.submitted_at(ctx.state.retries, name, job.submitted)
        ctx.set(RETRIES, retry.submitted_at(retries, name, observed_job.submitted))


def may_resume(ctx: StepView, remedy: Remedy, job: JobKey) -> Answer:
    """Whether a job that runs on a bad node may be begun again elsewhere without a person."""
    name = name_of(job)
    if f"revive {name}" in ctx.state.chores or f"{MOVED_ON}{name}" in ctx.state.chores:
        text = f"job {job} is being restarted already"
        return Denial(why=DenialKind.REMEDY_RUNNING, text=text)
    tried, limits = _without(ctx, remedy, job), ctx.settings.resume
    return retry.may_resume(_histories(ctx, job), name_of(job), tried, ctx.now, limits)


def count_resume(ctx: StepContext, remedy: Remedy, job: JobKey) -> None:
    """A job is restarted elsewhere, and counts from now on; the run before it ends by its node."""
    name, limits = name_of(job), ctx.settings.resume
    retries = retry.tidied(_histories(ctx, job), ctx.now, limits)
    run = retries.jobs.get(name, JobHistory()).run
    tried = _without(ctx, remedy, job)
    if run is not None:
        if not run.dead:
            retries = _died(ctx, retries, name, run, device_fault=True)
        retries = retry.watched(retries, name, None)
        _drop(ctx, name)
        _restore(ctx, name, run)
    retries = retry.resumed(retries, name, tried, ctx.now, limits)
    ctx.set(RETRIES, retry.submitted_at(retries, name, job.submitted))


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
        tried=Try(nodes=tuple(sorted(observed_job.nodes))),
    )
    retries = retry.died(_histories(ctx, job), name, death, 0.0, ctx.settings.resume)
    ctx.set(RETRIES, retry.submitted_at(retries, name, job.submitted))


def dead_of_itself(ctx: StepContext, run: Run, *, group: str, device_fault: bool) -> None:
    """A job that nobody has begun again so far has died, and is to be begun again."""
    job, limits = run.seen.key, ctx.settings.resume
    name = name_of(job)
    retries = retry.tidied(_histories(ctx, job), ctx.now, limits)
    retries = _died(ctx, retries, name, run, device_fault=device_fault)
    dead = replace(run, since=ctx.now, dead=True, group=group)
    retries = retry.watched(retries, name, dead)
    ctx.set(RETRIES, retry.submitted_at(retries, name, job.submitted))


def revert_resume(ctx: StepContext, job: JobKey) -> None:
    """A job was not begun again after all."""
    ctx.set(RETRIES, retry.not_resumed(ctx.state.retries, name_of(job)))


def _without(ctx: StepView, remedy: Remedy, job: JobKey) -> Try:
    """With what a job would be begun again off a node: where it runs, but for the bad nodes."""
    bad = {remedy.target or remedy.node, *bad_nodes(ctx)}
    nodes = tuple(sorted(_nodes_of(ctx, job) - bad))
    # Where it was before is not always known; that it leaves this node is.
    return Try(nodes=nodes, cleared=f"{remedy.incident} {remedy.node}")


def _nodes_of(ctx: StepView, job: JobKey) -> set[str]:
    return {
        name
        for name, node in ctx.world.scheduler_nodes.items()
        if any((node_job.cluster, node_job.id) == (job.cluster, job.id) for node_job in node.jobs)
    }


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
    retries = retry.watched(ctx.state.retries, name, run)
    tried = Try(
        nodes=tuple(sorted(run.seen.nodes)),
        checkpoint=run.moved.checkpoint or run.seen.checkpoint,
        cleared="" if history.latest is None else history.latest.cleared,
    )
    ctx.set(RETRIES, retry.started_with(retries, name, tried))
    watching = replace(
        run.moved,
        kind=Kind.FOLLOW_JOB,
        bad_nodes=(),
        restarts=run.seen.restarts,
        run_s=ctx.settings.resume.productive_s,
        asked=ctx.now,
        deadline=ctx.now + RESTORE_S,
    )
    _start_chore(ctx, f"follow {name}", watching)


def _start_chore(ctx: StepContext, key: str, intent: Intent) -> None:
    ctx.set_row(CHORES, key, intent)
    ctx.pursue(intent)


def _drop(ctx: StepContext, name: str) -> None:
    """Look after a job no more."""
    watching = ctx.state.chores.get(f"follow {name}")
    if watching is not None:
        ctx.set_row(CHORES, f"follow {name}", None)
        ctx.cancel(watching)


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
            ctx.set(RETRIES, retry.ran_well(ctx.state.retries, name))
        else:
            ctx.set(RETRIES, retry.watched(ctx.state.retries, name, None))
        _restore(ctx, name, run)
        return
    fault = not bad_now(ctx, run.seen.nodes).isdisjoint(run.seen.nodes)
    last = replace(observed_job, nodes=run.seen.nodes)
    retries = _died(ctx, ctx.state.retries, name, replace(run, seen=last), device_fault=fault)
    ctx.set(RETRIES, retries)
    if observed_job.state is JobState.RUNNING:
        _add_note(
            ctx, run, f"job {job} has died, and its scheduler has restarted it", Loudness.NOTIFY
        )
        own = replace(run.moved, checkpoint="")  # its scheduler tells it no checkpoint
        _watch(ctx, name, replace(run, since=ctx.now, seen=observed_job, moved=own))
        return
    ran_s = ctx.now - run.since
    text = f"job {job} has died {ran_s:.0f} s after its restart: {pursued.text}"
    _add_note(ctx, run, text, Loudness.NOTIFY)
    dead = replace(run, since=ctx.now, seen=last, dead=True, group=group_of(ctx, last.nodes))
    ctx.set(RETRIES, retry.watched(ctx.state.retries, name, dead))


def _died(
    ctx: StepContext, retries: retry.RetryState, name: str, run: Run, *, device_fault: bool
) -> retry.RetryState:
    latest = retries.jobs.get(name, JobHistory()).latest or Try(nodes=run.seen.nodes)
    death = Death(
        at=ctx.now,
        step=run.seen.step,
        newest=run.seen.checkpoint,
        device_fault=device_fault,
        blamed=blame(ctx, run.seen.nodes),
        tried=latest,
    )
    return retry.died(retries, name, death, ctx.now - run.since, ctx.settings.resume)


def revive(ctx: StepContext) -> None:
    """Begin those again that have died, as soon as they may be; tell people of those that may not."""
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
        ctx.set(RETRIES, retry.blamed(ctx.state.retries, name, what))
    other = another(ctx, ctx.state.retries.jobs[name], run)
    guard_answers = _evaluate_guards(ctx, name, run, other.tried)
    denial = next((answer for answer in guard_answers if isinstance(answer, Denial)), None)
    if denial is not None:
        _wait(ctx, name, run, denial)
        return
    limits = ctx.settings.resume
    ctx.set(RETRIES, retry.resumed(ctx.state.retries, name, other.tried, ctx.now, limits))
    _add_note(ctx, run, f"job {run.moved.job} is restarted{_with_what(other)}", Loudness.NOTIFY)
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
    _start_chore(ctx, key, intent)


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
    ctx.set(RETRIES, retry.passed(ctx.state.retries, name, other.passed))
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
    status = ctx.node_status(run.node)
    stop, veto = ctx.state.stop, ctx.state.vetoes.get(run.node)
    bearing = Bearing(
        node=run.node,
        mode=Mode.AUTO,  # the plan that it was moved by was allowed, and this goes on with it
        site=Ceiling(ctx.settings.ceiling),
        profile=None if status is None else Ceiling(status.ceiling),
        stopped_by="" if stop is None else f"{stop.by}: {stop.reason}",
        vetoed_by="" if veto is None else f"{veto.by}: {veto.reason}",
    )
    yield from answers(bearing, Kind.MOVE_JOB)
    yield data_guard.may_start(ctx.world.guard)
    scheduler = ctx.world.schedulers.get(ctx.world.shown_by.get(run.moved.node, ""))
    if scheduler is None or scheduler.unavailable or ctx.now - scheduler.time > FRESH_S:
        yield Denial(why=DenialKind.DATA, text="its scheduler does not answer now")
    group = group_of(ctx, run.seen.nodes)
    if group:
        yield Denial(
            why=DenialKind.GROUP, text=f"its nodes are part of {group}, which is still open"
        )
    yield retry.may_resume(ctx.state.retries, name, tried, ctx.now, ctx.settings.resume)


def _wait(ctx: StepContext, name: str, run: Run, denial: Denial) -> None:
    """Some of what is in the way passes; evidence may come late; after an hour a person has it."""
    lasts = ctx.now - run.since
    for_good = denial.why is DenialKind.RETRY and denial.until is None
    if lasts < (DEATH_SETTLES_S if for_good else REVIVAL_S):
        return
    text = f"job {run.moved.job} is not restarted: {denial.text}"
    _add_note(ctx, run, text, Loudness.ALERT)
    ctx.set(RETRIES, retry.watched(ctx.state.retries, name, None))
    _restore(ctx, name, run)


def revived(ctx: StepContext, pursued: Pursued) -> None:
    """A job that had died runs again, or cannot be begun again."""
    job = pursued.intent.job
    name = "" if job is None else name_of(job)
    run = ctx.state.retries.jobs.get(name, JobHistory()).run
    if run is None or not run.dead:
        return
    if pursued.result is PursuitResult.ACHIEVED:
        where = ",".join(pursued.moved_to)
        _add_note(ctx, run, f"job {job} runs again on {where}", Loudness.NOTIFY)
        ctx.set(RETRIES, retry.watched(ctx.state.retries, name, None))
        follow(ctx, run.node, _with_earlier(run.moved, pursued))
        return
    text = f"job {job} could not be restarted: {pursued.text}; a person has to check it"
    _add_note(ctx, run, text, Loudness.ALERT)
    ctx.set(RETRIES, retry.watched(ctx.state.retries, name, None))
    tried = _with_earlier(run.moved, pursued)
    last = replace(tried.intent, original=dict(tried.original))
    _restore(ctx, name, replace(run, moved=last))


def _with_earlier(before: Intent, pursued: Pursued) -> Pursued:
    """A revival that also gives back what the one before it has changed."""
    if not before.revive:
        return pursued
    avoided = dict.fromkeys((*before.bad_nodes, *pursued.intent.bad_nodes))
    intent = replace(pursued.intent, bad_nodes=tuple(avoided))
    original = {**pursued.original, **before.original}
    return replace(pursued, intent=intent, original=original)


def _restore(ctx: StepContext, name: str, run: Run) -> None:
    """Give back what the revival of a job has changed; what a move has is its remedy's to restore."""
    if run.moved.revive:
        back = replace(
            run.moved, kind=Kind.RESTORE_JOB, asked=ctx.now, deadline=ctx.now + RESTORE_S
        )
        _start_chore(ctx, f"restore {name} {run.moved.asked:.0f}", back)


def _add_note(ctx: StepContext, run: Run, text: str, loudness: Loudness) -> None:
    incident = run.moved.mark.incident
    remedy = replace(ctx.remedy(run.node), incident="" if incident == OWN_END else incident)
    ctx.note(remedy, text, loudness)
