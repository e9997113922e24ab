"""Which step quarantines a single device of a node, or releases all of them. Pure."""

import json

from accelwatch.action.intent import DeviceKey, Intent
from accelwatch.action.observed import HoldState
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Step
from accelwatch_kubernetes.devices.drivers import PublishedDevice, own_taints, published
from accelwatch_kubernetes.devices.own_keys import RULES, SLICES, VERSION
from accelwatch_kubernetes.devices.taint_rule import (
    TaintRule,
    is_enforced,
    rule_name,
    rules_of,
    rules_on,
)
from accelwatch_kubernetes.marks.hold_state import hold_state_of
from accelwatch_kubernetes.objects.resource_slice import slices_of
from accelwatch_kubernetes.observed_context import ObservedContext
from accelwatch_kubernetes.proposals.quarantine import (
    foreign_text,
    missing,
    propose_quarantine,
    propose_release,
)
from accelwatch_kubernetes.settings.options import DeviceEffect
from accelwatch_kubernetes.steps import TAINT_DEVICE, UNTAINT_DEVICE

_LEVEL_NODE = "take out the whole node (quarantine: {level: node})"
# The one with which the eviction of a taint heeds tolerations and pods with extended resources.
_COMPLETE_EVICTION = "v1"


def propose_out(intent: Intent, context: ObservedContext) -> Proposal:
    """The devices that an intent names, else the whole node."""
    if intent.devices:
        return _propose_devices(intent, context)
    proposal = propose_quarantine(intent, context)
    foreign = isinstance(proposal, Refusal) and proposal.kind is RefusalKind.FOREIGN
    if foreign and ours_on(context, intent.node):
        # Others hold the node besides us: our devices are not handed over with it.
        return Refusal(RefusalKind.NOT_ALLOWED, proposal.text)
    return proposal


def propose_back(intent: Intent, context: ObservedContext) -> Proposal:
    """Our rules first, one after the other, and then our mark on the node."""
    for rule in ours_on(context, intent.node):
        hold = rule.hold
        if hold is None or hold.incident != intent.mark.incident:
            continue
        if hold.token > intent.mark.token:
            text = f"{hold.device} of {intent.node} is held by a newer engine"
            return Refusal(RefusalKind.FOREIGN, text)
        return Step(
            kind=UNTAINT_DEVICE,
            arguments={"name": rule.metadata.name, "version": context.own.get(VERSION, "")},
            precondition={"uid": rule.metadata.uid},
            original={"hold": hold.text()},
            text=f"remove our taint from {hold.device} of {intent.node}{_driver_text(context, rule)}",
        )
    return propose_release(intent, context)


def ours_on(context: ObservedContext, node: str) -> tuple[TaintRule, ...]:
    """Our rules for a node, the oldest first."""
    return rules_on(rules_of(context.own.get(RULES, "")), node, context.options.hub)


def _propose_devices(intent: Intent, context: ObservedContext) -> Proposal:
    if context.options.devices is None:
        text = f"the action does not take out single devices; set devices, or {_LEVEL_NODE}"
        return Refusal(RefusalKind.IMPOSSIBLE, text)
    if context.node is None:
        return missing(intent.node)
    state, ours = hold_state_of(context.node, context.options), ours_on(context, intent.node)
    if state is HoldState.OURS:
        return Achieved(f"all of {intent.node} is held by us already")
    if state in (HoldState.FOREIGN, HoldState.DOWN) and not ours:
        return Refusal(RefusalKind.FOREIGN, foreign_text(context.node, context))
    if refusal := _not_served(context):
        return refusal
    for device in intent.devices:
        proposal = _propose_device(intent, context, device)
        if not isinstance(proposal, Achieved):
            return proposal
    return Achieved(f"{', '.join(device.id for device in intent.devices)} is tainted by us")


