"""The fleet as a stream has sent it so far: devices by slot, labels, events, the newest tick."""

from collections.abc import Iterable, Mapping

import msgspec

from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.hub_client.incidents import ReportedIncidents
from accelwatch.fleet.picture.model import MOST_EVENTS, FleetView
from accelwatch.fleet.wire import (
    DeviceNow,
    DeviceSlot,
    FleetEvent,
    FleetTick,
    IncidentNow,
    RulesNow,
)

MOST_SLOTS = 1 << 20
# Nodes that have gone and whose labels are kept all the same.
_SPARE_LABELS = 1000


class Picture:
    """Mutable; parts that do not change keep their identity from one view to the next."""

    def __init__(self, device_limit: int = MOST_SLOTS) -> None:
        """Devices, and nodes, beyond the limit are counted and not kept."""
        self._limit = device_limit
        self._count = 0
        # Whether a device was left out on this connection.
        self._is_limited = False
        self._slots: list[DeviceSlot | None] = []
        self._labels: dict[str, Mapping[str, str]] = {}
        # In their order, by all but their numbers: a hub over hubs renumbers those of each filter.
        self._events: dict[FleetEvent, FleetEvent] = {}
        self._shown_events: tuple[FleetEvent, ...] | None = ()
        self._incidents = ReportedIncidents()
        self._previous: dict[tuple[str, str], DeviceSlot] = {}
        self._shown_slots: list[DeviceSlot | None] | None = None
        self._shown_labels: dict[str, Mapping[str, str]] | None = None

    def reset(self) -> None:
        """Another connection: slots are numbered again; labels and events stay."""
        self._previous = {
            (device.node, device.id): device for device in self._slots if device is not None
        }
        self._slots = []
        self._count, self._is_limited = 0, False
        self._incidents.reset()

    def assign_slot(self, device: DeviceSlot) -> None:
        """Who the device of a slot is from now on."""
        if not 0 <= device.slot < MOST_SLOTS:
            return
        is_new = device.slot >= len(self._slots) or self._slots[device.slot] is None
        if is_new and self._count >= self._limit:
            self._is_limited = True
            return
        self._count += is_new
        before = self._previous.get((device.node, device.id))
        if before == device:
            device = before
        if self._shown_slots is self._slots:  # a view has it, and may not change any more
            self._slots = list(self._slots)
        if device.slot >= len(self._slots):
            self._slots += [None] * (device.slot + 1 - len(self._slots))
        self._slots[device.slot] = device
        if self._labels.get(device.node) != device.labels:
            self._label(device.node, device.labels)

    def label(self, by_node: Mapping[str, Mapping[str, str]]) -> None:
        """Labels of nodes that came with no device."""
        for node, labels in by_node.items():
            if node not in self._labels:
                self._label(node, labels)

    def _label(self, node: str, labels: Mapping[str, str]) -> None:
        if self._shown_labels is self._labels:
            self._labels = dict(self._labels)
        self._labels[node] = labels

    def unlabelled(self, nodes: Iterable[str]) -> bool:
        """Whether there is a node whose labels are not known."""
        return not self._labels.keys() >= set(nodes)

    def event(self, event: FleetEvent) -> None:
        """Add an event, unless it came before, on another connection."""
        unnumbered = msgspec.structs.replace(event, sequence=0)
        if unnumbered in self._events:
            return
        if len(self._events) >= MOST_EVENTS:
            del self._events[next(iter(self._events))]
        self._events[unnumbered] = event
        self._shown_events = None

    def apply_incident(self, message: RulesNow | IncidentNow) -> None:
        """How judging goes, or an incident as it stands now."""
        self._incidents.apply(message)

    def _kept(self, tick: FleetTick) -> tuple[DeviceNow, ...]:
        """The devices within the limit. Raises TargetFault for devices without a slot."""
        if not self._is_limited:
            self._check(tick)
            return tick.devices
        slots = self._slots
        count = len(slots)
        return tuple(
            device
            for device in tick.devices
            if device.slot < count and slots[device.slot] is not None
        )

    def _check(self, tick: FleetTick) -> None:
        slots = self._slots
        try:
            complete = None not in [slots[device.slot] for device in tick.devices]
        except IndexError:
            complete = False
        if not complete:
            raise TargetFault(Reason.GARBAGE, "values of a device that was not announced")

    def _forget_labels(self, tick: FleetTick) -> None:
        """Labels of nodes that have gone: a hub may name new ones for ever."""
        if len(self._labels) > 2 * len(tick.nodes) + _SPARE_LABELS:
            present = {node.node for node in tick.nodes}
            self._labels = {node: own for node, own in self._labels.items() if node in present}

    def view(
        self, tick: FleetTick, arrived_s: float, interval_s: float, condition: str
    ) -> FleetView:
        """The fleet with a further tick. Raises TargetFault for devices without a slot."""
        devices, nodes = self._kept(tick), tick.nodes[: self._limit]
        self._forget_labels(tick)
        if self._shown_events is None:
            self._shown_events = tuple(self._events.values())
        self._shown_slots, self._shown_labels = self._slots, self._labels
        return FleetView(
            sequence=tick.sequence,
            time=tick.time,
            arrived_s=arrived_s,
            interval_s=interval_s,
            filter=condition,
            sums=tick.fleet,
            nodes=nodes,
            node_labels=self._labels,
            slots=self._slots,
            devices=devices,
            omitted=len(tick.devices) - len(devices) + len(tick.nodes) - len(nodes),
            events=self._shown_events,
            rules=self._incidents.rules,
            incidents=self._incidents.shown(),
            hubs=tick.fleet.hubs,
        )
