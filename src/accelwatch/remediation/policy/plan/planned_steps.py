"""The steps that are left for a node, in words, with the jobs and their owners. Pure."""

from collections.abc import Iterator
from typing import NamedTuple

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.intent import JobKey
from accelwatch.alerting.rules.document import JobPolicy, QuarantineLevel, When
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.jobs.jobs import (
    departed_jobs,
    jobs_of,
    lost_jobs,
    needs_fence,
    silent,
)
from accelwatch.remediation.policy.plan.escalation import INTENTS, impossible
from accelwatch.remediation.policy.plan.spares.candidates import drawn
from accelwatch.remediation.policy.state.case import Policy
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.relapses import MOST
from accelwatch.remediation.policy.state.stage import Stage

# Jobs that are named one by one where nothing is done to them.
MOST_NAMED = 5


class PlannedStep(NamedTuple):
    """One intent that is left."""

    kind: Kind
    # For people.
    text: str
    # On what it acts besides the node: a job, a rung, a test. A yes is to this, not to the text.
    argument: JobKey | str = ""


def steps_of(ctx: StepView, remedy: Remedy, policy: Policy) -> Iterator[PlannedStep]:
    """The intents that are left, in their order."""
    node = remedy.node
    if remedy.hold is None and remedy.stage is not Stage.PROBATION:
        staying = _staying(ctx, remedy, policy)
        out = _out(remedy, policy)
        yield PlannedStep(Kind.QUARANTINE, f"take {out} out of the pool{staying}")
    if remedy.stage not in _REPAIRED:
        yield from _of_jobs(ctx, remedy, policy)
        for step in policy.ladder[remedy.repair.rung :] if remedy.repair.relapses < MOST else ():
            kind = INTENTS.get(step.name)
            tried = sum(attempt.rung == step.name for attempt in remedy.repair.attempts)
            if kind is not None and tried < step.most and not impossible(ctx, kind):
                yield PlannedStep(kind, f"{step.name.replace('_', ' ')} {node}", step.name)
    passed = () if remedy.repair.verification is None else remedy.repair.verification.passed
    for test in () if impossible(ctx, Kind.TEST) else policy.tests:
        if test not in passed:
            pair = " and an idle node that is known to be well"
            with_peer = pair if ctx.settings.test_settings(test).pair else ""
            yield PlannedStep(Kind.TEST, f"test {test} on {node}{with_peer}", test)
    if remedy.stage is not Stage.PROBATION:
        text = f"release {node} once it has been healthy for {policy.passive_s:g} s"
        yield PlannedStep(Kind.RELEASE, text)


_REPAIRED = frozenset({Stage.VERIFYING, Stage.RELEASING, Stage.PROBATION})


def _out(remedy: Remedy, policy: Policy) -> str:
    """What is quarantined: the node, or the device that the leading incident names."""
    if policy.level is not QuarantineLevel.DEVICE or remedy.approval.manual:
        return remedy.node
    devices = [case.device for case in remedy.cases if case.incident == remedy.incident]
    return f"{devices[0]} of {remedy.node}" if devices else remedy.node


def with_owner(ctx: StepView, remedy: Remedy, job: JobKey) -> str:
    """`17 of ada`; only the number where the scheduler names no owner."""
    return job_text(job, owner_of(ctx, remedy, job))


def job_text(job: JobKey, owner: str) -> str:
    """`17 of ada`; only the number for an owner that is not known."""
    return f"{job} of {owner}" if owner else str(job)


def owner_of(ctx: StepView, remedy: Remedy, job: JobKey) -> str:
    """Whose job it is; empty where the scheduler names no owner."""
    observation = ctx.scheduler_node(remedy)
    return "" if observation is None else observation.owners.get(str(job), "")


