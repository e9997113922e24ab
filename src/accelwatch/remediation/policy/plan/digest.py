"""What a person approves: a short name of what would be done to a node, another one for another plan."""

import hashlib
from typing import NamedTuple

import msgspec

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.intent import JobKey
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.jobs.jobs import jobs_of
from accelwatch.remediation.policy.plan.planned_steps import (
    PlannedStep,
    job_text,
    owner_of,
    steps_of,
)
from accelwatch.remediation.policy.plan.spares.candidates import drawn
from accelwatch.remediation.policy.state.case import Policy
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.spares.spare_selection import Drawn


class _Content(NamedTuple):
    """What a plan consists of, gathered once for its digest."""

    # Node, the scheduler's name of it, incident and policy.
    of: tuple[str, str, str, Policy]
    steps: list[PlannedStep]
    # With the owner of each, empty where the scheduler names none.
    owners: list[tuple[JobKey, str]]
    # Empty where none is drawn.
    spare: str

    @property
    def digest(self) -> str:
        """Over what is done, not over how it is worded."""
        steps = sorted(
            (step.kind, msgspec.json.encode(step.argument).decode()) for step in self.steps
        )
        return self._hashed(steps, self.owners)

    @property
    def worded_digest(self) -> str:
        """As hubs made it from the steps in words: journals and links have some."""
        steps = sorted((step.kind, step.text) for step in self.steps)
        owned = sorted(job_text(job, owner) for job, owner in self.owners)
        return self._hashed(steps, [job for job, _ in self.owners], owned)

    def _hashed(self, *planned: object) -> str:
        content = (*self.of, *planned, self.spare)
        return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:16]


def digest_of(ctx: StepView, remedy: Remedy, policy: Policy, incident: str) -> str:
    """Sixteen hexadecimal digits over node, incident, rule, steps, jobs, their owners and the spare.

    What is done counts, and not how it is worded: another version of this program may say it
    otherwise. Empty while nobody knows which jobs are on the node: there is no plan to say yes to.
    """
    content = _content(ctx, remedy, policy, incident)
    return "" if content is None else content.digest


def is_plan(digest: str, ctx: StepView, remedy: Remedy, policy: Policy, incident: str) -> bool:
    """Whether a digest is that of what would be done now; False for an empty one."""
    content = _content(ctx, remedy, policy, incident) if digest else None
    if content is None:
        return False
    return digest in (content.digest, content.worded_digest)


def _content(ctx: StepView, remedy: Remedy, policy: Policy, incident: str) -> _Content | None:
    """What would be done now; None while nobody knows which jobs are on the node."""
    jobs = jobs_of(ctx, remedy)
    if jobs is None:
        return None
    led = msgspec.structs.replace(remedy, policy=policy, incident=incident)
    spare = drawn(ctx, led)[1] if policy.draw_spare else None
    return _Content(
        of=(remedy.node, ctx.target(remedy), incident, policy),
        # The reason why there is no spare may change each second.
        steps=[step for step in steps_of(ctx, led, policy) if step.kind is not Kind.DRAW_SPARE],
        owners=[(job, owner_of(ctx, led, job)) for job in sorted(jobs)],
        spare=spare.name if isinstance(spare, Drawn) else "",
    )
