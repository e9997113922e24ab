"""What a person approves: a short name of what would be done to a node, another one for another plan."""

import hashlib

import msgspec

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.jobs.jobs import jobs_of
from accelwatch.remediation.policy.plan.planned_steps import steps_of, with_owner
from accelwatch.remediation.policy.plan.stand_ins import drawn
from accelwatch.remediation.policy.state.case import Policy
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.spares import Drawn


def digest_of(ctx: StepView, remedy: Remedy, policy: Policy, incident: str) -> str:
    """Sixteen hexadecimal digits over node, incident, rule, steps, jobs, their owners and the spare.

    Empty while nobody knows which jobs are on the node: there is no plan to say yes to.
    """
    jobs = jobs_of(ctx, remedy)
    if jobs is None:
        return ""
    led = msgspec.structs.replace(remedy, policy=policy, incident=incident)
    # Why there is no spare may be told otherwise each second.
    steps = sorted(step for step in steps_of(ctx, led, policy) if step[0] is not Kind.DRAW_SPARE)
    owned = sorted(with_owner(ctx, led, job) for job in jobs)
    keys = sorted(jobs)
    answer = drawn(ctx, led)[1] if policy.draw_spare else None
    spare = answer.name if isinstance(answer, Drawn) else ""
    content = (remedy.node, ctx.target(remedy), incident, policy, steps, keys, owned, spare)
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:16]
