"""Rows that stay, generations that change, columns that come and go with the questions."""

import asyncio
import math

import msgspec
import numpy as np
import pytest

from accelwatch.base.slices import LongWork
from accelwatch.fleet.state.fleet_status import refresh_nodes, status_of
from accelwatch.fleet.table import planes as planes_module
from accelwatch.fleet.table.belief import sentinel
from accelwatch.fleet.table.pick import Block
from accelwatch.fleet.table.planes import KEPT_S, Planes
from accelwatch.fleet.table.rows import Rows
from accelwatch.fleet.table.state_codes import STATES
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.snapshot import Owner
from accelwatch.schema.stream.context import Owners
from accelwatch.schema.values.plausible import SENTINELS
from support.fleet.manual_fleet import Bench
from support.machines import composed as machines

POWER, USED = ("power_watts",), ("memory_used_bytes",)


def bring(bench: Bench) -> None:
    nodes = bench.fleet.nodes.values()
    bench.fleet.table.refresh(nodes, (POWER, USED), bench.clock.monotonic())


def row(bench: Bench, index: int = 0, node: str = "a") -> int:
    found = bench.fleet.table.rows.get((node, machines.device(index).id))
    assert found is not None
    return found


def power(bench: Bench, index: int = 0) -> float:
    bring(bench)
    return float(bench.fleet.table.planes.column(POWER).values[row(bench, index)])


def test_a_row_stays_over_reconnects_and_while_its_device_is_missing() -> None:
    bench = Bench("a", "b")
    bench.report("a", machines.view(0), machines.view(1))
    bench.report("b", machines.view(2))
    bring(bench)
    before, generation = row(bench, 1), bench.fleet.table.rows.generation[row(bench, 1)]
    bench.report("a", machines.view(0))
    bring(bench)
    assert row(bench, 1) == before
    assert math.isnan(power(bench, 1))
    assert not math.isnan(power(bench, 0))
    bench.report("a", machines.view(1), machines.view(0))
    assert power(bench, 1) == 643.125
    assert row(bench, 1) == before
    assert bench.fleet.table.rows.generation[before] == generation


@pytest.mark.parametrize("name", ["serial", "uuid"])
def test_another_device_in_a_row_is_another_generation_without_a_past(name: str) -> None:
    bench = Bench("a")
    bench.report("a", machines.view(0))
    bring(bench)
    at = row(bench)
    generation = int(bench.fleet.table.rows.generation[at])
    bench.clock.advance(10)
    bench.report("a", machines.view(0, device=machines.device(0, **{name: "another"})))
    past = bench.fleet.history.of_device(bench.fleet.nodes["a"], machines.device(0).id)
    assert bench.fleet.table.rows.generation[at] == generation + 1
    assert [one is not None for one in past["power_watts",][-2:]] == [False, True]


def test_a_restart_is_another_generation_and_keeps_the_past() -> None:
    rows = Rows()
    at, other = rows.give(("a", "x"), ("serial", "uuid"), "boot 1")
    assert (at, other) == (0, True)
    assert rows.give(("a", "x"), ("serial", "uuid"), "boot 1") == (0, False)
    first = int(rows.generation[0])
    assert rows.give(("a", "x"), ("serial", "uuid"), "boot 2") == (0, False)
    assert rows.generation[0] == first + 1


def test_what_a_source_does_not_say_is_no_other_device() -> None:
    rows = Rows()
    rows.give(("a", "x"), ("serial", ""), "boot")
    assert rows.give(("a", "x"), ("", "uuid"), "") == (0, False)
    assert rows.give(("a", "x"), ("serial", "uuid"), "boot") == (0, False)
    assert rows.generation[0] == 1
    assert rows.give(("a", "x"), ("serial", "other"), "boot") == (0, True)


def test_rows_of_nodes_that_come_and_go_are_used_again() -> None:
    rows = Rows()
    for number in range(5000):
        rows.give((f"n{number}", "x"), ("", ""), "")
        if number >= 10:
            rows.release((f"n{number - 10}", "x"))
    assert rows.size == 64
    assert len(rows) == 10
    assert rows.generation.max() > 100


def test_a_fleet_whose_nodes_come_and_go_does_not_grow() -> None:
    from accelwatch.fleet.target import targets_of

    async def main() -> None:
        bench = Bench()
        for number in range(100):
            name = f"n{number}"
            bench.targets = {one.node: one for one in targets_of([name])}
            bench.fleet.set_targets(bench.targets.values())
            bench.report(name, machines.view(0), machines.view(1))
            bring(bench)
            for gone in [one for one in bench.fleet.nodes if one != name]:
                await bench.fleet.acknowledge(gone)
        assert len(bench.fleet.table.rows) == 2
        assert bench.fleet.table.rows.size == 64
        bench.fleet.close()

    asyncio.run(main())


