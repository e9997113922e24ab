"""Targets that hang or drip, at every moment of an answer."""

import asyncio

import msgspec
import pytest

from accelwatch.base.clock import ManualClock
from fleet.misbehaving_targets.malformed import Message, twisted
from fleet.misbehaving_targets.misbehaving import (
    PLAIN_HEAD,
    STREAM_HEAD,
    Behaviour,
    Exchange,
    exposed,
    hang,
    misbehaving,
)
from fleet.misbehaving_targets.short_waits import FAST, START, simulation, ward
from support.fleet.hub_peers import stream_bytes
from support.machines import composed as machines


async def _hang_after_head(exchange: Exchange) -> None:
    await exchange.send(STREAM_HEAD)
    await hang(exchange)


async def _hang_after_a_tick(exchange: Exchange) -> None:
    await exchange.send(STREAM_HEAD + stream_bytes(machines.snapshot(machines.view(0))))
    await hang(exchange)


async def _drip_head(exchange: Exchange) -> None:
    await exchange.drip(STREAM_HEAD)


async def _drip_a_frame(exchange: Exchange) -> None:
    await exchange.send(STREAM_HEAD + (1 << 20).to_bytes(4, "big"))
    await exchange.drip(bytes(1 << 20))


async def _drip_hellos(exchange: Exchange) -> None:
    """Whole messages, one by one, but never a tick."""
    whole = stream_bytes(machines.snapshot(machines.view(0)))
    hello = whole[: 4 + int.from_bytes(whole[:4], "big")]
    await exchange.send(STREAM_HEAD)
    while True:
        await exchange.send(hello)
        await asyncio.sleep(0.02)


async def _drip_exposition(exchange: Exchange) -> None:
    await exchange.send(PLAIN_HEAD)
    await exchange.drip(b"# dripping\n" * 100_000)


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (hang, "no answer in time"),
        (_hang_after_head, "no answer in time"),
        (_drip_head, "no answer in time"),
        (_drip_a_frame, "no answer in time"),
        (_drip_hellos, "no answer in time"),
        (exposed(hang), "no complete answer in time"),
        (exposed(_drip_exposition), "no complete answer in time"),
    ],
)
def test_a_target_that_is_never_done_costs_only_itself(behaviour: Behaviour, words: str) -> None:
    async def main() -> None:
        clock = ManualClock(wall=START)
        async with (
            simulation(clock, 4) as simulated,
            misbehaving(behaviour) as bad,
            ward(simulated, clock, bad.address) as running,
        ):
            row = await running.fails(bad.address, "timeout", words)
            assert row["state"] == "never"
            await running.all_well()
            assert bad.most_open <= 2
            await bad.mend(simulated, simulated.names[3])
            await running.mended(bad.address)
            await running.all_well()

    asyncio.run(main())


def test_a_node_that_falls_silent_ages_and_is_never_called_healthy() -> None:
    async def main() -> None:
        clock = ManualClock(wall=START)
        async with (
            simulation(clock, 4) as simulated,
            misbehaving(_hang_after_a_tick) as bad,
            ward(simulated, clock, bad.address) as running,
        ):
            await running.until(lambda: running.source(bad.address).arrived is not None)
            bad.behaviour = hang
            arrived = running.source(bad.address).arrived
            seen: list[str] = []
            while running.state(bad.address) != "down":
                await running.beat()
                seen.append(running.state(bad.address))
                assert running.source(bad.address).arrived == arrived
                fleet = await running.get("/v1/fleet")
                speaks = seen[-1] in ("up", "slow")
                assert sum(fleet["health"].values()) == 6 + speaks
            assert list(dict.fromkeys(seen)) == ["up", "slow", "stale", "down"]
            rows = (await running.get("/v1/devices"))["devices"]
            (row,) = [row for row in rows if row["node"] == bad.address]
            assert (row["state"], row["health"]) == ("unreachable", "unknown")
            assert set(row["values"].values()) == {None}
            await running.fails(bad.address, "timeout", "no answer in time")
            await running.all_well()
            await bad.mend(simulated, simulated.names[3])
            await running.mended(bad.address)

    asyncio.run(main())


def test_a_stream_that_breaks_after_each_tick_is_opened_ever_less_often() -> None:
    async def break_off(exchange: Exchange) -> None:
        await exchange.send(STREAM_HEAD + stream_bytes(machines.snapshot(machines.view(0))))

    async def main() -> None:
        clock = ManualClock(wall=START)
        scrape = msgspec.structs.replace(FAST, max_backoff_s=3600.0)
        async with (
            simulation(clock, 4) as simulated,
            misbehaving(break_off) as bad,
            ward(simulated, clock, bad.address, scrape=scrape) as running,
        ):
            await running.until(lambda: len(bad.requests) >= 3)
            await running.fails(bad.address, "closed", "ended the stream")
            before = len(bad.requests)
            await asyncio.sleep(0.5)  # the fourth wait is at least a second
            assert len(bad.requests) <= before + 1
            await running.beat()
            await running.all_well()

    asyncio.run(main())


def test_a_node_does_not_say_itself_how_long_it_is_up() -> None:
    def yearly(hello: Message) -> None:
        hello["interval_s"] = 3600.0

    async def main() -> None:
        clock = ManualClock(wall=START)
        async with (
            simulation(clock, 4) as simulated,
            misbehaving(twisted("hello", yearly)) as bad,
            ward(simulated, clock, bad.address) as running,
        ):
            await running.until(lambda: running.has_answered(bad.address))
            bad.behaviour = hang
            seen: list[str] = []
            for _ in range(40):
                await running.beat()
                seen.append(running.state(bad.address))
            assert list(dict.fromkeys(seen)) == ["up", "slow", "stale", "down"]
            await bad.mend(simulated, simulated.names[3])
            await running.mended(bad.address)

    asyncio.run(main())
