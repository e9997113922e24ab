"""Nodes that are polled: devices described as before stay, with new numbers; others are put together."""

import math

import msgspec
import pytest

from accelwatch.fleet.target import targets_of
from accelwatch.schema.device import DeviceKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading
from accelwatch.schema.snapshot import DeviceView, EventCount
from support.fleet.manual_fleet import Bench
from support.machines import composed as machines

POWER: Series = ("power_watts",)


def power(watts: float, index: int = 0, **device: object) -> DeviceView:
    values: dict[Series, Number] = {POWER: watts}
    known = machines.device(index, **device)
    return machines.view(index, device=known, reading=Reading(device_id=known.id, values=values))


def poll(bench: Bench, *views: DeviceView, port: int = 9000, dialect: str = "all-smi") -> None:
    target = targets_of([f"a:{port}"])[0]
    source = bench.fleet.source(target.key)
    assert source is not None
    source.dialect = dialect
    bench.fleet.read(target.key, views, None, 5.0)


def polled(*ports: int) -> Bench:
    bench = Bench()
    bench.fleet.set_targets(targets_of([f"a:{port}" for port in ports or (9000,)]))
    return bench


def column(bench: Bench) -> list[float]:
    table = bench.fleet.table
    table.refresh(bench.fleet.nodes.values(), [POWER], bench.clock.monotonic())
    seats = table.slots_of("a")
    assert seats is not None
    return [float(table.planes.column(POWER).values[row]) for row in seats.rows]


def test_devices_that_are_described_as_before_are_not_arranged_again() -> None:
    bench = polled()
    poll(bench, power(1.0), power(2.0, 1))
    assert column(bench) == [1.0, 2.0]
    node, table = bench.fleet.nodes["a"], bench.fleet.table
    devices, shapes = dict(node.devices), (node.shape, table.shape, table.changes)
    bench.clock.advance(5)
    poll(bench, power(3.0), power(4.0, 1))
    assert column(bench) == [3.0, 4.0]
    assert (node.shape, table.shape, table.changes) == shapes
    assert [node.devices[key] is device for key, device in devices.items()] == [True, True]


@pytest.mark.parametrize(
    "views",
    [
        (power(3.0, 0, serial="another"), power(4.0, 1)),
        (power(3.0, 0, model="another"), power(4.0, 1)),
        (power(4.0, 1), power(3.0)),
        (power(3.0),),
        (power(3.0), power(4.0, 1), power(5.0, 2)),
        (),
    ],
)
def test_other_devices_are(views: tuple[DeviceView, ...]) -> None:
    bench = polled()
    poll(bench, power(1.0), power(2.0, 1))
    column(bench)
    shape = bench.fleet.nodes["a"].shape
    poll(bench, *views)
    node = bench.fleet.nodes["a"]
    assert node.shape > shape
    assert list(node.devices) == [view.device.id for view in views]
    known = {view.device.id: view.reading.values[POWER] for view in views}
    brought = [
        known.get(machines.device(index).id, math.nan) for index in range(len(column(bench)))
    ]
    assert column(bench) == pytest.approx(brought, nan_ok=True)
    assert [device.device for device in node.devices.values()] == [view.device for view in views]


def test_the_first_page_without_a_device_is_a_page() -> None:
    bench = polled()
    poll(bench)
    assert bench.fleet.nodes["a"].expected is not None


def test_a_host_stays_and_has_new_numbers() -> None:
    def host(used: float) -> DeviceView:
        return power(used, 0, id="host", kind=DeviceKind.HOST)

    bench = polled()
    poll(bench, host(1.0), power(1.0))
    before = bench.fleet.nodes["a"].host
    poll(bench, host(2.0), power(1.0))
    now = bench.fleet.nodes["a"].host
    assert now is before
    assert now is not None
    assert now.number(POWER) == 2.0
    poll(bench, power(1.0))
    assert bench.fleet.nodes["a"].host is None


def test_a_source_that_was_silent_or_speaks_otherwise_is_put_together_at_once() -> None:
    bench = polled(9000, 9001)
    poll(bench, power(1.0), dialect="dcgm-exporter")
    poll(bench, power(2.0, 1), port=9001, dialect="all-smi")
    bench.clock.advance(100)
    poll(bench, power(2.0, 1), port=9001, dialect="all-smi")
    assert list(bench.fleet.nodes["a"].devices) == [machines.device(1).id]
    poll(bench, power(1.0), dialect="dcgm-exporter")
    assert len(bench.fleet.nodes["a"].devices) == 2


@pytest.mark.parametrize(("dialect", "watts"), [("dcgm-exporter", 1.0), ("node_exporter", 2.0)])
def test_whom_to_believe_follows_what_a_page_turns_out_to_be(dialect: str, watts: float) -> None:
    bench = polled(9000, 9001)
    poll(bench, power(1.0), dialect="all-smi")
    poll(bench, power(2.0), port=9001, dialect="all-smi")
    poll(bench, power(1.0), dialect=dialect)
    assert column(bench) == [watts]


def test_counters_that_grow_are_events_although_the_device_is_the_same() -> None:
    def counting(total: int) -> DeviceView:
        count = EventCount(code="79", category="xid", total=total, last_time=machines.NOW - 9000)
        return msgspec.structs.replace(power(1.0), event_counts=(count,))

    bench = polled()
    for total in (1, 1, 3, 3):
        poll(bench, counting(total))
    (event,) = bench.fleet.events.of("a")
    assert event.event.code == "79"


def test_the_history_of_polled_devices_is_what_they_reported_first_in_a_step() -> None:
    bench = polled()
    steps = [(float(step), float(step) + 0.5) for step in range(1, 4)]
    for first, second in steps:
        poll(bench, power(first), power(-1.0, 1))
        bench.clock.advance(5)
        poll(bench, power(second), power(7.0, 1))
        bench.clock.advance(5)
    node = bench.fleet.nodes["a"]
    past = bench.fleet.history.of_device(node, machines.device(0).id)[POWER]
    assert past[-4:] == [1.0, 2.0, 3.0, None]
    assert set(bench.fleet.history.of_device(node, machines.device(1).id)[POWER]) == {None}
