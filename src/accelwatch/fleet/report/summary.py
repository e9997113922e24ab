"""What a report says, from the documents of a hub. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from accelwatch.alerting.evaluation.documents import IncidentDocument, IncidentsPage
from accelwatch.alerting.rules.document import Severity
from accelwatch.fleet.avoid.documents import AvoidPage
from accelwatch.fleet.odd.documents import OddPage
from accelwatch.fleet.wire import FleetDocument
from accelwatch.schema.moments import unix_seconds

LEAST_REPEATS = 2
"""Incidents of one device, or one node, from which on it is a repeat offender."""
_COUNTED = frozenset({Severity.WARNING.value, Severity.CRITICAL.value})


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The documents that a report is made from."""

    fleet: FleetDocument
    incidents: IncidentsPage
    odd: OddPage
    avoid: AvoidPage


class Offender(msgspec.Struct, frozen=True, kw_only=True):
    """A device or a node that had incidents again and again."""

    what: str
    """The device's serial, else its node and name; a node's name."""
    model: str
    nodes: tuple[str, ...]
    """Where it was meanwhile: a device that was moved takes its faults along."""
    count: int
    rules: tuple[tuple[str, int], ...]
    """Each rule and how often it was, the most frequent first."""
    first: str
    last: str
    """When the first and the last of them began, RFC 3339."""


def chosen(page: IncidentsPage, begin: float, node: str) -> list[IncidentDocument]:
    """Incidents that are open, or ended after `begin` (Unix seconds); of one node, if one is given.

    Those of severity info, and parts of a group's incident, are left out. The latest to begin is first.
    """
    found = [
        one
        for one in page.incidents
        if one.severity in _COUNTED
        and not one.part_of
        and (node == "" or node in one.nodes)
        and (one.closed is None or unix_seconds(one.closed) >= begin)
    ]
    return sorted(found, key=lambda one: one.since, reverse=True)


def offenders(page: IncidentsPage, begin: float, node: str) -> list[Offender]:
    """Devices and nodes with several incidents, the most first.

    Parts of a group count here: the group is one message, but each device failed for itself. What
    follows another incident is its consequence and does not count.
    """
    places: dict[str, list[IncidentDocument]] = {}
    for one in page.incidents:
        recent = one.closed is None or unix_seconds(one.closed) >= begin
        if one.severity not in _COUNTED or not one.node or one.follows or not recent:
            continue
        if node in ("", one.node):
            places.setdefault(_identity(one), []).append(one)
    found = [
        _offender(what, of_it) for what, of_it in places.items() if _times(of_it) >= LEAST_REPEATS
    ]
    return sorted(found, key=lambda one: (-one.count, one.what))


def _identity(incident: IncidentDocument) -> str:
    if not incident.device:
        return f"node {incident.node}"
    if incident.serial:
        return f"serial {incident.serial}"
    return f"{incident.node}/{incident.device_name}"


def _times(incidents: Iterable[IncidentDocument]) -> int:
    return sum(1 + one.reopened for one in incidents)


def _offender(what: str, incidents: Sequence[IncidentDocument]) -> Offender:
    begins = sorted(one.since for one in incidents)
    rules = Counter({one.rule: 0 for one in incidents})
    for one in incidents:
        rules[one.rule] += 1 + one.reopened
    return Offender(
        what=what,
        model=next((one.model for one in incidents if one.model), ""),
        nodes=tuple(sorted({one.node for one in incidents})),
        count=_times(incidents),
        rules=tuple(rules.most_common()),
        first=begins[0],
        last=begins[-1],
    )
