"""What devices say beside their numbers: each of the source that speaks for it, layouts together."""

import math

import msgspec
import pytest

from accelwatch.fleet.follow.frames import RawDevice, RawTick
from accelwatch.fleet.state.inventory.file import Expected
from accelwatch.fleet.state.nodes.liveness import LATEST_S
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.state.nodes.source import TargetSource
from accelwatch.fleet.state.rows.device_batch import DeviceBatch
from accelwatch.fleet.state.rows.node_slots import NodeSlots
from accelwatch.fleet.table.columns import ColumnStore
from accelwatch.fleet.table.rows import Rows
from accelwatch.fleet.table.state_codes import HEALTH, STATE
from accelwatch.fleet.target import targets_of
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.stream.compact import Hello, Layout
from support.machines import composed as machines

NOW = machines.NOW
ONE: tuple[Series, ...] = (("power_watts",),)
TWO: tuple[Series, ...] = (("power_watts",), ("fan_speed_ratio", "0"))


class Line(msgspec.Struct, frozen=True):
    """What one device says."""

    index: int
    state: str
    health: str
    arrived: float
    behind: float
    interval_s: float


class Stand:
    """Nodes whose devices stand in one table."""

    def __init__(self) -> None:
        self.columns = ColumnStore()
        self.rows = Rows()
        self.latest = DeviceBatch()
        self.indices: dict[int, int] = {}

    def node(self, name: str, targets: int = 1) -> tuple[Node, list[TargetSource]]:
        node = Node(name, Expected(first_seen=0.0, last_seen=0.0), 0.0)
        for target in targets_of([f"{name}:{9000 + at}" for at in range(targets)]):
            node.sources[target.key] = TargetSource(target, self.columns)
        return node, list(node.sources.values())

    def add(self, node: Node) -> None:
        node.gather(lambda _: 0)
        seats = NodeSlots(node.name, 0)
        seats.arrange(node, self.rows)
        self.indices |= {row: device.device.index for row, device in seats.present}
        self.latest.add(node, seats)

    def lines(self) -> list[Line]:
        """By index of the device."""
        found = []
        for part in self.latest.statements():
            arrays = (part.states, part.healths, part.arrived, part.behind, part.intervals)
            for row, state, health, *times in zip(
                part.rows.tolist(), *(array.tolist() for array in arrays), strict=True
            ):
                words = list(STATE)[state], list(HEALTH)[health]
                found.append(Line(self.indices[row], *words, *times))
        return sorted(found, key=lambda line: line.index)


def read(source: TargetSource, arrived: float, time: float, *views: DeviceView) -> None:
    source.read(views, 15.0)
    source.arrive(time, NOW, arrived)


def stream(
    source: TargetSource,
    arrived: float,
    devices: dict[int, tuple[Series, ...]],
    **changes: object,
) -> None:
    """A tick of devices of these layouts, by index."""
    source.start_stream()
    messages: list[object] = [Hello(version="1", host="a", interval_s=2.0)]
    ticks = []
    for index, series in devices.items():
        messages.append(Layout(slot=index, device=machines.device(index), series=series))
        values = msgspec.Raw(msgspec.msgpack.encode([1.0] * len(series)))
        tick = RawDevice(index, "ok", NOW, "ok", NOW - 3.0, values)
        ticks.append(msgspec.structs.replace(tick, **changes))
    for message in (*messages, RawTick(sequence=1, time=NOW, devices=tuple(ticks))):
        source.accept(message, 100, NOW, arrived)  # type: ignore[arg-type]  # each is a message


def test_devices_that_were_read_whole_say_what_their_views_say() -> None:
    stand = Stand()
    node, (source,) = stand.node("a")
    sick = machines.view(1, state=DeviceState.LOST, health=Health.FAILED, sample_time=NOW + 3.0)
    asleep = machines.view(2, state=DeviceState.SUSPENDED, health=Health.UNKNOWN)
    well = machines.view(0, sample_time=NOW - 3.0)
    read(source, 5.0, NOW, well, sick, asleep)
    stand.add(node)
    assert stand.latest.streamed == []
    assert stand.lines() == [
        Line(0, "ok", "ok", 5.0, 3.0, 15.0),
        Line(1, "lost", "failed", 5.0, 0.0, 15.0),
        Line(2, "suspended", "unknown", 5.0, 0.25, 15.0),
    ]


