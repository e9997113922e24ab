"""One node: its sources put together, its age, and which of its expected devices are there."""

from collections.abc import Callable, Iterator

from accelwatch.fleet.merge import identity
from accelwatch.fleet.names import SPEAKING, NodeState
from accelwatch.fleet.state.claims import claimed
from accelwatch.fleet.state.inventory import Expected
from accelwatch.fleet.state.joined import Joined, merged
from accelwatch.fleet.state.liveness import Thresholds
from accelwatch.fleet.state.readings import Held
from accelwatch.fleet.state.source import Source
from accelwatch.schema.device import Device

_BEHIND_S = 30.0


class Node:
    """A node of the fleet; the loop's thread only. Times are monotonic seconds if not said otherwise."""

    def __init__(self, name: str, expected: Expected | None, began: float) -> None:
        self.name = name
        self.sources: dict[str, Source] = {}
        self.expected = expected
        """What the inventory says; None for a node never seen."""
        self.devices: dict[str, Held] = {}
        """Present devices by id, merged over the sources."""
        self._began = began
        self._gathered: list[Source] = []
        self.version = 0
        """Grows with everything that its sources tell."""
        self.shape = 0
        """Grows when devices, expected devices or labels change."""
        self._step = -1

    @property
    def best(self) -> Source | None:
        """The source that arrived last; ours before others when both are alike."""
        found: Source | None = None
        for one in self.sources.values():
            if one.arrived is not None and (found is None or one.arrived > (found.arrived or 0)):
                found = one
        return found

    @property
    def uuids(self) -> set[str]:
        """Those of the devices that are present, of which no other node can have one."""
        return {uuid for held in self.devices.values() if (uuid := claimed(held.device))}

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the targets."""
        found: dict[str, str] = {}
        for source in self.sources.values():
            found.update(source.target.labels)
        return found

    @property
    def unlisted(self) -> bool:
        """Whether no target stands for it any more."""
        return not self.sources

    def age_s(self, now: float) -> float | None:
        """Seconds since something arrived; None when nothing has since the hub began."""
        best = self.best
        return None if best is None or best.arrived is None else now - best.arrived

    def state(self, now: float, thresholds: Thresholds) -> NodeState:
        """How fresh it is."""
        best = self.best
        if best is None or best.arrived is None:
            return self._unseen(now, thresholds)
        state = thresholds.state(now - best.arrived, best.interval_s)
        broken = not best.connected and state in (NodeState.SLOW, NodeState.STALE)
        if broken and now - best.arrived > max(thresholds.stale_s, 3 * best.interval_s):
            return NodeState.DOWN
        return state

    def _unseen(self, now: float, thresholds: Thresholds) -> NodeState:
        if self.expected is None:
            return NodeState.NEVER
        # Known from before this hub began: it has until `down_s` to be heard again, if it can be asked.
        waited = now - self._began
        broken = all(source.fault is not None for source in self.sources.values())
        if broken and waited > thresholds.stale_s:
            return NodeState.DOWN
        young = waited <= thresholds.down_s and not self.unlisted
        return NodeState.STALE if young else NodeState.DOWN

    def gather(self, rank: Callable[[str], int]) -> None:
        """Put the devices of the sources together again, after one has others than before.

        `rank` orders sources by their dialects, the most believed first.
        """
        self._gathered = self._fresh()
        sources = sorted(self._gathered, key=lambda one: rank(one.dialect))
        told = [(one.dialect, one.devices) for one in sources if one.devices]
        self.devices = told[0][1] if len(told) == 1 else merged(told)
        self.shape += 1

    @property
    def settled(self) -> bool:
        """Whether the devices are still those of the sources that are fresh now."""
        return self._fresh() == self._gathered

    def _fresh(self) -> list[Source]:
        """The sources that are not far behind the newest; all when none has arrived."""
        best = self.best
        if best is None or best.arrived is None:
            return list(self.sources.values())
        newest = best.arrived
        return [
            one
            for one in self.sources.values()
            if one.arrived is not None
            and newest - one.arrived <= max(_BEHIND_S, 6 * one.interval_s)
        ]

    def due(self, step: int) -> bool:
        """Whether a step of history is another than the one that was asked about before."""
        before, self._step = self._step, step
        return before != step

    def origin(self, held: Held) -> Source | None:
        """The source that a device's state and times come from."""
        told = held.first if isinstance(held, Joined) else held
        for source in self.sources.values():
            if source.devices.get(told.device.id) is told or source.host is told:
                return source
        return None

    @property
    def host(self) -> Held | None:
        """The host itself, when a source tells of it."""
        return next((one.host for one in self.sources.values() if one.host is not None), None)

    def missing(self) -> Iterator[Device]:
        """Devices that are expected and not there."""
        if not self._expected_devices().keys() <= self.devices.keys():
            here = {identity(held.device) for held in self.devices.values()}
            for key, device in self._expected_devices().items():
                if key not in self.devices and identity(device) not in here:
                    yield device

    def _expected_devices(self) -> dict[str, Device]:
        return self.expected.devices if self.expected is not None else {}


def speaks_for(state: NodeState) -> bool:
    """Whether the states of a node's devices can be believed."""
    return state in SPEAKING
