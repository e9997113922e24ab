"""Nodes and devices of a fleet that are not well now, as changes that go on. Pure.

A hub tells no event of what was so before it began, nor of a health that fails while the device answers.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.fleet.names import SPEAKING, NodeState
from accelwatch.fleet.picture.incidents import OVER, moment
from accelwatch.fleet.picture.incidents import standing as standing_of
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.wire import DeviceNow
from accelwatch.schema.event import SEVERITIES
from accelwatch.schema.health import Health
from accelwatch.schema.standing import BAD, severity, standing
from accelwatch.tui.drawing.device_signs import device_word
from accelwatch.tui.local.changes import Change

Subject = tuple[str, str]
"""A node, and a device of it by its id; without a device the node itself."""

_SILENT: dict[str, str] = {NodeState.STALE: "warning", NodeState.DOWN: "critical"}
"""Nodes that are not heard any more; one that was never heard has not changed."""
_FINE = frozenset({Health.OK, Health.UNKNOWN})
_ANSWERING = frozenset({"ok", "degraded", "failed"})
_UNHEARD = frozenset({"stale", "unreachable"})
_UNKNOWN = "start time unknown"
_HEALTH = "device.health"
"""Family of the rules about what a device says of its own health."""


def unwell(view: FleetView, told: Collection[Subject]) -> list[Change]:
    """Those of which no event tells; `told` are the subjects of which one does.

    Where nothing else says since when, an open incident of the subject that fits the state does.
    """
    changes = [*_nodes(view), *_devices(view)]
    untold = [one for one in changes if (one.node, one.device_id) not in told]
    if all(one.dated for one in untold):
        return untold
    incidents = _open_incidents(view)
    return [
        _dated(one, _since(one, incidents.get((one.node, one.device_id), []))) for one in untold
    ]


def _open_incidents(view: FleetView) -> Mapping[Subject, list[IncidentDocument]]:
    found: dict[Subject, list[IncidentDocument]] = defaultdict(list)
    for known in view.incidents:
        incident = known.incident
        if moment(incident.since) and not incident.group and standing_of(incident) != OVER:
            found[incident.node, incident.device].append(incident)
    return found


def _since(change: Change, incidents: Iterable[IncidentDocument]) -> float:
    """Since when the incidents say that it is so; 0 where none of them fits.

    One about the health of the device fits best. Of the others a milder one is about something else.
    """
    fitting = [
        (one.family != _HEALTH, moment(one.since))
        for one in incidents
        if one.family == _HEALTH or _at_least(one.severity, change.severity)
    ]
    return min(fitting)[1] if fitting else 0.0


def _at_least(severity: str, level: str) -> bool:
    return severity in SEVERITIES and SEVERITIES.index(severity) <= SEVERITIES.index(level)


def _dated(change: Change, since: float) -> Change:
    if change.dated or not since:
        return change
    text = "" if change.text == _UNKNOWN else change.text
    return msgspec.structs.replace(change, began=since, dated=True, text=text)


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
        place, word = view.places[device.slot], standing(device.state, device.health)
        if place is not None and place.node in speaking and severity(word):
            subject, age_s = (place.node, place.id), _silent_s(device, word)
            yield _change(view, subject, device_word(word), _level(word), age_s, name=place.name)


def _level(word: str) -> str:
    """As events have it; that nothing was heard of a device says nothing about the device itself."""
    return "critical" if severity(word) >= BAD and word not in _UNHEARD else "warning"


def _silent_s(device: DeviceNow, word: str) -> float | None:
    """How long a device has not answered; one that answers tells not since when it is unwell."""
    return None if word in _ANSWERING else device.sample_age_s


def _change(
    view: FleetView,
    subject: Subject,
    word: str,
    level: str,
    age_s: float | None,
    *,
    name: str = "",
    text: str = "",
) -> Change:
    node, device_id = subject
    return Change(
        key=(*subject, word),
        word=word,
        began=view.time - (age_s or 0.0),
        dated=age_s is not None,
        severity=level,
        node=node,
        device_id=device_id,
        name=name,
        text=text or ("" if age_s is not None else _UNKNOWN),
    )
