"""Frames out of a hub's own table."""

import asyncio

import numpy as np

from accelwatch.base.slices import LongWork
from accelwatch.detection.frame import DeviceState, Frame, NodeState
from accelwatch.detection.signals.signal import SignalRow
from accelwatch.fleet.detection.frames import Frames
from accelwatch.fleet.rules.columns.event_history import FleetEventHistory
from accelwatch.fleet.rules.columns.live import FleetColumns
from support.fleet.two_nodes import TwoNodes, host, view

DEVICES = (SignalRow(("power_watts",), "power"), SignalRow(("fan_speed_ratio", "0"), "thermal"))
NODES = (SignalRow(("host_uptime_seconds",), "host"),)


class Hub(TwoNodes):
    """Two polled nodes and the frames of them."""

    def __init__(self) -> None:
        super().__init__()
        history = FleetEventHistory(self.fleet)
        self.frames = Frames((DEVICES, NODES), (), history, 10.0)
        self.columns = FleetColumns(self.fleet, self.frames.needs)

    def bring(self) -> Frame:
        asyncio.run(self.columns.refresh(LongWork()))
        return asyncio.run(self.frames.frame(self.columns, LongWork()))


def test_both_nodes_and_their_devices() -> None:
    hub = Hub()
    hub.tell("a", view(0, {("power_watts",): 500.0}), view(1), host(host_uptime_seconds=900))
    hub.tell("b", view(0), view(1))
    frame = hub.bring()
    names = frame.names

    assert sorted(names.nodes) == ["a", "b"]
    assert len(names.devices) == 4
    assert [names.nodes[row] for row in frame.node_of] == ["a", "a", "b", "b"]
    assert frame.devices[0, 0] == 500.0
    assert np.isnan(frame.devices[1]).all()
    assert frame.nodes[0, names.nodes.index("a")] == 900.0
    assert (frame.device_state == DeviceState.READ).all()
    assert (frame.node_state == NodeState.UP).all()
    assert not frame.maintenance.any()
    assert hub.bring().names is names


def test_a_silent_node_is_down_and_its_numbers_unknown() -> None:
    hub = Hub()
    hub.tell("a", view(0))
    hub.bring()
    hub.clock.advance(60)
    hub.tell("b", view(1))
    frame = hub.bring()

    assert frame.node_state.tolist() == [NodeState.DOWN, NodeState.UP]
    assert frame.device_state.tolist() == [DeviceState.STALE, DeviceState.READ]
    assert np.isnan(frame.devices[0]).tolist() == [True, False]
    assert frame.now - frame.node_sampled[0] > 50
