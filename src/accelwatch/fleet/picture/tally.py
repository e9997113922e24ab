"""Nodes and groups counted up from one tick, in slices so that keys come between. Pure."""

from collections.abc import Callable, Iterator, Mapping

from accelwatch.fleet.lemons.documents import LemonNote
from accelwatch.fleet.names import NODE_SEVERITY, SPEAKING, UNREAD_SEVERITY
from accelwatch.fleet.odd.documents import Deviation, fields_of
from accelwatch.fleet.picture.model import (
    TEMPERATURE,
    TEMPERATURE_HEADROOM,
    TEMPERATURE_LIMIT,
    FleetView,
)
from accelwatch.fleet.wire import DeviceNow, DeviceSlot, NodeFinding, NodeNow
from accelwatch.schema.status.device_status import BAD, HOT, effective_state, severity
from accelwatch.schema.status.heat import near_limit, within_margin

# Devices between two chances for other work; about two milliseconds.
SLICE = 1000
Keeps = Callable[[DeviceSlot, DeviceNow], bool]
GroupOf = Callable[[DeviceSlot], str]
_CALM = frozenset({"ok", "unknown"})


def device_class(now: DeviceNow) -> str:
    """What a device is counted as: a word of `schema.standing`, or `hot` where it is well."""
    state = now.state if now.health in _CALM else effective_state(now.state, now.health)
    if state != "ok":
        return state
    values = now.values
    near = near_limit(values[TEMPERATURE], values[TEMPERATURE_LIMIT])
    return HOT if near or within_margin(values[TEMPERATURE_HEADROOM]) else state


class FleetRow:
    """What is counted of a node, of a part of it that is in a group, or of a whole group."""

    __slots__ = (
        "age_s",
        "bad",
        "chief",
        "devices",
        "finding",
        "group",
        "hot",
        "hottest",
        "labels",
        "lemon",
        "load",
        "loads",
        "members",
        "missing",
        "node",
        "odd",
        "power",
        "severity",
        "size",
        "state",
        "total",
        "used",
        "why",
        "worst",
        "worst_severity",
    )

    def __init__(self, group: str, node: str, state: str = "up") -> None:
        self.group = group
        # Empty for a group.
        self.node = node
        # Of the node, or of the group's worst.
        self.state = state
        self.age_s: float | None = None
        self.labels: Mapping[str, str] = {}
        self.missing = 0
        # Why the node could not be read, while it is silent; what of it cannot be, while it reports.
        self.why = ""
        # In what the node differs from the many alike.
        self.odd: tuple[Deviation, ...] = ()
        # The worst of what is in the node and has failed again and again.
        self.lemon: LemonNote | None = None
        # What the detector suspects the node of.
        self.finding: NodeFinding | None = None
        self.devices: list[DeviceNow] = []
        # The nodes of a group.
        self.members: list[FleetRow] = []
        # The worst of them.
        self.chief: FleetRow | None = None
        self.total = 0
        self.bad = 0
        self.severity = NODE_SEVERITY.get(state, 4)
        self.worst: DeviceNow | None = None
        self.worst_severity = 0
        self.load = 0.0
        self.loads = 0
        self.used = 0.0
        self.size = 0.0
        self.power: float | None = None
        self.hottest: float | None = None
        # Devices that are well and near the temperature at which they slow themselves down.
        self.hot = 0

    @property
    def key(self) -> tuple[str, str]:
        """What a selection is held by."""
        return self.group, self.node

    @property
    def speaks(self) -> bool:
        """Whether its values are of now."""
        return self.state in SPEAKING

    @property
    def load_ratio(self) -> float | None:
        """Mean utilization of the devices that have one."""
        return self.load / self.loads if self.loads else None

    @property
    def memory_ratio(self) -> float | None:
        """Used of size, both summed up."""
        return self.used / self.size if self.size else None

    @property
    def odd_count(self) -> int | None:
        """In how many fields the node differs, or how many nodes of the group do; None where none."""
        if self.node:
            return len(fields_of(self.odd)) or None
        return sum(bool(member.odd) for member in self.members) or None

    @property
    def lemon_score(self) -> float | None:
        """How badly what is in the node has failed, or in how many nodes of the group something has."""
        if self.node:
            return None if self.lemon is None else self.lemon.score
        return sum(member.lemon is not None for member in self.members) or None

    @property
    def finding_rank(self) -> int | None:
        """2 for an alert of the detector, 1 for a watch; in how many nodes of the group it suspects."""
        if self.node:
            return None if self.finding is None else 1 + (self.finding.level == "alert")
        return sum(member.finding is not None for member in self.members) or None

    def add(self, now: DeviceNow) -> None:
        """Count a device."""
        self.devices.append(now)
        self.total += 1
        state = device_class(now)
        if state != "ok":
            self._count_severity(now, severity(state))
            self.hot += state == HOT
        load, used, size, power, hot, *_ = now.values
        if load is not None:
            self.load += load
            self.loads += 1
        if used is not None and size is not None:
            self.used += used
            self.size += size
        if power is not None:
            self.power = power if self.power is None else self.power + power
        if hot is not None and (self.hottest is None or hot > self.hottest):
            self.hottest = hot

    def _count_severity(self, now: DeviceNow, severity: int) -> None:
        if severity >= BAD:
            self.bad += 1
        if severity > self.worst_severity:
            self.worst, self.worst_severity = now, severity
        self.severity = max(self.severity, severity)

    def include(self, other: "FleetRow") -> None:
        """Count a node into the group; values only of those that report."""
        self.members.append(other)
        self.total += other.total
        self.bad += other.bad
        self.missing += other.missing
        self.hot += other.hot
        if self.chief is None or other.severity > self.severity:
            self.chief, self.severity, self.state = other, other.severity, other.state
        if not other.speaks:
            return
        self.load += other.load
        self.loads += other.loads
        self.used += other.used
        self.size += other.size
        if other.power is not None:
            self.power = other.power + (self.power or 0.0)
        if other.hottest is not None:
            self.hottest = max(other.hottest, self.hottest or other.hottest)
        if other.age_s is not None:
            self.age_s = max(other.age_s, self.age_s or 0.0)


