"""Frames out of a hub's own table."""

import asyncio

import msgspec
import numpy as np
import pytest

from accelwatch.alerting.incidents.model.silence import Maintenance
from accelwatch.base.slices import LongWork
from accelwatch.detection.frame import DeviceState, Frame, NodeState
from accelwatch.detection.signals.signal import ANY, Fold, SignalRow
from accelwatch.fleet.detection.frames import Frames
from accelwatch.fleet.detection.hub import HubColumns, detector_of
from accelwatch.fleet.rules.columns.event_history import FleetEventHistory
from accelwatch.fleet.rules.columns.live import FleetColumns
from accelwatch.fleet.target import targets_of
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.stream.context import Event
from support.fleet.two_nodes import TwoNodes, host, view
from support.machines import composed as machines

DEVICES = (SignalRow(("power_watts",), "power"), SignalRow(("fan_speed_ratio", "0"), "thermal"))
NODES = (SignalRow(("host_uptime_seconds",), "host"),)


class Hub(TwoNodes):
    """Two polled nodes and the frames of them."""

    def __init__(self) -> None:
        super().__init__()
        history = FleetEventHistory(self.fleet)
        self.frames = Frames(history, 10.0, signals=(DEVICES, NODES))
        self.columns = FleetColumns(self.fleet, self.frames.needs)

    def bring(self) -> Frame:
        asyncio.run(self.columns.refresh(LongWork()))
        return asyncio.run(self.frames.frame(self.columns, LongWork()))


def test_both_nodes_and_their_devices() -> None:
    hub = Hub()
    hub.report("a", view(0, {("power_watts",): 500.0}), view(1), host(host_uptime_seconds=900))
    hub.report("b", view(0), view(1))
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
    hub.report("a", view(0))
    hub.bring()
    hub.clock.advance(60)
    hub.report("b", view(1))
    frame = hub.bring()

    assert frame.node_state.tolist() == [NodeState.DOWN, NodeState.UP]
    assert frame.device_state.tolist() == [DeviceState.STALE, DeviceState.READ]
    assert np.isnan(frame.devices[0]).tolist() == [True, False]
    assert frame.now - frame.node_sampled[0] > 50


WIRE = ("host_network_up", "eth0")


def test_an_interface_that_a_host_reports_later_is_read() -> None:
    hub = Hub()
    nodes = (SignalRow(("host_network_up", ANY), "fabric", fold=Fold.SUM),)
    frames = Frames(FleetEventHistory(hub.fleet), 10.0, signals=((), nodes))
    columns = HubColumns(hub.fleet, frames)
    hub.report("a", view(0), host(host_uptime_seconds=900))

    async def frame() -> Frame:
        return await frames.frame(await columns.refresh(LongWork()), LongWork())

    assert np.isnan(asyncio.run(frame()).nodes[0]).all()
    later = host(host_uptime_seconds=900)
    values = {**later.reading.values, WIRE: 1.0}
    reading = msgspec.structs.replace(later.reading, values=values)
    hub.report("a", view(0), msgspec.structs.replace(later, reading=reading))
    assert np.isnan(asyncio.run(frame()).nodes[0]).all()
    hub.clock.advance(301.0)
    hub.report("a", view(0), msgspec.structs.replace(later, reading=reading))
    newest = asyncio.run(frame())
    assert newest.nodes[0, newest.names.nodes.index("a")] == 1.0
    assert frames.needs.series >= {WIRE}


@pytest.mark.parametrize(
    ("nodes", "starts", "working"),
    [
        (("a",), -10.0, ["a"]),
        ((), -10.0, ["a", "b"]),
        (("a",), 10.0, []),
        (("a",), -7200.0, []),
    ],
)
def test_nodes_in_a_window_of_maintenance(
    nodes: tuple[str, ...], starts: float, working: list[str]
) -> None:
    hub = TwoNodes()
    for node in ("a", "b"):
        hub.report(node, view(0))
    now = hub.clock.wall()
    window = Maintenance(
        id="w", nodes=nodes, starts=now + starts, ends=now + starts + 3600, by="", reason=""
    )
    detector = detector_of(hub.fleet, lambda: [window])

    async def frame() -> Frame:
        columns = FleetColumns(hub.fleet, detector.frames.needs)
        await columns.refresh(LongWork())
        return await detector.frames.frame(columns, LongWork())

    made = asyncio.run(frame())
    rows = np.flatnonzero(made.maintenance).tolist()
    assert sorted(made.names.nodes[row] for row in rows) == working


