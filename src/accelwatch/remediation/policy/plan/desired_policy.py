"""The policy for a quarantined node: the strictest of all that the open rules want of it now. Pure.

The rule that comes first quarantines a node, which may then wait until its jobs have ended. A rule
that fires later may want them to leave now. Its policy then replaces the first, as far as its own
mode and every guard would let it quarantine the node; when that fault is over, the first
counts again.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from accelwatch.alerting.rules.document import QuarantineLevel, When
from accelwatch.remediation.policy.context.cases import leading, with_desired_policy
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.jobs.jobs import LEAVING
from accelwatch.remediation.policy.plan.case_guards import may_lead
from accelwatch.remediation.policy.plan.device_level import at_node_level, node_is_desired
from accelwatch.remediation.policy.state.case import Policy
from accelwatch.remediation.policy.state.model import Remedy

replace = msgspec.structs.replace
_SOONER: Mapping[When, int] = MappingProxyType(
    {When.AFTER_JOB: 0, When.AT_CHECKPOINT: 1, When.NOW: 2}
)


class DesiredPolicy(NamedTuple):
    """A policy, and the incident whose rule wants it; empty: the policy of the quarantine."""

    policy: Policy
    incident: str = ""


def strictness(policy: Policy) -> tuple[bool, int, bool, bool]:
    """Greater is stricter: jobs leave, at once, whatever the rule wants of them, and the whole node."""
    leave = policy.job in LEAVING
    is_node_level = policy.level is QuarantineLevel.NODE
    return leave and policy.when is not When.AFTER_JOB, _SOONER[policy.when], leave, is_node_level


def strictest(ctx: StepView, remedy: Remedy) -> DesiredPolicy | None:
    """What counts now of all that is wanted of a node that is out; None if a person has it in hand."""
    first = remedy.first_policy or remedy.policy
    if first is None or remedy.approval.manual:
        return None
    best = DesiredPolicy(first)
    cases = leading(ctx, remedy)
    # Of two that are alike the one that counts already goes on.
    cases.sort(key=lambda case: case.incident != remedy.led_by)
    for case in map(with_desired_policy, cases):
        is_stricter = strictness(case.policy) > strictness(best.policy)
        if is_stricter and may_lead(ctx, remedy, case):
            best = DesiredPolicy(case.policy, case.incident)
    # Who wants a device out at once does not leave the rest in that another rule wants out.
    if best.policy.level is QuarantineLevel.DEVICE and (
        first.level is QuarantineLevel.NODE or node_is_desired(ctx, remedy, cases)
    ):
        return DesiredPolicy(at_node_level(best.policy), best.incident)
    return best


def is_otherwise(ctx: StepView, remedy: Remedy) -> bool:
    """Whether another policy counts now than the one that the node has."""
    desired = strictest(ctx, remedy)
    if desired is None or remedy.policy is None:
        return False
    return desired.incident != remedy.led_by or strictness(desired.policy) != strictness(
        remedy.policy
    )


def led_by(remedy: Remedy, desired: DesiredPolicy) -> Remedy:
    """The remedy by another policy; its release needs the most that was wanted so far."""
    before = remedy.policy or desired.policy
    policy = replace(
        desired.policy,
        passive_s=max(desired.policy.passive_s, before.passive_s),
        tests=tuple(dict.fromkeys((*desired.policy.tests, *before.tests))),
        probation_s=max(desired.policy.probation_s, before.probation_s),
    )
    return replace(
        remedy,
        policy=policy,
        first_policy=(remedy.first_policy or before) if desired.incident else None,
        led_by=desired.incident,
        repair=replace(
            remedy.repair, rung=remedy.repair.rung if policy.ladder == before.ladder else 0
        ),
    )


def policy_text(policy: Policy) -> str:
    """For people: what a policy wants of the jobs on a node."""
    if policy.job not in LEAVING:
        return f"out {policy.when.value.replace('_', ' ')}, its jobs left alone"
    return f"its jobs to leave ({policy.job}) {policy.when.value.replace('_', ' ')}"
