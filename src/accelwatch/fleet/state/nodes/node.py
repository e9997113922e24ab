"""One node: its sources put together, its age, and which of its expected devices are there."""

from collections.abc import Callable, Iterator

from accelwatch.alerting.rules.timing import silence_s
from accelwatch.fleet.merge import entries, identity, lookups
from accelwatch.fleet.names import SPEAKING, NodeState
from accelwatch.fleet.state.inventory.file import Expected
from accelwatch.fleet.state.nodes.claims import claimed
from accelwatch.fleet.state.nodes.devices import FleetDevice
from accelwatch.fleet.state.nodes.joined import Joined, merged
from accelwatch.fleet.state.nodes.liveness import Thresholds
from accelwatch.fleet.state.nodes.source import TargetSource
from accelwatch.schema.device import Device, normal_uuid
from accelwatch.schema.snapshot import BackendStatus

_BEHIND_S = 30.0


class Node:
    """A node of the fleet; the loop's thread only. Times are monotonic seconds if not said otherwise."""

    def __init__(self, name: str, expected: Expected | None, started: float) -> None:
        self.name = name
        self.sources: dict[str, TargetSource] = {}
        # What the inventory says; None for a node never seen.
        self.expected = expected
        # Present devices by id, merged over the sources.
        self.devices: dict[str, FleetDevice] = {}
        self._started = started
        # The sources that the devices are of, with their dialects.
        self._gathered: list[tuple[TargetSource, str]] = []
        # Grows with every message of its sources.
        self.version = 0
        # Grows when devices, expected devices or labels change.
        self.shape = 0
        self._step = -1

    @property
    def best(self) -> TargetSource | None:
        """The source that arrived last; ours before others when both are alike."""
        newest: TargetSource | None = None
        for source in self.sources.values():
            arrived = source.arrived
            if arrived is not None and (newest is None or arrived > (newest.arrived or 0)):
                newest = source
        return newest

    @property
    def noted(self) -> int:
        """Grows when streams report other owners of their devices."""
        if len(self.sources) == 1:  # nearly all nodes, and all are read at every tick
            (source,) = self.sources.values()
            return source.noted
        return sum([source.noted for source in self.sources.values()])

    @property
    def restated(self) -> int:
        """Grows when a device may say to be in another state than before."""
        return sum([source.restated for source in self.sources.values()])

    @property
    def uuids(self) -> set[str]:
        """Those of the devices that are present, of which no other node can have one."""
        return {uuid for device in self.devices.values() if (uuid := claimed(device.device))}

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the targets."""
        labels: dict[str, str] = {}
        for source in self.sources.values():
            labels.update(source.target.labels)
        return labels

    @property
    def unusable(self) -> tuple[BackendStatus, ...]:
        """Backends of the node that cannot read their accelerators, by its agent's report."""
        for source in self.sources.values():
            if source.unusable and source.connected:
                return source.unusable
        return ()

    @property
    def why_silent(self) -> str:
        """Why its first target that fails could not be read; empty while none fails."""
        faults = (source.fault for source in self.sources.values())
        return next((str(fault) for fault in faults if fault is not None), "")

    @property
    def unlisted(self) -> bool:
        """Whether it is no longer a target."""
        return not self.sources

    def age_s(self, now: float) -> float | None:
        """Seconds since something arrived; None when nothing has since the hub began."""
        best = self.best
        return None if best is None or best.arrived is None else now - best.arrived

    def is_silent(self, now: float) -> bool:
        """Whether nothing has arrived for more than two of its intervals."""
        best = self.best
        if best is None or best.arrived is None:
            return True
        return now - best.arrived > silence_s(best.interval_s)

    def state(self, now: float, thresholds: Thresholds) -> NodeState:
        """How fresh it is."""
        return self.state_by(self.best, now, thresholds)

    def state_by(self, best: TargetSource | None, now: float, thresholds: Thresholds) -> NodeState:
        """The same for who knows `best` already."""
        if best is None or best.arrived is None:
            return self._unseen(now, thresholds)
        state = thresholds.state(now - best.arrived, best.interval_s)
        # A failed attempt says more than silence: `down_s` is for nodes of which nothing is known.
        broken = not best.connected and state in (NodeState.SLOW, NodeState.STALE)
        if broken and now - best.arrived > max(thresholds.stale_s, 3 * best.interval_s):
            return NodeState.DOWN
        return state

    def _unseen(self, now: float, thresholds: Thresholds) -> NodeState:
        if self.expected is None:
            return NodeState.NEVER
        # Known from before this hub started: it has until `down_s` to report, if it can be polled.
        waited = now - self._started
        broken = all(source.fault is not None for source in self.sources.values())
        if broken and waited > thresholds.stale_s:
            return NodeState.DOWN
        young = waited <= thresholds.down_s and not self.unlisted
        return NodeState.STALE if young else NodeState.DOWN

    def gather(self, rank: Callable[[str], int]) -> None:
        """Put the devices of the sources together again, after one has others than before.

        `rank` orders sources by their dialects, the most believed first.
        """
        fresh = self.fresh_sources()
        self._gathered = [(source, source.dialect) for source in fresh]
        sources = sorted(fresh, key=lambda source: rank(source.dialect))
        views = [(source.dialect, source.devices) for source in sources if source.devices]
        self.devices = views[0][1] if len(views) == 1 else merged(views)
        self.shape += 1

    @property
    def settled(self) -> bool:
        """Whether the devices are still those of the sources that are fresh now, in their order."""
        return [(source, source.dialect) for source in self.fresh_sources()] == self._gathered

    def fresh_sources(self) -> list[TargetSource]:
        """The sources that are not far behind the newest; all when none has arrived."""
        best = self.best
        if best is None or best.arrived is None:
            return list(self.sources.values())
        newest = best.arrived
        return [
            source
            for source in self.sources.values()
            if source.arrived is not None
            and newest - source.arrived <= max(_BEHIND_S, 6 * source.interval_s)
        ]

    def due(self, step: int) -> bool:
        """Whether a step of history is another than that of the last call."""
        before, self._step = self._step, step
        return before != step

    def origin(self, device: FleetDevice) -> TargetSource | None:
        """The source that a device's state and times come from."""
        first = device.first if isinstance(device, Joined) else device
        for source in self.sources.values():
            # By the object, not the id: two sources that report one device both have its id.
            if source.devices.get(first.device.id) is first or source.host is first:
                return source
        return None

    @property
    def host(self) -> FleetDevice | None:
        """The host itself, when a source reports it."""
        return next(
            (source.host for source in self.sources.values() if source.host is not None), None
        )

    def missing(self) -> Iterator[Device]:
        """Devices that are expected and not there."""
        absent = self.without_row()
        if not absent:
            return
        # Another source, another version, or a round in which a command failed may give a device
        # another id, or a uuid more or less: it is missing only when none of its names is there.
        present = [view.device for view in self.devices.values()]
        here = {name for device in present for name in entries(device)}
        # An address counts unless both have a uuid: with another uuid it is another card.
        uuids = {f"uuid:{normal_uuid(device.uuid)}" for device in present if device.uuid}
        without = {name for device in present if not device.uuid for name in entries(device)}
        for device in absent:
            if identity(device) in here:
                continue
            if (uuids | without if device.uuid else here).isdisjoint(lookups(device)):
                yield device

    def without_row(self) -> list[Device]:
        """Expected devices whose id no row has: missing, or there under another id."""
        expected = self.expected.devices if self.expected is not None else {}
        return [device for key, device in expected.items() if key not in self.devices]


def speaks_for(state: NodeState) -> bool:
    """Whether the states of a node's devices can be believed."""
    return state in SPEAKING
