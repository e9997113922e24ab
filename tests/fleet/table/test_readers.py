"""Readers of the table against the same worked out device by device."""

import asyncio
from collections import Counter

import msgspec
import pytest

from accelwatch.base.slices import LongWork, Turns
from accelwatch.expr import Expression
from accelwatch.fleet.api.live.feed import Feed
from accelwatch.fleet.api.query.choosing import chosen, series_of, subject_at
from accelwatch.fleet.api.query.groups import groups
from accelwatch.fleet.api.query.names import all_series, columns, condition, lookup
from accelwatch.fleet.api.query.rows import page, position_of
from accelwatch.fleet.api.query.totals import Totals, counted
from accelwatch.fleet.api.summaries import fleet_document
from accelwatch.fleet.documents.fleet import DeviceRow
from accelwatch.fleet.state.fleet_status import refresh_nodes, status_of
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import DeviceView, Owner
from support.fleet.manual_fleet import Bench
from support.machines import composed as machines

LARGE = 2**60 + 1


def view(index: int, values: dict[Series, Number] | None = None, **changes: object) -> DeviceView:
    whole = machines.view(index, **changes)
    reading = msgspec.structs.replace(
        whole.reading, values={**whole.reading.values, **(values or {})}
    )
    return msgspec.structs.replace(whole, reading=reading)


def job(name: str) -> Owner:
    return Owner(kind="job", scheduler="slurm", job_id=name, user=f"u{name}")


def fleet() -> Bench:
    """Nodes that speak, are silent, know nothing; devices of every sort."""
    bench = Bench("a", "b", "c", "d")
    part = machines.device(5, id="nvidia:part", uuid="MIG-1", parent_id=machines.device(3).id)
    bench.report("b", view(0), view(1))
    bench.clock.advance(20)
    lost = view(1, state=DeviceState.LOST, health=Health.FAILED)
    reported = [
        view(
            0, {("power_watts",): 100, ("pcie_bytes_total", "receive"): LARGE}, owners=(job("7"),)
        ),
        lost,
        view(2, {("power_watts",): 9e9}, owners=(job("7"), job("8"))),
        view(3, health=Health.DEGRADED),
        msgspec.structs.replace(view(5), device=part, owners=(job("9"),)),
    ]
    bench.report("a", *reported, view(7))
    bench.report("a", *reported)
    bench.report("d", view(0, {("utilization_ratio",): 0}, state=DeviceState.SUSPENDED))
    return bench


FILTERS = (
    "power_watts > 300",
    "power_watts >= 100 and power_watts < 700",
    "not power_watts > 300",
    "power_watts > 300 or state == 'lost'",
    "state != 'ok'",
    "state in ('lost', 'missing')",
    "state not in ('lost', 'missing')",
    "health == 'failed' or health == 'degraded'",
    "node_state == 'stale'",
    "job == '7'",
    "job != '7'",
    "user == 'u9'",
    "model == 'NVIDIA H100 80GB HBM3' and index >= 2",
    "index in (0, 3)",
    "numa_node == 0",
    "node == 'a' and not device_up",
    "device_up",
    "device_suspended or ecc_enabled",
    "pcie_bytes_total.receive == 1152921504606846977",
    "pcie_bytes_total.receive > 1152921504606846976",
    "sample_age_s > 10",
    "temperature_celsius > 60",
    "power_watts / 2 > 200",
    "100 < power_watts < 650",
    "memory_used_bytes > memory_size_bytes / 2",
    "device == 'nvidia0'",
)


def by_hand(bench: Bench, wanted: Expression) -> list[str]:
    """The devices that a filter lets through, looked at one by one."""

    async def made() -> list[str]:
        nodes = await refresh_nodes(bench.fleet, series_of(wanted), LongWork().yield_control)
        now = status_of(bench.fleet, nodes)
        subjects = [subject_at(bench.fleet, now, at) for at in range(len(now.rows))]
        return [
            f"{one.node} {one.device.id}"
            for one in subjects
            if wanted.evaluate(lookup(one)) is True
        ]

    return asyncio.run(made())