def _staying(ctx: StepView, remedy: Remedy, policy: Policy) -> str:
    """Which jobs run on there until they end, where nothing is done to them."""
    jobs = jobs_of(ctx, remedy) or ()
    stay = policy.when is When.AFTER_JOB or policy.job in _LEFT_ALONE
    if not (jobs and stay):
        return ""
    named = ", ".join(with_owner(ctx, remedy, job) for job in jobs[:MOST_NAMED])
    more = f" and {len(jobs) - MOST_NAMED} more" if len(jobs) > MOST_NAMED else ""
    if len(jobs) == 1:
        return f"; job {named} runs there until it ends"
    return f"; jobs {named}{more} run there until they end"


_LEFT_ALONE = frozenset({JobPolicy.NOTHING, JobPolicy.NOTIFY})


def _of_jobs(ctx: StepView, remedy: Remedy, policy: Policy) -> Iterator[PlannedStep]:
    jobs = jobs_of(ctx, remedy) or ()
    left = (*lost_jobs(ctx, remedy), *departed_jobs(ctx, remedy))
    if not (jobs or left) or policy.when is When.AFTER_JOB:
        return
    if policy.job is JobPolicy.IN_JOB:
        others = [job for job in jobs if job not in (*remedy.jobs.handled, *remedy.jobs.unswapped)]
        for job in others:
            named = with_owner(ctx, remedy, job)
            text = f"let job {named} continue without {remedy.node}"
            yield PlannedStep(Kind.SWAP_IN_JOB, text, job)
    if policy.job is JobPolicy.CANCEL:
        yield from _leaving(ctx, remedy, policy, Kind.CANCEL_JOB, "cancel job {}")
    if policy.job is not JobPolicy.REQUEUE:
        return
    is_of_node = policy.level is not QuarantineLevel.DEVICE
    if is_of_node and silent(ctx, remedy) and needs_fence(remedy):
        yield PlannedStep(Kind.FENCE, f"prove that nothing runs on {remedy.node} any more")
    if policy.draw_spare and not remedy.jobs.spare:
        yield PlannedStep(Kind.DRAW_SPARE, _spare(ctx, remedy))
    yield from _leaving(ctx, remedy, policy, Kind.MOVE_JOB, "move job {} to other nodes")
    for job in left:
        text = f"restart job {job}, which has left {remedy.node}, if it has died"
        yield PlannedStep(Kind.MOVE_JOB, text, job)


def _leaving(
    ctx: StepView, remedy: Remedy, policy: Policy, kind: Kind, text: str
) -> Iterator[PlannedStep]:
    for job in jobs_of(ctx, remedy) or ():
        named = with_owner(ctx, remedy, job)
        if policy.signal and job not in remedy.jobs.signalled:
            request = f"ask job {named} for a checkpoint ({policy.signal})"
            yield PlannedStep(Kind.SIGNAL_JOB, request, job)
        if job not in remedy.jobs.handled:
            yield PlannedStep(kind, text.format(named), job)


def _spare(ctx: StepView, remedy: Remedy) -> str:
    answer = drawn(ctx, remedy)[1]
    return answer.text if isinstance(answer, Denial) else f"use {answer.name} as a spare"


def skipped_steps(ctx: StepView, remedy: Remedy, policy: Policy) -> str:
    """For people: what could not be done for a node, and what of its policy can be done to none."""
    texts = [remedy.trouble, *remedy.repair.left_out, remedy.repair.unfit]
    if remedy.hold is None and (why := impossible(ctx, Kind.QUARANTINE)):
        texts.append(f"it cannot be taken out: {why}")
    if remedy.stage not in _REPAIRED:
        for step in policy.ladder[remedy.repair.rung :]:
            kind = INTENTS.get(step.name)
            if kind is not None and (why := impossible(ctx, kind)):
                texts.append(f"{step.name.replace('_', ' ')} is left out: {why}")
    if policy.tests and (why := impossible(ctx, Kind.TEST)):
        texts.append(f"test {policy.tests[0]} cannot be run: {why}")
    return "; ".join(dict.fromkeys(filter(None, texts)))
