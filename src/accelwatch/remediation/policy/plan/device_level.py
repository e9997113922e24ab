"""What is to be out of a node: some of its devices, or the whole of it. Pure.

A node is out by one mark, of all its devices that are bad or of the whole node. The mark is widened when
another device is bad, or when a rule or a person wants the whole node; it is never narrowed before the
node is given back.
"""

from collections.abc import Sequence

import msgspec

from accelwatch.action.intent import DeviceKey
from accelwatch.alerting.rules.document import QuarantineLevel
from accelwatch.remediation.policy.context.cases import (
    case_to_repair,
    leading,
    with_desired_policy,
)
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.plan.case_guards import may_start
from accelwatch.remediation.policy.state.case import Case, Policy
from accelwatch.remediation.policy.state.model import Remedy

# No device has it: an action refuses it, and never quarantines the whole node instead.
_NO_DEVICE = DeviceKey("")


def desired_devices(ctx: StepView, remedy: Remedy, cases: Sequence[Case]) -> tuple[DeviceKey, ...]:
    """What alone is to be out of a node by its `leading` cases; empty for the whole node.

    The device of the case to repair is out in any case.
    """
    if _is_of_node(ctx, remedy, cases):
        return ()
    to_repair = case_to_repair(remedy, cases)
    led_by = None if to_repair is None else to_repair.incident
    desired = {
        case.device: DeviceKey(id=case.device, serial=case.serial, slot=case.slot)
        for case in map(with_desired_policy, cases)
        if case.policy.level is QuarantineLevel.DEVICE
        and case.device
        and (case.incident == led_by or may_start(ctx, remedy, case))
    }
    return tuple(sorted(desired.values())) or (_NO_DEVICE,)


def exceeds_quarantine(ctx: StepView, remedy: Remedy) -> bool:
    """Whether more of a node is to be quarantined than the devices that our mark names."""
    quarantine = remedy.hold
    if quarantine is None or quarantine.level is not QuarantineLevel.DEVICE:
        return False
    if remedy.policy is None and not remedy.approval.manual:
        return False
    cases = leading(ctx, remedy)
    desired = desired_devices(ctx, remedy, cases)
    return not desired or any(
        device.id and device.id not in quarantine.devices for device in desired
    )


def _is_of_node(ctx: StepView, remedy: Remedy, cases: Sequence[Case]) -> bool:
    if remedy.approval.manual:
        return True
    # A quarantined node has the level of its mark; any other that of its rule.
    out_by = remedy.hold or remedy.policy
    if out_by is None or out_by.level is not QuarantineLevel.DEVICE:
        return True
    return node_is_desired(ctx, remedy, cases)


def node_is_desired(ctx: StepView, remedy: Remedy, cases: Sequence[Case]) -> bool:
    """Whether a rule that may act now wants the whole node out; `cases` are its `leading` ones."""
    return any(
        case.policy.level is QuarantineLevel.NODE and may_start(ctx, remedy, case)
        for case in map(with_desired_policy, cases)
    )


def at_node_level(policy: Policy) -> Policy:
    """The same policy for the whole node."""
    return msgspec.structs.replace(policy, level=QuarantineLevel.NODE)