@pytest.mark.parametrize("text", FILTERS)
def test_a_filter_over_columns_is_the_filter_device_by_device(text: str) -> None:
    bench = fleet()
    wanted = condition(text, ())

    async def main() -> list[str]:
        now = status_of(
            bench.fleet,
            await refresh_nodes(bench.fleet, series_of(wanted), LongWork().yield_control),
        )
        fits = chosen(bench.fleet, now, wanted).tolist()
        subjects = [subject_at(bench.fleet, now, at) for at in range(len(now.rows))]
        reported = zip(subjects, fits, strict=True)
        return [f"{one.node} {one.device.id}" for one, fit in reported if fit]

    assert asyncio.run(main()) == by_hand(bench, wanted)
    bench.fleet.close()


def totals(bench: Bench) -> Totals:
    return asyncio.run(counted(bench.fleet, LongWork().yield_control))


def test_sums_are_those_of_the_devices_that_speak() -> None:
    bench = fleet()
    found = totals(bench)
    # partitions are no devices; 9e9 W is not believed; what b says is 20 s old
    assert found.states == Counter(ok=3, lost=1, missing=1, stale=2, suspended=1)
    assert found.health == Counter(ok=3, failed=1, degraded=1)
    power = 100 + machines.values(1)["power_watts",] + machines.values(3)["power_watts",]
    power += machines.values(0)["power_watts",]
    assert found.sums["power_watts"] == pytest.approx(power)
    used = sum(machines.values(index)["memory_used_bytes",] for index in (0, 1, 2, 3, 0))
    assert found.numbers()["memory_used_bytes"] == used
    assert found.means["utilization_ratio"] == pytest.approx(0.97 * 4 / 5)
    assert found.kinds["nvidia", "NVIDIA H100 80GB HBM3", "stale"] == 2
    bench.fleet.close()


def test_a_sum_of_bytes_is_exact_in_a_fleet_of_any_size() -> None:
    bench = Bench(*[f"n{number}" for number in range(40)])
    most = 2**46 - 1
    for number in range(40):
        devices = [view(index, {("memory_size_bytes",): most - index}) for index in range(8)]
        bench.report(f"n{number}", *devices)
    assert totals(bench).numbers()["memory_size_bytes"] == 40 * (8 * most - 28)
    bench.fleet.close()


def test_groups_count_each_owner_and_partitions_instead_of_their_device() -> None:
    bench = fleet()

    async def main() -> None:
        async with Turns().walk() as walk:
            rows = {one.group: one for one in await groups(bench.fleet, "job", None, walk)}
            assert (rows["7"].devices_total, rows["8"].devices_total) == (2, 1)
            assert (rows["9"].devices_total, rows["9"].nodes_total) == (1, 1)
            assert rows[None].devices == {"lost": 1, "missing": 1, "stale": 2, "suspended": 1}
            assert rows[None].worst == "lost"
            assert rows["7"].worst == "ok"
            few = await groups(bench.fleet, "job", condition("power_watts < 200", ()), walk)
            assert [(one.group, one.devices_total) for one in few] == [("7", 1)]
            nodes = {one.group: one for one in await groups(bench.fleet, "node", None, walk)}
            assert list(nodes) == ["a", "b", "c", "d"]
            assert (nodes["c"].devices_total, nodes["c"].worst) == (0, "unreachable")
            assert nodes["b"].nodes == {"stale": 1}
            assert nodes["a"].worst == "lost"

    asyncio.run(main())
    bench.fleet.close()


def test_groups_follow_owners() -> None:
    bench = Bench("a")

    async def names() -> list[str | None]:
        async with Turns().walk() as walk:
            return [one.group for one in await groups(bench.fleet, "job", None, walk)]

    for owner in ("1", "2"):
        bench.report("a", view(0, owners=(job(owner),)))
        assert asyncio.run(names()) == [owner]
    bench.fleet.close()


