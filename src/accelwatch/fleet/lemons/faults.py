"""Which incidents are confirmed faults of hardware, whose they are, and how much each weighs. Pure.

A rule that fires has confirmed its condition; its advice says whether it blames the hardware.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import msgspec

from accelwatch.alerting.incidents.grouping.grouping_key import NODE
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.silence import Maintenance, Silence
from accelwatch.alerting.rules.document import Advice, Scope, Severity
from accelwatch.base.names.hardware_keys import keys_of

# Advice that blames a device or a node. `restart` is for an application's own error, `wait` for what
# befalls many, and `none` says nothing of hardware.
BLAMING = frozenset({Advice.RESET, Advice.REBOOT, Advice.REPLACE, Advice.EXCLUDE})
# A warning weighs half of a failure (remediation.md 3.11: watch 0.5, reset 1); information nothing.
WEIGHTS: Mapping[Severity, float] = MappingProxyType(
    {Severity.WARNING: 0.5, Severity.CRITICAL: 1.0}
)
# What the detector suspects confirms nothing: its own findings would lower its own thresholds.
_SUSPICION = "detector."

MuteSources = Sequence[Silence | Maintenance]


class Fault(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One confirmed fault; what is not known, or does not apply, is empty."""

    # Id of the incident, or of that of the group that it is part of.
    incident: str
    # Unix seconds at which it began.
    time: float
    rule: str
    title: str
    severity: str
    node: str
    # The device's id, name, serial number and PCI address; empty for a fault of the node.
    device: str = ""
    device_name: str = ""
    model: str = ""
    serial: str = ""
    slot: str = ""
    weight: float = 1.0

    @property
    def keys(self) -> tuple[str, ...]:
        """Whose it is: `node:NODE`, `slot:NODE/ADDRESS`, `serial:NUMBER`."""
        return keys_of(self.node, slot=self.slot, serial=self.serial)


def fault_of(
    incident: Incident, groups: Mapping[str, Incident], mutes: MuteSources
) -> Fault | None:
    """The fault that an incident is; None where it is none.

    `groups` has the incidents of groups by id, `mutes` the silences and windows of the time.
    """
    if not _is_confirmed(incident) or _is_muted(incident, mutes):
        return None
    fault = Fault(
        incident=incident.id,
        time=incident.since,
        rule=incident.rule,
        title=incident.title,
        severity=incident.severity.value,
        node=incident.entity.node,
        weight=WEIGHTS[incident.severity],
    )
    if incident.group:
        group = groups.get(incident.group)
        # What befell several devices of a node at once is one fault, of the node. What befell
        # several nodes has its cause somewhere else.
        if group is None or group.group or not group.entity.group.startswith(NODE):
            return None
        return msgspec.structs.replace(fault, incident=group.id, title=group.title)
    if incident.entity.scope is Scope.NODE:
        return fault
    facts = incident.facts
    return msgspec.structs.replace(
        fault,
        device=incident.entity.device,
        device_name=facts.device_name,
        model=facts.model,
        serial=facts.serial,
        slot=facts.slot,
    )


def _is_confirmed(incident: Incident) -> bool:
    of_hardware = incident.entity.scope in (Scope.DEVICE, Scope.NODE) and incident.entity.node
    if not of_hardware or incident.entity.group or incident.advice not in BLAMING:
        return False
    # What follows another incident is its consequence.
    counts = incident.severity in WEIGHTS and incident.trusted and not incident.follows
    return counts and not incident.rule.startswith(_SUSPICION)


def _is_muted(incident: Incident, mutes: MuteSources) -> bool:
    """Whether a silence or maintenance was in force when it was opened, and when it came back.

    One that is silenced later counts: that is how people work on a fault in peace.
    """
    labels = incident.labels() if mutes else {}
    return all(
        any(_mutes(source, incident, labels, at) for source in mutes)
        for at in {incident.opened, incident.started_at}
    )


def _mutes(
    source: Silence | Maintenance, incident: Incident, labels: Mapping[str, str], at: float
) -> bool:
    if isinstance(source, Silence):
        return source.mutes(labels, at)
    return source.covers(incident.nodes, at)


def distinct(faults: Iterable[Fault]) -> list[Fault]:
    """One for each incident, the first to begin first; of a group the worst counts."""
    by_incident: dict[str, Fault] = {}
    for fault in faults:
        other = by_incident.get(fault.incident)
        if other is None or (fault.weight, -fault.time) > (other.weight, -other.time):
            by_incident[fault.incident] = fault
    return sorted(by_incident.values(), key=lambda fault: (fault.time, fault.incident))
