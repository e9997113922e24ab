"""A fleet whose time and messages are the test's."""

from pathlib import Path

import msgspec

from accelwatch.base.clock import ManualClock
from accelwatch.fleet.follow.frames import FrameReader
from accelwatch.fleet.state.expected_nodes import missing_devices
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.liveness import Thresholds
from accelwatch.fleet.target import Target, targets_of
from accelwatch.schema.snapshot import BackendState, DeviceView, Snapshot
from support.fleet.hub_peers import stream_bytes
from support.machines import composed as machines

THRESHOLDS = Thresholds(slow_s=2.5, stale_s=10, down_s=30)


class Bench:
    """A fleet whose time and messages are the test's."""

    def __init__(self, *nodes: str, folder: Path | None = None) -> None:
        self.clock = ManualClock(wall=machines.NOW)
        self.fleet = Fleet(self.clock, THRESHOLDS, folder)
        self.targets: dict[str, Target] = {one.node: one for one in targets_of(nodes)}
        self.fleet.set_targets(self.targets.values())

    def report(
        self,
        node: str,
        *views: DeviceView,
        time: float | None = None,
        backends: BackendState = BackendState.OK,
    ) -> None:
        """A new stream's first tick; `backends` is the state of all of them."""
        source = self.fleet.source(self.targets[node].key)
        assert source is not None
        source.start_stream()
        stamp = self.clock.wall() if time is None else time
        snapshot: Snapshot = machines.snapshot(*views, time=stamp)
        held = tuple(msgspec.structs.replace(one, state=backends) for one in snapshot.backends)
        snapshot = msgspec.structs.replace(snapshot, backends=held)
        for message, size in FrameReader(1 << 20).feed(stream_bytes(snapshot)):
            self.fleet.accept(self.targets[node].key, message, size)

    def state(self, node: str) -> str:
        return self.fleet.state_of(self.fleet.nodes[node])

    def missing(self, node: str) -> list[int]:
        return [one.index for one in missing_devices(self.fleet.nodes[node])]
