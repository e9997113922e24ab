"""The detector of a hub: columns of its own, read every 15 seconds."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

import numpy as np

from accelwatch.alerting.incidents.model.silence import Maintenance
from accelwatch.archive.detector.detector_memory import FILE, DetectorMemory
from accelwatch.base.slices import LongWork
from accelwatch.detection.detector import Detector
from accelwatch.detection.frame import Frame
from accelwatch.detection.signals.node_signals import NODE_SIGNALS
from accelwatch.detection.signals.signal import ANY
from accelwatch.fleet.detection.confirmed_faults import confirmed_incidents, identities_of
from accelwatch.fleet.detection.frames import Frames
from accelwatch.fleet.detection.running import FleetDetector
from accelwatch.fleet.lemons.faults import Fault
from accelwatch.fleet.rules.columns.detector_facts import Generations
from accelwatch.fleet.rules.columns.event_history import FleetEventHistory
from accelwatch.fleet.rules.columns.live import FleetColumns
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.schema.device import Device
from accelwatch.schema.metrics import Series

# Half of what archives have: a hard fault is found after two frames at most.
INTERVAL_S = 15.0
# A new interface or file system is not news that hurries.
_CHECK_EVERY_S = 300.0
# Only nodes have signals of whatever interfaces and disks there are.
_NAMES = frozenset(signal.series[0] for signal in NODE_SIGNALS if ANY in signal.series)
_AT_ONCE = 16


class HubColumns:
    """The columns of a fleet that the detector reads; more of them when nodes report more."""

    def __init__(self, fleet: Fleet, frames: Frames) -> None:
        self._fleet, self._frames = fleet, frames
        self._columns: FleetColumns | None = None
        # Who is in the rows of the newest `refresh`.
        self.generations: Generations = np.zeros(0, dtype=np.uint32)
        self._checked_at = float("-inf")
        # That of the first columns: a clock that is set would boot every node.
        self._wall_offset = fleet.clock.wall() - fleet.clock.monotonic()

    def monotonic(self) -> float:
        """Seconds that only grow."""
        return self._fleet.clock.monotonic()

    async def refresh(self, work: LongWork) -> FleetColumns:
        """All that frames read, up to date."""
        now = self._fleet.clock.monotonic()
        if now - self._checked_at >= _CHECK_EVERY_S or self._columns is None:
            self._checked_at = now
            if self._frames.extend(await existing_series(self._fleet, work)):
                self._columns = None
        if self._columns is None:
            self._columns = FleetColumns(
                self._fleet,
                self._frames.needs,
                adds_samples=False,
                wall_offset=self._wall_offset,
            )
        await self._columns.refresh(work)
        self.generations = self._columns.generations
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
            await work.yield_control()
    return frozenset(existing)


class FaultRecorder:
    """What failed before, given to a detector as it becomes known."""

    def __init__(self, fleet: Fleet, faults: Callable[[], Iterable[Fault]]) -> None:
        """`faults` are the confirmed ones of the last 28 days."""
        self._fleet, self._faults = fleet, faults
        # Which faults a detector was given.
        self._provided: tuple[Detector, tuple[Fault, ...]] | None = None
        self._checked_at = float("-inf")

    async def record(self, detector: Detector, frame: Frame, work: LongWork) -> None:
        """Give a detector the present faults, all of them again when they have changed."""
        faults, now = tuple(self._faults()), self._fleet.clock.monotonic()
        if faults and self._provided != (detector, faults):
            self._provided = detector, faults
            devices = frozenset(frame.names.devices)
            detector.record_incidents(list(confirmed_incidents(faults, devices)))
        # Boards move from slot to slot, and only those of which there is a history matter.
        if faults and now - self._checked_at >= _CHECK_EVERY_S:
            self._checked_at = now
            prior = detector.channels.prior
            prior.also = await self._identities(work)

    async def _identities(self, work: LongWork) -> dict[str, tuple[str, ...]]:
        devices: list[tuple[str, Device]] = []
        for count, node in enumerate(tuple(self._fleet.nodes.values())):
            present = [each.device for each in node.devices.values()]
            devices += [(node.name, device) for device in present if device.parent_id is None]
            if count % _AT_ONCE == _AT_ONCE - 1:
                await work.yield_control()
        return await asyncio.to_thread(identities_of, devices)


def detector_of(
    fleet: Fleet,
    windows: Callable[[], Iterable[Maintenance] | None],
    faults: Callable[[], Iterable[Fault]] = tuple,
    folder: Path | None = None,
) -> FleetDetector:
    """The detector of a hub, which keeps what it knows in a folder that is its own.

    `windows` are those of maintenance that are announced, `faults` the confirmed ones of the past.
    """

    def working(nodes: Sequence[str], now: float) -> Collection[str]:
        names: set[str] = set()
        for window in windows() or ():
            if window.starts <= now < window.ends:
                names |= window.names if window.nodes else set(nodes)
        return names

    frames = Frames(FleetEventHistory(fleet), INTERVAL_S, in_maintenance=working)
    recorder = FaultRecorder(fleet, faults)
    memory = DetectorMemory(None if folder is None else folder / FILE)
    return FleetDetector(frames, HubColumns(fleet, frames), recorder.record, memory)