def test_pages_follow_each_other_whatever_their_size() -> None:
    bench = fleet()
    shown = columns(("power_watts", "pcie_bytes_total.receive", "memory_used_bytes"))

    async def walked(limit: int, text: str) -> list[DeviceRow]:
        found: list[DeviceRow] = []
        following: str | None = None
        async with Turns().walk() as walk:
            while True:
                rows, following = await page(
                    bench.fleet,
                    shown,
                    names=sorted(bench.fleet.nodes),
                    expression=condition(text, ()) if text else None,
                    after=position_of(following) if following else None,
                    limit=limit,
                    walk=walk,
                )
                assert len(rows) <= limit
                found += [msgspec.json.decode(one, type=DeviceRow) for one in rows]
                if following is None:
                    return found

    for text in ("", "state != 'lost'", "power_watts > 1e6"):
        whole = asyncio.run(walked(100, text))
        assert [asyncio.run(walked(limit, text)) for limit in (1, 2, 3, 7)] == [whole] * 4
        assert len(whole) == {"": 9, "state != 'lost'": 8}.get(text, 0)
    first = asyncio.run(walked(100, ""))[0]
    assert first.values == {
        "power_watts": 100,
        "pcie_bytes_total.receive": LARGE,
        "memory_used_bytes": machines.values(0)["memory_used_bytes",],
    }
    assert isinstance(first.values["power_watts"], int)
    assert (first.job, first.user, first.state) == ("7", "u7", "ok")
    bench.fleet.close()


def test_a_slot_is_sent_again_only_when_it_changes() -> None:
    bench = Bench("a")
    bench.report("a", view(0), view(1))
    feed = Feed(bench.fleet, columns(()), None)

    async def tick() -> None:
        await feed.make(
            fleet_document(bench.fleet, await counted(bench.fleet, LongWork().yield_control))
        )

    asyncio.run(tick())
    assert len(feed.ticks.changes("application/msgpack", 0)) == 1
    asyncio.run(tick())
    assert feed.ticks.changes("application/msgpack", 1) == ()
    bench.report("a", view(0, owners=(job("1"),)), view(1))
    asyncio.run(tick())
    changed = [slot for sequence, slot in feed.ticks.devices.values() if sequence == 3]
    assert [(one.id, one.job) for one in changed] == [(machines.device(0).id, "1")]
    assert feed.ticks.tick is not None
    assert [one.slot for one in feed.ticks.tick.devices] == sorted(feed.ticks.devices)
    bench.fleet.close()


def test_fields_are_requested_with_all_that_may_replace_them() -> None:
    assert set(all_series(columns(("temperature_celsius",)))) >= {("temperature_celsius", "gpu")}


def test_a_row_is_one_document_whatever_its_fields_are_called() -> None:
    bench = fleet()
    shown = columns(("power_watts", "temperature_celsius.100%", "power_watts"))

    async def made() -> list[bytes]:
        async with Turns().walk() as walk:
            names = sorted(bench.fleet.nodes)
            return (
                await page(
                    bench.fleet,
                    shown,
                    names=names,
                    expression=None,
                    after=None,
                    limit=99,
                    walk=walk,
                )
            )[0]

    rows = asyncio.run(made())
    assert [one.count(b'"power_watts"') for one in rows] == [1] * len(rows)
    decoded = [msgspec.json.decode(one, type=DeviceRow) for one in rows]
    assert {tuple(one.values) for one in decoded} == {("power_watts", "temperature_celsius.100%")}
    assert {(one.node, one.node_state) for one in decoded} == {
        (name, bench.state(name)) for name in ("a", "b", "d")
    }
    assert [one.state for one in decoded if one.node == "b"] == ["stale", "stale"]
    bench.fleet.close()
