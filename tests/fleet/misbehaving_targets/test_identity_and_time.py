"""Clocks a day off, sequences that start anew, devices that change, and two nodes with one uuid."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.schema.snapshot import DeviceView, Snapshot
from fleet.misbehaving_targets.misbehaving import (
    STREAM_HEAD,
    Behaviour,
    Exchange,
    Misbehaving,
    hang,
    misbehaving,
)
from fleet.misbehaving_targets.short_waits import START, Ward, simulation, ward
from support.fleet.hub_peers import stream_bytes
from support.machines import composed as machines

DAY_S = 86_400.0


class Streamer:
    """Streams the snapshots that it is handed."""

    def __init__(self) -> None:
        self.sent: asyncio.Queue[bytes] = asyncio.Queue()

    async def behave(self, exchange: Exchange) -> None:
        await exchange.send(STREAM_HEAD)
        while True:
            await exchange.send(await self.sent.get())

    def send(self, *snapshots: Snapshot, sequences: tuple[int, ...] = ()) -> None:
        self.sent.put_nowait(stream_bytes(*snapshots, sequences=sequences))


Check = Callable[[Ward, Misbehaving, Streamer, ManualClock], Awaitable[None]]


def run(check: Check) -> None:
    """A node that sends what the test wants, among healthy ones; mended in the end."""

    async def main() -> None:
        clock = ManualClock(wall=START)
        streamer = Streamer()
        async with (
            simulation(clock, 4) as simulated,
            misbehaving(streamer.behave) as bad,
            ward(simulated, clock, bad.address) as running,
        ):
            await check(running, bad, streamer, clock)
            await running.all_well()
            await bad.mend(simulated, simulated.names[3])
            await running.mended(bad.address)

    asyncio.run(main())


@pytest.mark.parametrize("skew_s", [DAY_S, -DAY_S])
def test_a_clock_that_is_a_day_off_makes_no_node_young_or_old(skew_s: float) -> None:
    async def check(
        running: Ward, bad: Misbehaving, streamer: Streamer, clock: ManualClock
    ) -> None:
        for _ in range(3):
            clock.advance(1.0)
            theirs = clock.wall() + skew_s
            view = machines.view(0, sample_time=theirs - 0.5, state_since=theirs - 60)
            streamer.send(machines.snapshot(view, time=theirs))
            now = clock.monotonic()
            while running.hub.fleet.nodes[bad.address].age_s(now) != 0.0:
                await asyncio.sleep(0.001)
        await running.beat()
        row = await running.get(f"/v1/nodes/{bad.address}")
        assert (row["state"], row["age_s"]) == ("up", 1.0)
        assert row["clock_skew_s"] == pytest.approx(skew_s)
        (device,) = row["snapshot"]["devices"]
        assert device["sample_age_s"] == pytest.approx(1.5)
        assert device["sample_time"].startswith("2027-01-15T08:")
        seen: list[str] = []
        for _ in range(40):
            await running.beat()
            seen.append(running.state(bad.address))
        assert list(dict.fromkeys(seen)) == ["up", "slow", "stale", "down"]

    run(check)


def test_gaps_and_restarts_of_a_sequence_are_reported_and_cost_nothing() -> None:
    snapshot = machines.snapshot(machines.view(0))

    async def check(
        running: Ward, bad: Misbehaving, streamer: Streamer, clock: ManualClock
    ) -> None:
        numbers = (1, 2, 5, 6, 1, 2, 2, 3, 2**62, 2**62 + 1, 1)
        streamer.send(*[snapshot] * len(numbers), sequences=numbers)
        await running.until(lambda: running.source(bad.address).restarts_total == 4)
        row = await running.get(f"/v1/nodes/{bad.address}")
        (target,) = row["targets"]
        assert (target["missed_ticks_total"], target["restarts_total"]) == (2, 4)
        assert (target["connected"], target["fault"]) == (True, None)
        text = await running.get("/metrics")
        name = "accel_fleet_target_missed_ticks_total"
        assert f'{name}{{node="{bad.address}"}} 2\n' in text

    run(check)


def _views(*indexes: int) -> tuple[DeviceView, ...]:
    return tuple(machines.view(index) for index in indexes)


def test_devices_that_go_come_and_change_slots() -> None:
    async def check(
        running: Ward, bad: Misbehaving, streamer: Streamer, clock: ManualClock
    ) -> None:
        async def reported(views: tuple[DeviceView, ...], present: int) -> dict[str, Any]:
            streamer.send(machines.snapshot(*views))
            await running.until(lambda: len(running.node(bad.address).devices) == present)
            return dict(await running.get(f"/v1/nodes/{bad.address}"))

        row = await reported(_views(0, 1, 2, 3), 4)
        assert (row["devices"], row["devices_expected"], row["devices_missing"]) == (4, 4, 0)
        row = await reported(_views(0, 2), 2)
        assert (row["devices"], row["devices_expected"], row["devices_missing"]) == (2, 4, 2)
        rows = (await running.get("/v1/devices"))["devices"]
        states = {one["index"]: one["state"] for one in rows if one["node"] == bad.address}
        assert states == {0: "ok", 1: "missing", 2: "ok", 3: "missing"}
        row = await reported(_views(5, 3, 2, 1, 0), 5)
        assert (row["devices_expected"], row["devices_missing"]) == (5, 0)
        held = running.node(bad.address).devices
        for index in (0, 1, 2, 3, 5):
            device = machines.device(index)
            assert held[device.id].number(("power_watts",)) == 642.125 + index

    run(check)


def test_a_device_that_is_partitioned_is_neither_lost_nor_counted_twice() -> None:
    async def check(
        running: Ward, bad: Misbehaving, streamer: Streamer, clock: ManualClock
    ) -> None:
        streamer.send(machines.snapshot(*_views(0, 1)))
        await running.until(lambda: len(running.node(bad.address).devices) == 2)
        partitioned = machines.snapshot(
            *_views(0, 1), *(machines.mig_view(9 + n, n) for n in (0, 1))
        )
        streamer.send(partitioned)
        await running.until(lambda: len(running.node(bad.address).devices) == 4)
        await running.beat()
        row = await running.get(f"/v1/nodes/{bad.address}")
        assert (row["devices"], row["devices_expected"], row["devices_missing"]) == (4, 4, 0)
        fleet = await running.get("/v1/fleet")
        assert fleet["devices_total"] == 2 * 3 + 2
        streamer.send(machines.snapshot(*_views(0, 1)))
        await running.until(lambda: len(running.node(bad.address).devices) == 2)
        row = await running.get(f"/v1/nodes/{bad.address}")
        assert row["devices_missing"] == 2

    run(check)


def test_two_nodes_that_claim_one_uuid_are_both_kept_and_reported() -> None:
    async def hold(exchange: Exchange) -> None:
        snapshot = machines.snapshot(*_views(1, 2))
        await exchange.send(STREAM_HEAD + stream_bytes(snapshot))
        await hang(exchange)

    other: Behaviour = hold

    async def main() -> None:
        clock = ManualClock(wall=START)
        streamer = Streamer()
        async with (
            simulation(clock, 4) as simulated,
            misbehaving(streamer.behave) as one,
            misbehaving(other) as two,
            ward(simulated, clock, one.address, two.address) as running,
        ):
            streamer.send(machines.snapshot(*_views(0, 1)))
            nodes = {one.address, two.address}
            await running.until(lambda: all(len(running.node(name).devices) == 2 for name in nodes))
            await running.beat()
            fleet = await running.get("/v1/fleet")
            (conflict,) = fleet["conflicts"]
            assert conflict["uuid"] == machines.device(1).uuid
            assert set(conflict["nodes"]) == nodes
            rows = (await running.get("/v1/devices"))["devices"]
            claimed = [row["node"] for row in rows if row["uuid"] == conflict["uuid"]]
            assert set(claimed) == nodes
            assert "accel_fleet_identity_conflicts 1\n" in await running.get("/metrics")
            streamer.send(machines.snapshot(*_views(0)))
            await running.until(lambda: not running.hub.fleet.conflicts())
            await running.all_well()

    asyncio.run(main())
