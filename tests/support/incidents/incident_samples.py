"""Incidents that tests of alerts go by."""

from typing import Any

import msgspec

from accelwatch.alerting.incidents.model.incident import Facts, Incident, IncidentState
from accelwatch.alerting.rules.document import Advice, Confidence, Scope, Severity
from accelwatch.alerting.rules.verdict import Entity, Evidence

START = 1_795_317_247.0


def incident(number: int = 1, **fields: Any) -> Incident:
    """An open incident of a device of a node of its own; `at` moves all of its times."""
    at = fields.pop("at", START)
    node = fields.pop("node", f"n{number}")
    made = Incident(
        id=f"i{number}",
        family="nvidia.gpu.lost",
        rule="nvidia.gpu.lost",
        rules=("nvidia.gpu.lost",),
        rule_digest="d",
        title="GPU has fallen off the bus",
        entity=Entity(scope=Scope.DEVICE, node=node, device="nvidia:GPU-1"),
        facts=Facts(device_name="nvidia3", labels={"rack": "r7", "pool": "train"}),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        advice=Advice.REBOOT,
        since=at - 10,
        opened=at,
        updated=at,
        evidence=(Evidence(signal="device_up", text="device_up is 0 since 10 s"),),
        nodes=(node,),
        what_to_do="reboot the node",
    )
    return msgspec.structs.replace(made, **fields)


def later(before: Incident, at: float, **fields: Any) -> Incident:
    """The same incident, changed at a moment."""
    return msgspec.structs.replace(before, updated=at, **fields)


def over(before: Incident, at: float) -> Incident:
    """The same incident, closed at a moment."""
    return later(before, at, state=IncidentState.CLOSED, closed=at)


def storm(count: int, at: float = START) -> list[Incident]:
    """The members of a group and the group, as a tick gives them: each with the group that it is in."""
    members = [incident(number, at=at, group="i99") for number in range(1, count + 1)]
    nodes = tuple(one.entity.node for one in members)
    group = incident(
        99,
        at=at,
        entity=Entity(scope=Scope.DEVICE, group="rack=r7"),
        members=tuple(one.id for one in members),
        nodes=nodes,
        title=f"GPU has fallen off the bus: {count} nodes at once, rack r7",
    )
    return [*members, group]
