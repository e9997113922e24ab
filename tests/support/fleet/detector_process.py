"""A hub's process with its detector, as often as a test starts one."""

import asyncio
import functools
import tempfile
from pathlib import Path
from typing import NamedTuple

import msgspec

from accelwatch.archive.detector.detector_memory import FILE, DetectorMemory
from accelwatch.base.slices import LongWork
from accelwatch.detection.detector import Detector
from accelwatch.detection.findings.finding import Finding
from accelwatch.detection.frame import Frame
from accelwatch.fleet.detection.frames import Frames
from accelwatch.fleet.rules.columns.event_history import FleetEventHistory
from accelwatch.fleet.rules.columns.live import FleetColumns
from accelwatch.schema.device import DeviceState
from accelwatch.schema.snapshot import DeviceView
from support.fleet.two_nodes import TwoNodes, host, view
from support.machines import composed as machines

INTERVAL_S = 10.0
# Of 400 s, 300 are on hold as a group starts to work.
LEARNED_S = 90.0


def gpu(
    node: str,
    number: int,
    *,
    uuid: str | None = "",
    serial: str | None = None,
    state: DeviceState = DeviceState.OK,
) -> DeviceView:
    """A device that has the same id as one of the other node, and whatever it is now."""
    own = f"GPU-{node}{number}" if uuid == "" else uuid
    device = machines.device(number, id=f"gpu{number}", uuid=own, serial=serial)
    whole = view(number, device=device, state=state)
    reading = msgspec.structs.replace(whole.reading, device_id=device.id)
    return msgspec.structs.replace(whole, reading=reading)


LOST = gpu("a", 1, state=DeviceState.LOST)
A, B = [gpu("a", 0), gpu("a", 1)], [gpu("b", number) for number in range(3)]


class Process(TwoNodes):
    """A hub's process with its detector, on a folder that outlives it."""

    def __init__(self, folder: Path, now: float = machines.NOW) -> None:
        super().__init__()
        # Unix seconds.
        self.booted_at = {"a": machines.NOW - 1e6, "b": machines.NOW - 1e6}
        self.clock.advance(now - self.clock.wall())
        self.frames = Frames(FleetEventHistory(self.fleet), INTERVAL_S)
        self.columns = FleetColumns(self.fleet, self.frames.needs)
        self.detector = Detector()
        self.memory = DetectorMemory(folder / FILE)
        self.memory.load()

    def tick(self, **nodes: list[DeviceView]) -> tuple[Finding, ...]:
        """What nodes say, and what the detector says of it."""
        self.clock.advance(INTERVAL_S)
        for node, views in nodes.items():
            uptime_s = self.clock.wall() - self.booted_at[node]
            now = [
                msgspec.structs.replace(each, sample_time=self.clock.wall())
                for each in (*views, host(host_uptime_seconds=uptime_s))
            ]
            self.report(node, *now)
        self.frame = self.bring()
        self.memory.restore(self.detector, self.frames, self.frame)
        return self.detector.detect(self.frame)

    def bring(self) -> Frame:
        asyncio.run(self.columns.refresh(LongWork()))
        return asyncio.run(self.frames.frame(self.columns, LongWork()))

    def save(self) -> str:
        return self.memory.save(self.detector, self.frames)

    def learned_s(self) -> dict[tuple[str, str], float]:
        """Seconds that each device has been learned, by node and device."""
        names = self.frame.names
        seconds = self.detector.rows.devices.rows.learned_s.sum(axis=0)
        return {
            (names.nodes[node], device): float(seconds[row])
            for row, (node, device) in enumerate(
                zip(self.frame.node_of, names.devices, strict=True)
            )
            if device
        }


def stopped(folder: Path) -> Process:
    """A process that has ended in an incident: device 1 of node a is lost."""
    process = Process(folder)
    for _ in range(40):
        process.tick(a=A, b=B)
    for _ in range(4):
        process.tick(a=[A[0], LOST], b=B)
    assert [finding.device for finding in process.detector.findings.values()] == ["gpu1"]
    assert process.save() == ""
    return process


class Written(NamedTuple):
    """What `stopped` has written, the moment of its last tick, and what it had found."""

    data: bytes
    now: float
    finding: Finding


@functools.cache
def written() -> Written:
    """Written once for all tests that only read it."""
    with tempfile.TemporaryDirectory() as folder:
        process = stopped(Path(folder))
        (finding,) = process.detector.findings.values()
        return Written((Path(folder) / FILE).read_bytes(), process.clock.wall(), finding)


def next_process(folder: Path, gap_s: float = 0.0) -> Process:
    """The one after `stopped`, so much later."""
    (folder / FILE).write_bytes(written().data)
    return Process(folder, written().now + gap_s)
