"""The fleet's state: age, skew, expectation, acknowledgement, conflicts, history."""

import asyncio
import math
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import msgspec
import pytest

from accelwatch.base.errors import AccelwatchError, UnmetError
from accelwatch.fleet.dialects import read_devices
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.names import NodeState
from accelwatch.fleet.state.history import STEP_S, STEPS, History
from accelwatch.fleet.state.inventory.file import FILE, Changes, Expected, InventoryFile
from accelwatch.fleet.state.nodes.devices import ReadDevice
from accelwatch.fleet.state.nodes.joined import merged
from accelwatch.fleet.state.nodes.liveness import Skew
from accelwatch.fleet.target import targets_of
from accelwatch.schema.reading import Reading
from accelwatch.system.files.sqlite_files import COMPANIONS
from support.fleet.manual_fleet import THRESHOLDS, Bench
from support.machines import composed as machines
from support.machines.samples import FIXTURES


def test_a_node_ages_from_up_to_down() -> None:
    bench = Bench("a", "b")
    assert bench.state("a") == "never"
    bench.report("a", machines.view(0))
    ages = []
    for _ in range(35):
        ages.append(bench.state("a"))
        bench.clock.advance(1)
    assert [ages[second] for second in (0, 2, 4, 9, 12, 29, 32)] == [
        "up",
        "up",
        "slow",
        "slow",
        "stale",
        "stale",
        "down",
    ]
    assert bench.state("b") == "never"
    bench.report("a", machines.view(0))
    assert bench.state("a") == "up"
    assert bench.fleet.problems == ()


def test_a_broken_connection_is_down_as_soon_as_it_is_stale() -> None:
    bench = Bench("a")
    bench.report("a", machines.view(0))
    bench.fleet.fail(bench.targets["a"].key, TargetFault(Reason.CONNECT, "refused"))
    bench.clock.advance(9)
    assert bench.state("a") == "slow"
    bench.clock.advance(2)
    assert bench.state("a") == "down"


def test_a_target_polled_rarely_gets_its_own_intervals() -> None:
    assert THRESHOLDS.state(50, 60) is NodeState.UP
    assert THRESHOLDS.state(170, 60) is NodeState.SLOW
    assert THRESHOLDS.state(400, 60) is NodeState.DOWN


def test_devices_of_a_node_are_in_the_order_of_their_numbers() -> None:
    from accelwatch.fleet.state.snapshots import snapshot_of

    bench = Bench("a")
    views = [machines.view(index) for index in (1, 0, 7, 2)]
    tenth = msgspec.structs.replace(machines.device(3), index=10, name="nvidia10", id="nvidia:10")
    bench.report("a", machines.view(3, device=tenth), *views)
    shot = snapshot_of(bench.fleet, bench.fleet.nodes["a"])
    assert [view.device.index for view in shot.devices] == [0, 1, 2, 7, 10]


def test_a_clock_a_day_off_changes_no_age() -> None:
    from accelwatch.fleet.state.snapshots import view

    for skew in (86_400.0, -86_400.0):
        bench = Bench("a")
        now = machines.NOW + skew
        bench.report("a", machines.view(0, sample_time=now - 0.5), time=now)
        bench.clock.advance(1)
        node = bench.fleet.nodes["a"]
        best = node.best
        assert best is not None
        assert best.skew.seconds == pytest.approx(skew)
        shown = view(node, next(iter(node.devices.values())), bench.clock.monotonic())
        assert shown.sample_age_s == pytest.approx(1.5)
        assert shown.sample_time == pytest.approx(machines.NOW - 0.5)


def test_a_small_skew_is_left_alone() -> None:
    skew = Skew()
    skew.observe(130.0, 100.0)
    assert (skew.seconds, skew.ours(130.0)) == (30.0, 130.0)


def test_a_delay_is_no_skew() -> None:
    skew = Skew()
    for delay in (0.01, 5.0, 0.2):
        skew.observe(100.0, 100.0 + delay)
    assert skew.seconds == pytest.approx(-0.01)


