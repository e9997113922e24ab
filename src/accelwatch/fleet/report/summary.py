"""What a report says, from the documents of a hub. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from accelwatch.alerting.evaluation.documents import IncidentDocument, IncidentsPage
from accelwatch.alerting.rules.document import Severity
from accelwatch.fleet.avoid.documents import AvoidPage
from accelwatch.fleet.odd.documents import OddPage
from accelwatch.fleet.wire import FleetDocument
from accelwatch.schema.timestamps import unix_seconds

# Incidents of one device, or one node, from which on it is a repeat offender.
LEAST_REPEATS = 2
_COUNTED = frozenset({Severity.WARNING.value, Severity.CRITICAL.value})


class ReportDocuments(msgspec.Struct, frozen=True, kw_only=True):
    """The documents that a report is made from."""

    fleet: FleetDocument
    incidents: IncidentsPage
    odd: OddPage
    avoid: AvoidPage


class Offender(msgspec.Struct, frozen=True, kw_only=True):
    """A device or a node that had incidents again and again."""

    # The device's serial, else its node and name; a node's name.
    what: str
    model: str
    # Where it was meanwhile: the faults of a device move with it.
    nodes: tuple[str, ...]
    count: int
    # Each rule and how often it was, the most frequent first.
    rules: tuple[tuple[str, int], ...]
    first: str
    # When the first and the last of them began, RFC 3339.
    last: str


def chosen(page: IncidentsPage, start: float, node: str) -> list[IncidentDocument]:
    """Incidents that are open, or ended after `start` (Unix seconds); of one node, if one is given.

    Those of severity info, and parts of a group's incident, are left out. The latest to begin is first.
    """
    matches = [
        incident
        for incident in page.incidents
        if incident.severity in _COUNTED
        and not incident.group_incident
        and (node == "" or node in incident.nodes)
        and (incident.closed is None or unix_seconds(incident.closed) >= start)
    ]
    return sorted(matches, key=lambda incident: incident.since, reverse=True)


def offenders(page: IncidentsPage, start: float, node: str) -> list[Offender]:
    """Devices and nodes with several incidents, the most first.

    Parts of a group count here: the group is one message, but each device failed for itself. What
    follows another incident is its consequence and does not count.
    """
    by_identity: dict[str, list[IncidentDocument]] = {}
    for incident in page.incidents:
        recent = incident.closed is None or unix_seconds(incident.closed) >= start
        if incident.severity not in _COUNTED or not incident.node or incident.follows or not recent:
            continue
        if node in ("", incident.node):
            by_identity.setdefault(_identity(incident), []).append(incident)
    repeated = [
        _offender(what, of_it)
        for what, of_it in by_identity.items()
        if _times(of_it) >= LEAST_REPEATS
    ]
    return sorted(repeated, key=lambda offender: (-offender.count, offender.what))


def _identity(incident: IncidentDocument) -> str:
    if not incident.device:
        return f"node {incident.node}"
    if incident.serial:
        return f"serial {incident.serial}"
    return f"{incident.node}/{incident.device_name}"


def _times(incidents: Iterable[IncidentDocument]) -> int:
    return sum(1 + incident.reopened for incident in incidents)


def _offender(what: str, incidents: Sequence[IncidentDocument]) -> Offender:
    starts = sorted(incident.since for incident in incidents)
    rules = Counter({incident.rule: 0 for incident in incidents})
    for incident in incidents:
        rules[incident.rule] += 1 + incident.reopened
    return Offender(
        what=what,
        model=next((incident.model for incident in incidents if incident.model), ""),
        nodes=tuple(sorted({incident.node for incident in incidents})),
        count=_times(incidents),
        rules=tuple(rules.most_common()),
        first=starts[0],
        last=starts[-1],
    )
