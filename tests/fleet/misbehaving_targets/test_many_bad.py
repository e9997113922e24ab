"""Two hundred targets of which every fifth is bad: the others are as fresh as if there were none."""

import asyncio
import contextlib

import msgspec

from accelwatch.base.clock import ManualClock
from fleet.misbehaving_targets.misbehaving import (
    PLAIN_HEAD,
    STREAM_HEAD,
    Exchange,
    Misbehaving,
    hang,
    misbehaving,
)
from fleet.misbehaving_targets.short_waits import FAST, START, simulation, ward

_TARGETS, _DEAD, _SLOW, _GARBAGE = 200, 20, 10, 10


async def _slow_loris(exchange: Exchange) -> None:
    head = STREAM_HEAD if exchange.path.endswith("/v1/stream") else PLAIN_HEAD
    await exchange.send(head)
    await exchange.drip(b"\0\1\0\0" + bytes(1 << 16), 0.05)


async def _garbage(exchange: Exchange) -> None:
    await exchange.send(STREAM_HEAD + b"\0\0\1\0" + b"\xff\x00garbage!" * 40_000)
    await hang(exchange)


def test_every_fifth_target_is_bad_and_the_others_miss_no_tick() -> None:
    well = _TARGETS - _DEAD - _SLOW - _GARBAGE

    async def main() -> None:
        clock = ManualClock(wall=START)
        async with contextlib.AsyncExitStack() as stack:
            enter = stack.enter_async_context
            simulated = await enter(simulation(clock, well + 1))
            kinds = {
                "connect": [await enter(misbehaving(hang)) for _ in range(_DEAD)],
                "timeout": [await enter(misbehaving(_slow_loris)) for _ in range(_SLOW)],
                "garbage": [await enter(misbehaving(_garbage)) for _ in range(_GARBAGE)],
            }
            for dead in kinds["connect"]:
                await dead.stop()
            bad: dict[str, str] = {
                one.address: reason for reason, some in kinds.items() for one in some
            }
            scrape = msgspec.structs.replace(FAST, max_backoff_s=0.2)
            running = await enter(ward(simulated, clock, *bad, healthy=well, scrape=scrape))
            await running.until(
                lambda: all(running.reason(name) == reason for name, reason in bad.items())
            )
            for _ in range(30):
                await running.beat()
                now = clock.monotonic()
                ages = {running.node(name).age_s(now) for name in running.healthy}
                assert ages == {0.0}
            await running.all_well()
            fleet = await running.get("/v1/fleet")
            assert (fleet["nodes"]["up"], fleet["nodes"]["never"]) == (well, len(bad))
            rows = {row["node"]: row for row in (await running.get("/v1/nodes"))["nodes"]}
            for name, reason in bad.items():
                assert rows[name]["targets"][0]["fault"]["reason"] == reason
            assert all(one.most_open <= 2 for some in kinds.values() for one in some)
            mended: Misbehaving = kinds["garbage"][0]
            await mended.mend(simulated, simulated.names[well])
            await running.mended(mended.address)
            await running.all_well()

    asyncio.run(main())
