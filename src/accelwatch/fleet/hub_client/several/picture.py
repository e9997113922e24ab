"""The pictures of several hubs as one. Each hub that is silent costs its own part: it stays, stale."""

from collections.abc import Mapping, Sequence

import msgspec

from accelwatch.base.slices import Steps, at_once
from accelwatch.fleet.hub_client.several.hub_picture import HubPicture, hub_state, totals_of
from accelwatch.fleet.hub_client.several.merging.totals import (
    added,
    numbers_of,
    stale,
    without,
)
from accelwatch.fleet.hub_client.several.names.incident_ids import Reports, rules_of
from accelwatch.fleet.hub_client.several.names.locations import Locations
from accelwatch.fleet.hub_client.several.names.shared_nodes import (
    Ownership,
    names_in_several,
    ownership,
)
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.wire import DeviceNow, DeviceTotals, FleetDocument, NodeNow

_NONE_SHARED: Mapping[str, frozenset[str]] = {}
# Nodes or devices in one step: a millisecond at most.
_AT_ONCE = 500


class SeveralPicture:
    """Mutable: remembers what did not change, and the uuids by which shared nodes are known."""

    def __init__(self, hubs: Sequence[str]) -> None:
        self.hubs = tuple(hubs)
        self.owner = ownership(hubs, [{}] * len(hubs), [_NONE_SHARED] * len(hubs))
        self._locations = Locations(len(hubs))
        self._reports = Reports(len(hubs))
        self._sequence = 0
        # Of each hub, the uuids of nodes that another hub knows by the same name.
        self._uuids: list[dict[str, frozenset[str]]] = [{} for _ in hubs]
        self._uuid_sources: list[object] = [None] * len(hubs)
        self._several: frozenset[str] = frozenset()
        # The last unfiltered view of each hub, which has the devices of hidden nodes.
        self._unfiltered: dict[int, FleetView] = {}

    def keep_unfiltered(self, hub: int, view: FleetView) -> None:
        """An unfiltered view of a hub: from it the devices of shared nodes are counted."""
        self._unfiltered[hub] = view

    def view(
        self,
        pictures: Mapping[int, HubPicture],
        condition: str,
        faults: Mapping[int, str],
        *,
        ages_of_now: bool = False,
    ) -> FleetView:
        """One picture of at least one hub's; `faults` are what is wrong with hubs, by number.

        Ages are as of the newest answer, at which the view arrived, unless they are wanted as of now.
        """
        return at_once(self.steps(pictures, condition, faults, ages_of_now=ages_of_now))

    def steps(
        self,
        pictures: Mapping[int, HubPicture],
        condition: str,
        faults: Mapping[int, str],
        *,
        ages_of_now: bool = False,
    ) -> Steps[FleetView]:
        """The same in steps; nothing else is asked of this picture before the last of them."""
        ordered = {hub: pictures[hub] for hub in sorted(pictures)}
        views = {hub: picture.view for hub, picture in ordered.items()}
        for hub, view in views.items():
            if not view.filter:
                self._unfiltered[hub] = view
        owner = self._owned(ordered)
        newest = min(ordered.values(), key=lambda picture: picture.age_s)
        as_of_s = 0.0 if ages_of_now else newest.age_s
        filters = {picture.view.filter for picture in ordered.values() if not picture.silent}
        chosen = condition if condition in filters else newest.view.filter
        sources = [views.get(hub) for hub in range(len(self.hubs))]
        self._sequence += 1
        nodes = yield from self._nodes(ordered, as_of_s)
        devices = yield from self._devices(ordered, chosen, as_of_s)
        return FleetView(
            sequence=self._sequence,
            time=newest.view.time,
            arrived_s=newest.view.arrived_s,
            interval_s=min(picture.view.interval_s for picture in ordered.values()),
            filter=chosen,
            sums=self._sums(ordered, faults, newest.view.sums),
            nodes=nodes,
            node_labels=self._locations.labels(
                [None if view is None else view.node_labels for view in sources], owner
            ),
            slots=self._locations.slots(
                [None if view is None else view.slots for view in sources], owner
            ),
            devices=devices,
            events=self._reports.events(views, owner),
            rules=rules_of(views, owner),
            incidents=self._reports.incidents(views, owner),
            hubs=tuple(
                hub_state(name, pictures.get(hub), faults.get(hub, ""), as_of_s)
                for hub, name in enumerate(self.hubs)
            ),
        )

    def _owned(self, pictures: Mapping[int, HubPicture]) -> Ownership:
        states: list[dict[str, str]] = [{} for _ in self.hubs]
        for hub, picture in pictures.items():
            states[hub] = {node.node: picture.node_state(node) for node in picture.view.nodes}
        several = names_in_several(states)
        for hub, picture in pictures.items():
            if several != self._several or self._uuid_sources[hub] is not picture.view.slots:
                self._uuid_sources[hub] = picture.view.slots
                self._remember_uuids(hub, picture.view, several)
        self._several = several
        owner = ownership(self.hubs, states, self._uuids)
        if owner != self.owner:
            self.owner = owner
        return self.owner

    def _remember_uuids(self, hub: int, view: FleetView, several: frozenset[str]) -> None:
        """A filter hides some devices: keep what was known of a node before."""
        matches: dict[str, set[str]] = {}
        for slot in view.slots if several else ():
            if slot is not None and slot.uuid and slot.node in several:
                matches.setdefault(slot.node, set()).add(slot.uuid)
        existing = {name: uuids for name, uuids in self._uuids[hub].items() if name in several}
        self._uuids[hub] = {
            **existing,
            **{name: frozenset(uuids) for name, uuids in matches.items()},
        }

    def _nodes(
        self, pictures: Mapping[int, HubPicture], age_s: float
    ) -> Steps[tuple[NodeNow, ...]]:
        owner = self.owner
        nodes: list[NodeNow] = []
        for hub, picture in _aged(pictures, age_s):
            for at, node in enumerate(picture.view.nodes):
                if at % _AT_ONCE == 0:
                    yield
                if node.node not in owner.hidden[hub]:
                    name = owner.name_of(hub, node.node)
                    nodes.append(picture.node(node, name, self.hubs[hub]))
        return tuple(nodes)

    def _devices(
        self, pictures: Mapping[int, HubPicture], condition: str, age_s: float
    ) -> Steps[tuple[DeviceNow, ...]]:
        count = len(self.hubs)
        devices: list[DeviceNow] = []
        for hub, picture in _aged(pictures, age_s):
            if picture.view.filter != condition:
                continue  # it has not followed yet, or refuses the filter
            hidden, slots = self.owner.hidden[hub], picture.view.slots
            for at, device in enumerate(picture.view.devices):
                if at % _AT_ONCE == 0:
                    yield
                slot = slots[device.slot]
                if slot is not None and slot.node not in hidden:
                    devices.append(picture.device(device, device.slot * count + hub))
        return tuple(devices)

    def _sums(
        self, pictures: Mapping[int, HubPicture], faults: Mapping[int, str], newest: FleetDocument
    ) -> FleetDocument:
        documents = {hub: picture.sums for hub, picture in pictures.items()}
        totals = [
            without(document, self._hidden_totals(hub, pictures[hub]))
            for hub, document in documents.items()
        ]
        return merged_document(newest, added(totals), documents, faults, self.owner)

    def _hidden_totals(self, hub: int, picture: HubPicture) -> list[DeviceTotals]:
        hidden = self.owner.hidden[hub]
        if not hidden:
            return []
        nodes = {node.node: node for node in picture.view.nodes if node.node in hidden}
        totals = totals_of(self._unfiltered.get(hub, picture.view), nodes)
        return [stale(totals) if picture.silent else totals]


