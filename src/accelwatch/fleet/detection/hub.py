"""The detector of a hub: columns of its own, read every 15 seconds."""

from collections.abc import Callable, Collection, Iterable, Sequence

from accelwatch.alerting.incidents.model.silence import Maintenance
from accelwatch.base.slices import LongWork
from accelwatch.detection.signals.node_signals import NODE_SIGNALS
from accelwatch.detection.signals.signal import ANY
from accelwatch.fleet.detection.frames import Frames
from accelwatch.fleet.detection.running import FleetDetector
from accelwatch.fleet.rules.columns.event_history import FleetEventHistory
from accelwatch.fleet.rules.columns.live import FleetColumns
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.schema.metrics import Series

# Half of what archives have: a hard fault is found after two frames at most.
INTERVAL_S = 15.0
# A new interface or file system is not news that hurries.
_CHECK_EVERY_S = 300.0
# Only nodes have signals of whatever interfaces and disks there are.
_NAMES = frozenset(signal.series[0] for signal in NODE_SIGNALS if ANY in signal.series)
_AT_ONCE = 16


class HubColumns:
    """What the detector reads of a fleet; it asks for more when nodes report more."""

    def __init__(self, fleet: Fleet, frames: Frames) -> None:
        self._fleet, self._frames = fleet, frames
        self._columns: FleetColumns | None = None
        self._checked_at = float("-inf")

    async def refresh(self, work: LongWork) -> FleetColumns:
        """All that frames ask for, brought to this moment."""
        now = self._fleet.clock.monotonic()
        if now - self._checked_at >= _CHECK_EVERY_S or self._columns is None:
            self._checked_at = now
            if self._frames.extend(await existing_series(self._fleet, work)):
                self._columns = None
        if self._columns is None:
            self._columns = FleetColumns(self._fleet, self._frames.needs, adds_samples=False)
        await self._columns.refresh(work)
        return self._columns


async def existing_series(fleet: Fleet, work: LongWork) -> frozenset[Series]:
    """The series of hosts whose labels nobody knows before: interfaces, disks, file systems."""
    existing: set[Series] = set()
    for count, node in enumerate(tuple(fleet.nodes.values())):
        if node.host is not None and node.host.keys(sorted(_NAMES)):
            existing |= {key for key in node.host.reading().values if key[0] in _NAMES}
        for source in node.sources.values():
            existing |= {key for key in source.own if key[0] in _NAMES}
        if count % _AT_ONCE == _AT_ONCE - 1:
            await work.rest()
    return frozenset(existing)


def detector_of(fleet: Fleet, windows: Callable[[], Iterable[Maintenance] | None]) -> FleetDetector:
    """The detector of a hub; `windows` are those of maintenance that are announced."""

    def working(nodes: Sequence[str], now: float) -> Collection[str]:
        names: set[str] = set()
        for window in windows() or ():
            if window.starts <= now < window.ends:
                names |= window.names if window.nodes else set(nodes)
        return names

    frames = Frames(FleetEventHistory(fleet), INTERVAL_S, in_maintenance=working)
    return FleetDetector(frames, HubColumns(fleet, frames))
