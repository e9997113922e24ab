"""What a person approves: a short name of what would be done to a node, another one for another plan."""

import hashlib

import msgspec

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.intent import JobKey
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.jobs.jobs import jobs_of
from accelwatch.remediation.policy.plan.planned_steps import (
    PlannedStep,
    owner_of,
    steps_of,
    with_owner,
)
from accelwatch.remediation.policy.plan.spares.stand_ins import drawn
from accelwatch.remediation.policy.state.case import Policy
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.spares import Drawn


def digest_of(ctx: StepView, remedy: Remedy, policy: Policy, incident: str) -> str:
    """Sixteen hexadecimal digits over node, incident, rule, steps, jobs, their owners and the spare.

    What is done counts, and not how it is worded: another version of this program may say it
    otherwise. Empty while nobody knows which jobs are on the node: there is no plan to say yes to.
    """
    jobs = jobs_of(ctx, remedy)
    if jobs is None:
        return ""
    steps = sorted(
        (step.kind, msgspec.json.encode(step.argument).decode())
        for step in _steps(ctx, remedy, policy, incident)
    )
    owned = [(job, owner_of(ctx, remedy, job)) for job in sorted(jobs)]
    return _hashed(ctx, remedy, policy, incident, (steps, owned))


def is_plan(digest: str, ctx: StepView, remedy: Remedy, policy: Policy, incident: str) -> bool:
    """Whether a digest is that of what would be done now; False for an empty one."""
    if not digest:
        return False
    if digest == digest_of(ctx, remedy, policy, incident):
        return True
    jobs = jobs_of(ctx, remedy)
    return jobs is not None and digest == _worded(ctx, remedy, policy, incident, jobs)


def _worded(
    ctx: StepView, remedy: Remedy, policy: Policy, incident: str, jobs: tuple[JobKey, ...]
) -> str:
    """The digest as hubs made it from the steps in words: journals and links have some."""
    led = msgspec.structs.replace(remedy, policy=policy, incident=incident)
    steps = sorted((step.kind, step.text) for step in _steps(ctx, remedy, policy, incident))
    owned = sorted(with_owner(ctx, led, job) for job in jobs)
    return _hashed(ctx, remedy, policy, incident, (steps, sorted(jobs), owned))


def _steps(ctx: StepView, remedy: Remedy, policy: Policy, incident: str) -> list[PlannedStep]:
    led = msgspec.structs.replace(remedy, policy=policy, incident=incident)
    # Why there is no spare may be told otherwise each second.
    return [step for step in steps_of(ctx, led, policy) if step.kind is not Kind.DRAW_SPARE]


def _hashed(
    ctx: StepView, remedy: Remedy, policy: Policy, incident: str, planned: tuple[object, ...]
) -> str:
    led = msgspec.structs.replace(remedy, policy=policy, incident=incident)
    answer = drawn(ctx, led)[1] if policy.draw_spare else None
    spare = answer.name if isinstance(answer, Drawn) else ""
    content = (remedy.node, ctx.target(remedy), incident, policy, *planned, spare)
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:16]