def test_a_device_that_vanishes_is_missing_until_acknowledged() -> None:
    async def main() -> None:
        bench = Bench("a")
        bench.report("a", machines.view(0), machines.view(1))
        bench.report("a", machines.view(0), machines.view(2))
        assert bench.missing("a") == [1]
        with pytest.raises(UnmetError):
            await bench.fleet.acknowledge("a", machines.device(0).id)
        assert await bench.fleet.acknowledge("a", machines.device(1).id) == 1
        assert bench.missing("a") == []
        bench.report("a", machines.view(0), machines.view(1))
        assert bench.missing("a") == [2]
        with pytest.raises(UnmetError):
            await bench.fleet.acknowledge("nobody")
        bench.fleet.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("later_s", "device", "noted"),
    [(40, None, True), (0, None, False), (20, None, False), (40, 1, False)],
)
def test_a_node_is_acknowledged_as_a_whole_and_while_it_is_down(
    later_s: float, device: int | None, noted: bool
) -> None:
    async def main() -> None:
        bench = Bench("a")
        bench.report("a", machines.view(0), machines.view(1))
        bench.report("a", machines.view(0))
        bench.clock.advance(later_s)
        device_id = None if device is None else machines.device(device).id
        assert await bench.fleet.acknowledge("a", device_id) == 1
        expected = bench.fleet.nodes["a"].expected
        assert expected is not None
        assert (expected.acknowledged is not None) is noted
        bench.fleet.close()

    asyncio.run(main())


def test_a_node_without_a_target_stays_until_acknowledged() -> None:
    async def main() -> None:
        bench = Bench("a", "b")
        bench.report("a", machines.view(0))
        bench.fleet.set_targets([])
        assert list(bench.fleet.nodes) == ["a"]
        assert bench.state("a") == "down"
        assert await bench.fleet.acknowledge("a") == 1
        assert not bench.fleet.nodes
        bench.fleet.close()

    asyncio.run(main())


def test_a_source_that_stays_a_target_keeps_its_devices() -> None:
    bench = Bench("a")
    bench.report("a", machines.view(0))
    bench.fleet.set_targets([*bench.targets.values(), *targets_of(["c"])])
    assert bench.state("a") == "up"
    assert len(bench.fleet.nodes["a"].devices) == 1


def test_two_nodes_that_claim_one_uuid_are_reported() -> None:
    bench = Bench("a", "b")
    bench.report("a", machines.view(0), machines.view(1))
    bench.report("b", machines.view(1), machines.view(2))
    assert bench.fleet.conflicts() == {machines.device(1).uuid: {"a", "b"}}
    bench.report("b", machines.view(2))
    assert bench.fleet.conflicts() == {}


def test_uuids_made_of_a_slot_of_the_node_are_no_conflict() -> None:
    page = FIXTURES / "fleet" / "dialects" / "all_smi_places.prom"
    devices = read_devices(page.read_bytes(), 0.0).devices
    intel = machines.view(0, device=machines.device(0, vendor="intel"))
    bench = Bench("a", "b")
    for node in "ab":
        bench.report(node, *devices, intel)
    assert set(bench.fleet.conflicts()) == {"69B8B8C3-D948-2CB5-4509-FE9471929F14"}


