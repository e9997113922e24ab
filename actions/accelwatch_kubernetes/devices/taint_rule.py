"""The DeviceTaintRule by which we quarantine a device, and what it says of us. Pure.

A rule whose selector is empty taints every device of the cluster, and with NoExecute evicts every pod
that uses one. So a selector has driver, pool and device, or there is no rule.
"""

import hashlib
from collections.abc import Iterable
from functools import lru_cache

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch_kubernetes.devices.drivers import PublishedDevice
from accelwatch_kubernetes.marks.hold import HOLD, AnnotationValue, label_value
from accelwatch_kubernetes.objects.metadata import Metadata
from accelwatch_kubernetes.settings.options import DeviceEffect, KubernetesOptions

GROUP, RESOURCE = "resource.k8s.io", "devicetaintrules"
# The newest first: where a server serves several, that is used.
RULE_VERSIONS = ("v1", "v1beta2", "v1alpha3")
MANAGED_BY = "app.kubernetes.io/managed-by"
HUB, NODE_LABEL = "accelwatch.io/hub", "accelwatch.io/node"
OURS = "accelwatch"
_EVICTION = "EvictionInProgress"


class DeviceHold(AnnotationValue, frozen=True, kw_only=True):
    """What the annotation of a rule says, and of which device of which node."""

    node: str
    # As the incident names the device.
    device: str
    rule: str = ""
    reason: str = ""


class RuleSelector(msgspec.Struct, frozen=True, kw_only=True):
    """Which devices a rule is about; what is missing matches all."""

    driver: str = ""
    pool: str = ""
    device: str = ""


class RuleTaint(msgspec.Struct, frozen=True, kw_only=True):
    """The taint of a rule."""

    key: str = ""
    effect: str = ""


class RuleSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a rule does to which devices."""

    device_selector: RuleSelector | None = None
    taint: RuleTaint = RuleTaint()


class RuleCondition(msgspec.Struct, frozen=True, kw_only=True):
    """What the eviction controller says of a rule."""

    type: str = ""
    message: str = ""


class RuleStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Whom it evicts, or would evict."""

    conditions: tuple[RuleCondition, ...] | None = ()


class TaintRule(msgspec.Struct, frozen=True, kw_only=True):
    """A DeviceTaintRule."""

    metadata: Metadata = Metadata()
    spec: RuleSpec = RuleSpec()
    status: RuleStatus = RuleStatus()

    @property
    def hold(self) -> DeviceHold | None:
        """What its annotation says; None for a rule that is not ours."""
        return _hold_in(self.metadata.annotations.get(HOLD, ""))

    @property
    def device(self) -> PublishedDevice | None:
        """The device that it is about; None for one that is about several."""
        selector = self.spec.device_selector or RuleSelector()
        if not (selector.driver and selector.pool and selector.device):
            return None
        return PublishedDevice(selector.driver, selector.pool, selector.device)

    @property
    def eviction(self) -> str:
        """What the server says of whom it evicts, or would evict; empty before it has counted."""
        messages = (
            entry.message for entry in self.status.conditions or () if entry.type == _EVICTION
        )
        return next(messages, "")


class _RuleList(msgspec.Struct, frozen=True, kw_only=True):
    items: tuple[TaintRule, ...] | None = ()


_DECODER = msgspec.json.Decoder(_RuleList)


# One list is read for each node that it is asked about.
@lru_cache(maxsize=256)
def rules_of(text: str) -> tuple[TaintRule, ...]:
    """The rules of a list as JSON. Raises ValueError."""
    return (_DECODER.decode(text).items or ()) if text else ()


# Annotations are read at each list, and seldom change.
@lru_cache(maxsize=4096)
def _hold_in(text: str) -> DeviceHold | None:
    try:
        return msgspec.json.decode(text, type=DeviceHold) if text else None
    except DECODE_ERRORS:
        return None


def rules_on(rules: Iterable[TaintRule], node: str, hub: str) -> tuple[TaintRule, ...]:
    """Those of this hub for a node, the oldest first."""
    ours = [
        rule
        for rule in rules
        if rule.hold is not None and rule.hold.by == hub and rule.hold.node == node
    ]
    return tuple(sorted(ours, key=_age))


def _age(rule: TaintRule) -> tuple[float, str]:
    return (0.0 if rule.hold is None else rule.hold.since), rule.metadata.name


def is_enforced(rule: TaintRule) -> bool:
    """Whether a rule keeps pods from the device; one with the effect None only counts them."""
    return rule.spec.taint.effect in (DeviceEffect.NO_SCHEDULE, DeviceEffect.NO_EXECUTE)


def rule_name(device: PublishedDevice, hub: str) -> str:
    """The same for the same device and hub, so that a rule is never there twice."""
    identity = "\0".join((hub, device.driver, device.pool, device.device))
    return f"accelwatch-{hashlib.sha256(identity.encode()).hexdigest()[:24]}"


def new_rule(
    device: PublishedDevice, hold: DeviceHold, options: KubernetesOptions, version: str
) -> dict[str, object]:
    """The rule as it is sent. Raises ValueError where it would be about more than one device."""
    if not (device.driver and device.pool and device.device):
        raise ValueError("a rule without driver, pool and device would taint other devices, too")
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "DeviceTaintRule",
        "metadata": {
            "name": rule_name(device, options.hub),
            "labels": labels_of(hold.node, options.hub),
            "annotations": {HOLD: hold.text()},
        },
        "spec": {
            "deviceSelector": {
                "driver": device.driver,
                "pool": device.pool,
                "device": device.device,
            },
            "taint": taint_of_rule(hold.rule, options),
        },
    }


def labels_of(node: str, hub: str) -> dict[str, str]:
    """By which our rules of a node are selected; of a long name the value is its beginning."""
    return {MANAGED_BY: OURS, HUB: label_value(hub) or OURS, NODE_LABEL: label_value(node)}


def taint_of_rule(rule: str, options: KubernetesOptions) -> dict[str, str]:
    """The taint; when it was added is the server's to say."""
    effect = DeviceEffect.NO_SCHEDULE if options.devices is None else options.devices.effect
    taint = {"key": options.taint, "effect": effect.value}
    if value := label_value(rule):
        taint["value"] = value
    return taint
