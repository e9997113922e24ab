"""Nodes and devices of a fleet that are not well now, as changes that go on. Pure.

A hub has no event for what was so before it started, nor for failing health while the device answers.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.fleet.names import SPEAKING, NodeState
from accelwatch.fleet.picture.incidents import OVER, seconds_of, status_of
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.wire import DeviceNow
from accelwatch.schema.event import SEVERITIES
from accelwatch.schema.health import Health
from accelwatch.schema.status.device_status import BAD, effective_state, severity
from accelwatch.tui.drawing.device_signs import device_status_text
from accelwatch.tui.events.changes import Change

# A node, and a device of it by its id; without a device the node itself.
Subject = tuple[str, str]

# Nodes that stopped answering; a node that never answered has not changed.
_SILENT: dict[str, str] = {NodeState.STALE: "warning", NodeState.DOWN: "critical"}
_FINE = frozenset({Health.OK, Health.UNKNOWN})
_ANSWERING = frozenset({"ok", "degraded", "failed"})
_UNHEARD = frozenset({"stale", "unreachable"})
_UNKNOWN = "start time unknown"
# Family of the rules about what a device says of its own health.
_HEALTH = "device.health"


def unhealthy_changes(view: FleetView, reported: Collection[Subject]) -> list[Change]:
    """Those without an event; `reported` are the subjects that have an event.

    Where nothing else says since when, an open incident of the subject that fits the state does.
    """
    changes = [*_nodes(view), *_devices(view)]
    unreported = [change for change in changes if (change.node, change.device_id) not in reported]
    if all(change.dated for change in unreported):
        return unreported
    incidents = _open_incidents(view)
    return [
        _dated(change, _since(change, incidents.get((change.node, change.device_id), [])))
        for change in unreported
    ]


def _open_incidents(view: FleetView) -> Mapping[Subject, list[IncidentDocument]]:
    by_subject: dict[Subject, list[IncidentDocument]] = defaultdict(list)
    for entry in view.incidents:
        incident = entry.incident
        if seconds_of(incident.since) and not incident.group and status_of(incident) != OVER:
            by_subject[incident.node, incident.device].append(incident)
    return by_subject


def _since(change: Change, incidents: Iterable[IncidentDocument]) -> float:
    """Since when the incidents say that it is so; 0 where none of them fits.

    One about the health of the device fits best. Of the others a milder one is about something else.
    """
    fitting = [
        (incident.family != _HEALTH, seconds_of(incident.since))
        for incident in incidents
        if incident.family == _HEALTH or _at_least(incident.severity, change.severity)
    ]
    return min(fitting)[1] if fitting else 0.0


def _at_least(severity: str, level: str) -> bool:
    return severity in SEVERITIES and SEVERITIES.index(severity) <= SEVERITIES.index(level)


def _dated(change: Change, since: float) -> Change:
    if change.dated or not since:
        return change
    text = "" if change.text == _UNKNOWN else change.text
    return msgspec.structs.replace(change, started_at=since, dated=True, text=text)


def _nodes(view: FleetView) -> Iterator[Change]:
    for node in view.nodes:
        level = _SILENT.get(node.state)
        if level is not None:
            yield _change(view, (node.node, ""), node.state, level, node.age_s, text=node.why)


def _devices(view: FleetView) -> Iterator[Change]:
    """While a node is silent, that it is says it of its devices."""
    speaking = {node.node for node in view.nodes if node.state in SPEAKING}
    for device in view.devices:
        if device.state == "ok" and device.health in _FINE:
            continue
        location, status = view.slots[device.slot], effective_state(device.state, device.health)
        if location is not None and location.node in speaking and severity(status):
            subject, age_s = (location.node, location.id), _silent_s(device, status)
            yield _change(
                view, subject, device_status_text(status), _level(status), age_s, name=location.name
            )


def _level(status: str) -> str:
    """As events have it; that no data from a device says nothing about the device itself."""
    return "critical" if severity(status) >= BAD and status not in _UNHEARD else "warning"


def _silent_s(device: DeviceNow, status: str) -> float | None:
    """How long a device has not answered; one that answers does not say since when it is unwell."""
    return None if status in _ANSWERING else device.sample_age_s


def _change(
    view: FleetView,
    subject: Subject,
    label: str,
    level: str,
    age_s: float | None,
    *,
    name: str = "",
    text: str = "",
) -> Change:
    node, device_id = subject
    return Change(
        key=(*subject, label),
        label=label,
        started_at=view.time - (age_s or 0.0),
        dated=age_s is not None,
        severity=level,
        node=node,
        device_id=device_id,
        name=name,
        text=text or ("" if age_s is not None else _UNKNOWN),
    )