def _not_served(context: ObservedContext) -> Refusal | None:
    version, options = context.own.get(VERSION, ""), context.options.devices
    if not version:
        text = f"the API server serves no DeviceTaintRule (resource.k8s.io, from 1.33 on); {_LEVEL_NODE}"
        return Refusal(RefusalKind.IMPOSSIBLE, text)
    evicts = options is not None and options.effect is DeviceEffect.NO_EXECUTE
    if evicts and version != _COMPLETE_EVICTION:
        text = (
            f"with {version} the eviction of a device taint may miss tolerations and pods with "
            "extended resources; set devices: {effect: NoSchedule}"
        )
        return Refusal(RefusalKind.NOT_ALLOWED, text)
    return None


def _propose_device(intent: Intent, context: ObservedContext, device: DeviceKey) -> Proposal:
    ours = {rule.device: rule for rule in ours_on(context, intent.node)}
    matches = published(device, slices_of(context.own.get(SLICES, "")))
    covered = [
        rule for rule in ours.values() if rule.hold is not None and rule.hold.device == device.id
    ]
    if not matches and covered and all(map(is_enforced, covered)):
        # Its driver publishes it no more, as one that is gone from the bus.
        return Achieved(f"{device.id} is tainted by us")
    if not matches:
        return Refusal(RefusalKind.IMPOSSIBLE, _unpublished_text(intent, context, device))
    for target in matches:
        rule = ours.get(target)
        if rule is None:
            return _taint(intent, context, device, target, "")
        if _has_effect(rule, context):
            if not is_enforced(rule):
                counted = rule.eviction or "the server has not counted yet"
                text = f"effect None takes nothing out; with NoExecute: {counted}"
                return Refusal(RefusalKind.NOT_ALLOWED, text)
            continue
        return _taint(intent, context, device, target, rule.metadata.uid)
    return Achieved(f"{device.id} is tainted by us")


def _has_effect(rule: TaintRule, context: ObservedContext) -> bool:
    options = context.options.devices
    return options is not None and rule.spec.taint.effect == options.effect.value


def _taint(
    intent: Intent,
    context: ObservedContext,
    device: DeviceKey,
    target: PublishedDevice,
    existing_uid: str,
) -> Step:
    effect = (
        DeviceEffect.NO_SCHEDULE
        if context.options.devices is None
        else context.options.devices.effect
    )
    return Step(
        kind=TAINT_DEVICE,
        arguments={
            "name": rule_name(target, context.options.hub),
            "version": context.own.get(VERSION, ""),
            "node": intent.node,
            "id": device.id,
            "driver": target.driver,
            "pool": target.pool,
            "device": target.device,
            "effect": effect.value,
            "incident": intent.mark.incident,
            "rule": intent.rule,
            "reason": intent.reason,
        },
        precondition={"uid": existing_uid},
        original={"device": json.dumps([target.driver, target.pool, target.device])},
        text=f"taint {target} of {intent.node} with {context.options.taint}:{effect.value}",
    )


def _unpublished_text(intent: Intent, context: ObservedContext, device: DeviceKey) -> str:
    slices = slices_of(context.own.get(SLICES, ""))
    if not slices:
        return (
            f"{intent.node} has no DRA driver: of a device plug-in only the plug-in itself can take a "
            f"device out, by telling the kubelet that it is unhealthy; {_LEVEL_NODE}"
        )
    drivers = ", ".join(sorted({entry.spec.driver for entry in slices}))
    ids = ", ".join(filter(None, (device.id, device.serial, device.slot))) or "no id"
    return f"no device of {intent.node} that {drivers} publishes has {ids}; {_LEVEL_NODE}"


def _driver_text(context: ObservedContext, rule: TaintRule) -> str:
    """What remains of others: a driver's own taint goes with the driver's restart only."""
    slices = slices_of(context.own.get(SLICES, ""))
    left = [taint for device, taint in own_taints(slices) if device == rule.device]
    if not left:
        return ""
    return f"; its driver's own taint {', '.join(left)} stays until that removes it or is restarted"
