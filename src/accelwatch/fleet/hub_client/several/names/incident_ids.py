"""Events and incidents of several hubs: by the names of the picture, ids with the hub's name. Pure.

Every hub numbers its incidents and silences from 1, so `i7` says nothing without its hub: `i7@pod-1`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.fleet.hub_client.several.names.locations import labelled
from accelwatch.fleet.hub_client.several.names.same_objects import same_objects
from accelwatch.fleet.hub_client.several.names.shared_nodes import AT, Ownership
from accelwatch.fleet.picture.model import MOST_EVENTS, FleetView
from accelwatch.fleet.wire import FleetEvent, IncidentNow, RulesNow


def with_hub(id_: str, hub: str) -> str:
    """An id as the picture has it; empty stays empty."""
    return f"{id_}{AT}{hub}" if id_ else ""


def split_id(id_: str, hubs: Sequence[str]) -> tuple[int, str] | None:
    """(number of the hub, its own id); None where no such hub is named."""
    own, _, hub = id_.rpartition(AT)
    return (hubs.index(hub), own) if own and hub in hubs else None


def incident_in(document: IncidentDocument, hub: int, owner: Ownership) -> IncidentDocument:
    """An incident of a hub by the names of the picture."""
    name = owner.hubs[hub]
    mute = document.muted_by
    return msgspec.structs.replace(
        document,
        id=with_hub(document.id, name),
        node=owner.name_of(hub, document.node),
        nodes=tuple(owner.name_of(hub, node) for node in document.nodes),
        members=tuple(with_hub(member, name) for member in document.members),
        group_incident=with_hub(document.group_incident, name),
        follows=with_hub(document.follows, name),
        muted_by=mute and msgspec.structs.replace(mute, id=with_hub(mute.id, name)),
        labels=labelled(document.labels, name),
    )


class Reports:
    """Events and incidents of all hubs; what has not changed stays the same object."""

    def __init__(self, hubs: int) -> None:
        self._event_sources: tuple[object, ...] = ()
        self._events: tuple[FleetEvent, ...] = ()
        self._incident_sources: tuple[object, ...] = ()
        self._incidents: tuple[IncidentNow, ...] = ()
        # Of each hub by id: the hub's own struct and ours.
        self._cached: list[dict[str, tuple[IncidentNow, IncidentNow]]] = [{} for _ in range(hubs)]
        self._owner: Ownership | None = None

    def events(self, views: Mapping[int, FleetView], owner: Ownership) -> Sequence[FleetEvent]:
        """The newest of all, oldest first; of a shared node those of the hub that speaks for it."""
        sources = (owner, *(view.events for view in views.values()))
        if not same_objects(sources, self._event_sources):
            events = [
                msgspec.structs.replace(event, node=owner.name_of(hub, event.node))
                if event.node in owner.renamed[hub]
                else event
                for hub, view in views.items()
                for event in view.events
                if event.node not in owner.hidden[hub]
            ]
            events.sort(key=lambda event: event.time)
            self._event_sources, self._events = sources, tuple(events[-MOST_EVENTS:])
        return self._events

    def incidents(self, views: Mapping[int, FleetView], owner: Ownership) -> Sequence[IncidentNow]:
        """Those of all hubs; of a shared node each hub has its own, and each is shown."""
        sources = (owner, *(view.incidents for view in views.values()))
        if not same_objects(sources, self._incident_sources):
            if owner is not self._owner:
                self._cached = [{} for _ in self._cached]
            incidents: list[IncidentNow] = []
            for hub, view in views.items():
                cached: dict[str, tuple[IncidentNow, IncidentNow]] = {}
                for entry in view.incidents:
                    existing = self._cached[hub].get(entry.incident.id)
                    ours = existing[1] if existing is not None and existing[0] is entry else None
                    if ours is None:
                        document = incident_in(entry.incident, hub, owner)
                        ours = msgspec.structs.replace(entry, incident=document)
                    cached[entry.incident.id] = entry, ours
                    incidents.append(ours)
                self._cached[hub] = cached
            self._owner = owner
            self._incident_sources, self._incidents = sources, tuple(incidents)
        return self._incidents


def rules_of(views: Mapping[int, FleetView], owner: Ownership) -> RulesNow | None:
    """How the evaluation of rules goes on all hubs; None where none says."""
    reports = {hub: view.rules for hub, view in views.items() if view.rules is not None}
    if not reports:
        return None
    opened: Counter[str] = Counter()
    for report in reports.values():
        opened.update(report.open)
    return RulesNow(
        evaluated=any(report.evaluated for report in reports.values()),
        # Hubs mostly have the same rules: their sum would be a number that nobody has written.
        rules=max(report.rules for report in reports.values()),
        problems=tuple(
            f"{owner.hubs[hub]}: {text}"
            for hub, report in reports.items()
            for text in report.problems
        ),
        open=dict(opened),
        muted=sum(report.muted for report in reports.values()),
        omitted=sum(report.omitted for report in reports.values()),
        is_reset=False,
    )