@pytest.mark.parametrize("targets", [1, 2])
def test_devices_of_streams_are_read_by_layout_over_all_nodes(targets: int) -> None:
    """Also where each node has a second target of which nothing is received."""
    stand = Stand()
    for name, arrived, devices in (("a", 5.0, {0: ONE, 1: TWO, 2: ONE}), ("b", 6.0, {3: ONE})):
        node, (source, *_) = stand.node(name, targets)
        stream(source, arrived, devices)
        stand.add(node)
    assert [
        [device.device.index for device in streamed.devices] for streamed in stand.latest.streamed
    ] == [[0, 2, 3], [1]]
    assert [len(streamed.ticks) for streamed in stand.latest.streamed] == [3, 1]
    assert [streamed.columns.series for streamed in stand.latest.streamed] == [ONE, TWO]
    assert stand.lines() == [
        *(Line(index, "ok", "ok", 5.0, 3.0, 2.0) for index in (0, 1, 2)),
        Line(3, "ok", "ok", 6.0, 3.0, 2.0),
    ]


def test_words_of_another_version_are_the_worst_that_may_be_meant() -> None:
    stand = Stand()
    node, (source,) = stand.node("a")
    stream(source, 5.0, {0: ONE}, state="dancing", health="blue")
    stand.add(node)
    assert stand.lines() == [Line(0, "degraded", "unknown", 5.0, 3.0, 2.0)]


@pytest.mark.parametrize("sampled", [None, -1.0, LATEST_S + 1, math.nan])
def test_a_device_that_was_read_at_no_time_has_no_age(sampled: float | None) -> None:
    stand = Stand()
    node, (source,) = stand.node("a")
    stream(source, 5.0, {0: ONE}, sample_time=sampled)
    stand.add(node)
    other, (polled,) = stand.node("b")
    read(polled, 6.0, NOW, machines.view(1, sample_time=sampled))
    stand.add(other)
    assert [math.isnan(line.behind) for line in stand.lines()] == [True, True]
    assert [line.arrived for line in stand.lines()] == [5.0, 6.0]


@pytest.mark.parametrize(("sampled", "behind"), [(0.0, NOW), (LATEST_S, 0.0)])
def test_the_first_and_the_last_second_are_times(sampled: float, behind: float) -> None:
    stand = Stand()
    node, (source,) = stand.node("a")
    read(source, 5.0, NOW, machines.view(0, sample_time=sampled))
    stand.add(node)
    assert stand.lines()[0].behind == behind


def test_each_device_of_several_sources_has_the_times_of_its_own() -> None:
    stand = Stand()
    node, (first, second, third) = stand.node("a", 3)
    stream(first, 5.0, {0: ONE, 1: ONE})
    stream(second, 6.0, {2: TWO})
    read(third, 7.0, NOW + 50.0, machines.view(3, sample_time=NOW), machines.view(4))
    stand.add(node)
    assert stand.lines() == [
        Line(0, "ok", "ok", 5.0, 3.0, 2.0),
        Line(1, "ok", "ok", 5.0, 3.0, 2.0),
        Line(2, "ok", "ok", 6.0, 3.0, 2.0),
        Line(3, "ok", "ok", 7.0, 50.0, 15.0),
        Line(4, "ok", "ok", 7.0, 50.25, 15.0),
    ]


@pytest.mark.parametrize("targets", [1, 2])
def test_devices_of_a_source_that_never_answered_have_no_times(targets: int) -> None:
    stand = Stand()
    node, sources = stand.node("a", targets)
    sources[0].read([machines.view(0)], 1.0)
    stand.add(node)
    (line,) = stand.lines()
    assert all(math.isnan(one) for one in (line.arrived, line.behind, line.interval_s))
    assert (line.state, line.health) == ("ok", "ok")


def test_no_device_says_nothing() -> None:
    stand = Stand()
    node, _ = stand.node("a")
    stand.add(node)
    assert stand.lines() == []