def test_nobody_announces_maintenance_without_rules() -> None:
    hub = TwoNodes()
    hub.report("a", view(0))
    detector = detector_of(hub.fleet, lambda: None)

    async def frame() -> Frame:
        columns = FleetColumns(hub.fleet, detector.frames.needs)
        await columns.refresh(LongWork())
        return await detector.frames.frame(columns, LongWork())

    assert not asyncio.run(frame()).maintenance.any()


def bus_error(hub: TwoNodes, age_s: float) -> None:
    """Node a sends an Xid 79 that is so old."""
    error = ErrorEvent(
        code="xid_79",
        category=Category.BUS,
        time=hub.clock.wall() - age_s,
        text="GPU has fallen off the bus",
        source="kernel_log",
        device_id=machines.device(1).id,
    )
    event = Event(sequence=1, event=error)
    hub.fleet.events.record(
        "a", hub.keys["a"], [event], ours=lambda time: time, name=lambda _id: "", again=True
    )


@pytest.mark.parametrize(("age_s", "events"), [(300.0, 1), (3 * 86400.0, 0)])
def test_what_an_agent_remembers_is_no_news_whenever_it_is_connected(
    age_s: float, events: int
) -> None:
    hub = Hub()
    hub.bring()
    hub.report("a", view(0), view(1))
    bus_error(hub, age_s)
    assert len(hub.bring().events) == events


async def replaced_by_c(hub: Hub) -> None:
    """Node a is forgotten, and c has its rows."""
    others = hub.targets[1:]
    hub.fleet.set_targets(others)
    await hub.fleet.acknowledge("a")
    added = targets_of(["c"], {"rack": "r1"})
    hub.fleet.set_targets([*others, *added])
    hub.keys |= {target.node: target.key for target in added}


def anonymous() -> DeviceView:
    """A device that has no serial number and the id of its address."""
    device = machines.device(0, id="nvidia:0000:65:00.0", uuid=None, serial=None)
    return view(0, device=device)


def test_a_row_that_another_node_has_now_is_of_another_device() -> None:
    hub = Hub()
    hub.report("a", anonymous())
    before = hub.bring()
    asyncio.run(replaced_by_c(hub))
    hub.report("c", anonymous())
    after = hub.bring()
    assert before.device_generation.tolist() == [0]
    assert after.device_generation.tolist() == [1]
    assert after.names.nodes[after.node_of[0]] == "c"


def test_a_row_that_is_empty_has_no_name() -> None:
    hub = Hub()
    hub.report("a", view(0), view(1))
    hub.bring()
    asyncio.run(replaced_by_c(hub))
    hub.report("c", anonymous())
    frame = hub.bring()
    assert sorted(filter(None, frame.names.devices)) == ["nvidia:0000:65:00.0"]


def test_a_clock_that_is_set_boots_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    async def frames() -> tuple[Frame, Frame]:
        hub = TwoNodes()
        nodes = (SignalRow(("host_network_up", ANY), "fabric", fold=Fold.SUM),)
        made = Frames(FleetEventHistory(hub.fleet), 10.0, signals=((), nodes))
        columns = HubColumns(hub.fleet, made)
        hub.report("a", view(0), host(host_uptime_seconds=90000))
        first = await made.frame(await columns.refresh(LongWork()), LongWork())
        wall = hub.clock.wall
        monkeypatch.setattr(hub.clock, "wall", lambda: wall() + 7200.0)
        hub.clock.advance(301.0)
        wired = host(host_uptime_seconds=90301)
        reading = msgspec.structs.replace(wired.reading, values={**wired.reading.values, WIRE: 1.0})
        hub.report("a", view(0), msgspec.structs.replace(wired, reading=reading))
        return first, await made.frame(await columns.refresh(LongWork()), LongWork())

    first, second = asyncio.run(frames())
    assert second.now - first.now == pytest.approx(301.0)
    assert second.nodes[0, 0] == 1.0
    assert second.node_generation.tolist() == first.node_generation.tolist()