def merged_document(
    newest: FleetDocument,
    totals: DeviceTotals,
    documents: Mapping[int, FleetDocument],
    faults: Mapping[int, str],
    owner: Ownership,
) -> FleetDocument:
    """The numbers, and what is wrong with all hubs, each named; as of the newest answer."""
    hubs = owner.hubs
    problems = [f"hub {hubs[hub]}: {text}" for hub, text in sorted(faults.items()) if text]
    for hub, document in documents.items():
        own = document.troubles[len(document.outage_lines) :]
        problems += [f"{hubs[hub]}: {text}" for text in own]
    outages = [outage for document in documents.values() for outage in document.outages]
    return FleetDocument(
        **numbers_of(totals),
        schema=newest.schema,
        version=newest.version,
        time=newest.time,
        conflicts=tuple(
            conflict for document in documents.values() for conflict in document.conflicts
        ),
        problems=(*problems, *filter(None, (owner.sentence,))),
        discovering=tuple(
            f"{kind} of {hubs[hub]}"
            for hub, document in documents.items()
            for kind in document.discovering
        ),
        outages=tuple(sorted(outages, key=lambda outage: -outage.nodes)),
    )


def _aged(pictures: Mapping[int, HubPicture], age_s: float) -> list[tuple[int, HubPicture]]:
    """All, their ages as of the moment at which the newest came."""
    return [
        (hub, msgspec.structs.replace(picture, age_s=max(picture.age_s - age_s, 0.0)))
        for hub, picture in pictures.items()
    ]