def test_a_conflict_lasts_until_one_node_is_left(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench("a", "b", "c")
    for node in "abc":
        bench.report(node, machines.view(0))
    assert bench.fleet.conflicts() == {machines.device(0).uuid: {"a", "b", "c"}}
    assert [one.getMessage() for one in caplog.records] == [
        f"a uuid on two nodes uuid={machines.device(0).uuid} node=b other=a",
        f"a uuid on two nodes uuid={machines.device(0).uuid} node=c other=a,b",
    ]
    bench.fleet.set_targets([bench.targets["a"], bench.targets["b"]])
    assert bench.fleet.conflicts() == {machines.device(0).uuid: {"a", "b"}}
    bench.fleet.set_targets([bench.targets["b"]])
    assert bench.fleet.conflicts() == {}
    bench.fleet.set_targets(bench.targets.values())
    bench.report("a", machines.view(0))
    assert bench.fleet.conflicts() == {machines.device(0).uuid: {"a", "b"}}


def test_layouts_of_alike_devices_are_held_once() -> None:
    bench = Bench("a", "b", "c")
    for node in ("a", "b", "c"):
        bench.report(node, *(machines.view(index) for index in range(8)))
    assert len(bench.fleet.columns) == 1


def test_the_inventory_outlives_the_hub(tmp_path: Path) -> None:
    async def main() -> None:
        first = Bench("a", "b", folder=tmp_path)
        first.report("a", machines.view(0), machines.view(1))
        first.report("b", machines.view(3))
        first.report("b", machines.view(4))
        await first.fleet.acknowledge("b")
        await first.fleet.flush()
        first.fleet.close()

        second = Bench("a", folder=tmp_path)
        assert set(second.fleet.nodes) == {"a", "b"}
        assert second.state("a") == "stale"
        second.clock.advance(40)
        assert second.state("a") == "down"
        second.report("a", machines.view(1))
        assert second.missing("a") == [0]
        expected = second.fleet.nodes["b"].expected
        assert expected is not None
        assert [one.index for one in expected.devices.values()] == [4]
        second.fleet.close()

    asyncio.run(main())


def test_a_node_that_answered_before_the_hub_started_has_an_age(tmp_path: Path) -> None:
    async def main() -> None:
        first = Bench("a", folder=tmp_path)
        first.report("a", machines.view(0))
        first.clock.advance(5)
        first.fleet.set_targets([])
        node = first.fleet.nodes["a"]
        assert first.state("a") == "down"
        assert first.fleet.age_of(node) == pytest.approx(5.0)
        await first.fleet.flush()
        first.fleet.close()

        second = Bench("a", "b", folder=tmp_path)
        second.clock.advance(7)
        assert second.fleet.age_of(second.fleet.nodes["a"]) is not None
        assert second.fleet.age_of(second.fleet.nodes["b"]) is None
        assert second.state("a") == "stale"
        second.fleet.fail(second.targets["a"].key, TargetFault(Reason.CONNECT, "refused"))
        second.clock.advance(4)
        assert second.state("a") == "down"
        second.fleet.close()

    asyncio.run(main())


def test_what_is_acknowledged_before_it_was_written_stays_so(tmp_path: Path) -> None:
    async def main() -> None:
        bench = Bench("a", folder=tmp_path)
        bench.report("a", machines.view(0))
        bench.report("a", machines.view(1))
        await bench.fleet.acknowledge("a")
        bench.fleet.close()
        found = InventoryFile(tmp_path).load()
        assert [one.index for one in found["a"].devices.values()] == [1]

    asyncio.run(main())


@pytest.mark.parametrize("before", [None, 0o644, 0o666])
def test_nobody_else_reads_the_inventory(tmp_path: Path, before: int | None) -> None:
    mask = os.umask(0o022)
    try:
        if before is not None:
            InventoryFile(tmp_path).close()
            for companion in COMPANIONS:
                (tmp_path / f"{FILE}{companion}").touch()
                (tmp_path / f"{FILE}{companion}").chmod(before)
        held = InventoryFile(tmp_path)
        held.write(Changes(updated={"n1": Expected(first_seen=1.0, last_seen=2.0)}))
        modes = {one.name: one.stat().st_mode & 0o777 for one in tmp_path.iterdir()}
        held.close()
    finally:
        os.umask(mask)
    assert modes == {f"{FILE}{companion}": 0o600 for companion in COMPANIONS}


def test_a_damaged_inventory_is_reported(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no database, but long enough to look at" * 40)
    with pytest.raises(AccelwatchError, match="inventory"):
        InventoryFile(tmp_path)


def test_a_killed_hub_resumes_where_it_was(tmp_path: Path) -> None:
    code = textwrap.dedent(
        f"""
        import os, signal, sys
        from pathlib import Path
        sys.path.insert(0, {str(Path(machines.__file__).parents[2])!r})
        from support.machines import composed as machines
        from accelwatch.fleet.state.inventory.file import Changes, Expected, InventoryFile

        held = InventoryFile(Path({str(tmp_path)!r}))
        for number in range(100):
            seen = Expected(first_seen=1.0, last_seen=2.0)
            added = [(f"n{{number}}", machines.device(index), 1.0) for index in range(2)]
            held.write(Changes(updated={{f"n{{number}}": seen}}, added=added))
            held.write(Changes(removed=[(f"n{{number}}", machines.device(0).id)]))
            if number == 7:
                os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    done = subprocess.run([sys.executable, "-c", code], env=os.environ, check=False)
    assert done.returncode == -signal.SIGKILL
    found = InventoryFile(tmp_path).load()
    assert set(found) == {f"n{number}" for number in range(8)}
    assert all([one.index for one in node.devices.values()] == [1] for node in found.values())


def test_two_exporters_on_a_node_report_one_device() -> None:
    bare = "00000000-1111-2222-3333-444444444444"
    other = machines.device(0, id="nvidia:x", uuid=bare, pci_bus_id=None)
    reading = Reading(device_id=other.id, values={("fan_speed_ratio",): 0.5, ("power_watts",): 1.0})
    theirs = ReadDevice(machines.view(0, device=other, reading=reading))
    ours = ReadDevice(machines.view(0))
    alone = ReadDevice(machines.view(1))
    found = merged(
        [
            ("accelwatch", {ours.device.id: ours}),
            ("dcgm-exporter", {other.id: theirs, alone.device.id: alone}),
        ]
    )
    assert list(found) == [ours.device.id, alone.device.id]
    joined = found[ours.device.id]
    assert joined.number(("power_watts",)) == machines.values(0)[("power_watts",)]
    assert joined.number(("fan_speed_ratio",)) == 0.5
    assert ("fan_speed_ratio",) not in joined.reading().absent


def test_history_keeps_fifteen_minutes_and_its_gaps() -> None:
    history = History()
    for step in (100, 101, 104):
        reading = Reading(device_id="x", values={("power_watts",): float(step)})
        history.store(step, [(7, ReadDevice(machines.view(0, reading=reading)))])
    rows = history.rows(7, 104)
    assert rows["power_watts",][-5:] == [100.0, 101.0, None, None, 104.0]
    assert len(rows["power_watts",]) == STEPS
    assert rows["power_watts",][:-5] == [None] * (STEPS - 5)
    assert rows["utilization_ratio",] == [None] * STEPS
    assert history.rows(7, 104 + STEPS)["power_watts",] == [None] * STEPS
    assert history.rows(8, 104) == {}


def test_history_is_of_each_device_of_a_layout() -> None:
    bench = Bench("a")
    views = [
        machines.view(index, reading=Reading(device_id="", values={("power_watts",): watts}))
        for index, watts in enumerate((100.0, 250.0, 320.0))
    ]
    bench.report("a", *views)
    node = bench.fleet.nodes["a"]
    histories = [bench.fleet.history.of_device(node, view.device.id) for view in views]
    assert [one[("power_watts",)][-1] for one in histories] == [100.0, 250.0, 320.0]


def test_history_takes_one_row_a_step() -> None:
    bench = Bench("a")
    bench.report("a", machines.view(0))
    bench.clock.advance(STEP_S)
    bench.report("a", machines.view(0))
    history = bench.fleet.history.of_device(bench.fleet.nodes["a"], machines.device(0).id)
    rows = history["power_watts",]
    assert rows[-2:] == [642.125, 642.125]


def test_a_node_that_forges_its_times_is_refused() -> None:
    bench = Bench("a")
    with pytest.raises(TargetFault):
        bench.report("a", machines.view(0), time=math.nan)


def test_a_churn_of_devices_does_not_fill_the_disk() -> None:
    bench = Bench("a")
    for number in range(30):
        views = [
            machines.view(0, device=machines.device(0, id=f"x:{number}-{index}", uuid=None))
            for index in range(50)
        ]
        bench.report("a", *views)
    expected = bench.fleet.nodes["a"].expected
    assert expected is not None
    assert len(expected.devices) == 1024
    assert msgspec.json.encode(expected)