def test_only_what_has_changed_is_decoded_and_only_what_is_requested() -> None:
    bench = Bench("a")
    bench.report("a", machines.view(0))
    assert bench.fleet.table.planes.series == ()
    assert power(bench) == 642.125
    epoch = bench.fleet.table.planes.epoch
    assert power(bench) == 642.125
    assert bench.fleet.table.planes.epoch == epoch
    changed = machines.view(0)
    values = {**changed.reading.values, POWER: 100.0}
    reading = msgspec.structs.replace(changed.reading, values=values)
    bench.report("a", msgspec.structs.replace(changed, reading=reading))
    assert power(bench) == 100.0


def test_a_series_nobody_requests_goes_after_a_minute() -> None:
    planes = Planes(64)
    planes.request([POWER], 0.0)
    planes.request([USED], KEPT_S)
    assert planes.series == (POWER, USED)
    planes.request([USED, ("x",)], KEPT_S + 1)
    assert planes.series == (USED, ("x",))
    assert np.isnan(planes.column(POWER).values).all()


def test_planes_take_no_more_than_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planes_module, "MOST_BYTES", 9 * 64 * 5)
    planes = Planes(64)
    for number in range(15):
        planes.request([("x", str(number))], float(number) / 100)
    assert planes.series == tuple([("x", str(number)) for number in range(10, 15)])
    many = [("y", str(number)) for number in range(9)]
    planes.request(many, 1.0)  # what one reader asks for is never cut
    assert planes.series == tuple(many)


def test_states_follow_the_node_and_what_is_missing() -> None:
    async def main() -> None:
        bench = Bench("a", "b", "c")
        lost = machines.view(1, state=DeviceState.LOST, health=Health.FAILED)
        bench.report("a", machines.view(0), lost, machines.view(2))
        bench.report("a", machines.view(0), lost)
        bench.report("b", machines.view(3))
        bench.clock.advance(12)
        bench.report("a", machines.view(0), lost)
        found = status_of(
            bench.fleet, await refresh_nodes(bench.fleet, [POWER], LongWork().yield_control)
        )
        called = [STATES[code] for code in found.state]
        assert called == ["ok", "lost", "missing", "stale"]
        assert found.speaks.tolist() == [True, True, True, False]
        ages = found.age_s.tolist()
        assert ages[0] == pytest.approx(12.25)  # its sample is as old as the machine's
        assert math.isnan(ages[2])
        assert ages[3] == pytest.approx(12.25)
        bench.fleet.close()

    asyncio.run(main())


def test_sentinels_are_found_among_numbers_that_are_none() -> None:
    known = np.array([float(one) for one in SENTINELS])
    assert sentinel(known).all()
    others = np.nextafter(known, 0)
    expected = [float(one) in SENTINELS for one in others]
    assert sentinel(others).tolist() == expected
    assert not sentinel(np.array([math.nan, math.inf, 0.0])).any()


@pytest.mark.parametrize("rows", [[0, 1, 2, 3], [5, 3, 9, 7], [2, 4, 3, 1], [0, 2, 1, 3]])
def test_a_block_stands_in_its_rows_wherever_they_are(rows: list[int]) -> None:
    planes = Planes(64)
    planes.request([POWER, USED], 0.0)
    numbers = np.array([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])
    marks = np.full(numbers.shape, ord("d"), dtype=np.uint8)
    planes.store(rows, Block(numbers, marks))
    for series, line in zip((POWER, USED), numbers, strict=True):
        assert planes.column(series).values[rows].tolist() == line.tolist()
        assert np.isnan(planes.column(series).values).sum() == 60
        assert np.flatnonzero(planes.column(series).tags == ord("d")).tolist() == sorted(rows)


def test_who_has_a_device_is_known_once_a_stream_reported_it() -> None:
    bench = Bench("a")
    bench.report("a", machines.view(0), machines.view(1))
    bring(bench)
    table, before = bench.fleet.table, int(bench.fleet.table.changed[row(bench)])
    owners = Owners(slot=0, owners=(Owner(kind="job", job_id="77", user="ada"),))
    bench.fleet.accept(bench.targets["a"].key, owners, 100)
    bring(bench)
    assert table.occupancy[row(bench)].shown == {"job": "77", "user": "ada"}
    assert "job" not in table.occupancy[row(bench, 1)].shown
    assert int(table.changed[row(bench)]) > before