class Counting:
    """One pass over a tick. `rows` is complete when `steps` has ended."""

    def __init__(
        self,
        view: FleetView,
        *,
        keeps: Keeps | None = None,
        group_of: GroupOf | None = None,
        split: frozenset[tuple[str, str]] = frozenset(),
    ) -> None:
        """`split` are the (node, id) of devices whose partitions are counted instead."""
        self._view = view
        self._keeps = keeps
        self._group_of = group_of
        self._split = split
        self._nodes = {node.node: node for node in view.nodes}
        self.rows: dict[tuple[str, str], FleetRow] = {}

    def steps(self) -> Iterator[None]:
        """Count; gives way after each slice."""
        slots, keeps = self._view.slots, self._keeps
        devices = self._view.devices
        for start in range(0, len(devices), SLICE):
            if start:
                yield
            row = None
            for now in devices[start : start + SLICE]:
                device = slots[now.slot]
                if device is None:
                    continue
                if keeps is not None and not keeps(device, now):
                    continue
                if not self._counts(device):
                    continue
                group = self._group_of(device) if self._group_of is not None else ""
                if row is None or row.node != device.node or row.group != group:
                    row = self._row(group, device.node)
                row.add(now)

    def _counts(self, device: DeviceSlot) -> bool:
        if not self._split:
            return device.parent_id is None
        return (device.node, device.id) not in self._split

    def _row(self, group: str, name: str) -> FleetRow:
        key = group, name
        row = self.rows.get(key)
        if row is None:
            node = self._nodes.get(name)
            row = self.rows[key] = FleetRow(group, name, node.state if node else "never")
            if node is not None:
                row.age_s, row.missing, row.why = node.age_s, node.devices_missing, node.why
                row.odd, row.lemon, row.finding = node.odd, node.lemon, node.finding
                if row.speaks and row.why:
                    row.severity = max(row.severity, UNREAD_SEVERITY)
            row.labels = self._view.node_labels.get(name, {})
        return row

    def add_bare(self, is_shown: Callable[[NodeNow], bool], group_of: Callable[[str], str]) -> None:
        """Rows for nodes of which no device was counted, where they are wanted."""
        existing = {name for _, name in self.rows}
        for name, node in self._nodes.items():
            if name not in existing and is_shown(node):
                self._row(group_of(name), name)


def split_devices(view: FleetView) -> frozenset[tuple[str, str]]:
    """(node, id) of the devices that have partitions."""
    return frozenset(
        (device.node, device.parent_id)
        for device in view.slots
        if device is not None and device.parent_id is not None
    )
