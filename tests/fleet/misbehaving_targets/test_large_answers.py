"""A gigabyte in every disguise: the hub stops reading at its limit, says why, and goes on."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.base.clock import ManualClock, SystemClock
from fleet.misbehaving_targets.large_answers import ENDLESS, GIGABYTE, LARGE
from fleet.misbehaving_targets.misbehaving import misbehaving
from fleet.misbehaving_targets.processes import hub_process
from fleet.misbehaving_targets.short_waits import FAST, START, simulation, ward

_LIMIT = 1 << 20
# What sockets of both sides may hold besides: Linux lets a receiver's window grow to tcp_rmem.
_BUFFERS = 24 << 20
SCRAPE = msgspec.structs.replace(FAST, timeout_s=3.0, body_size_limit_bytes=_LIMIT, max_backoff_s=1)


@pytest.mark.parametrize("disguise", LARGE)
def test_reading_stops_at_the_limit(disguise: str) -> None:
    behaviour, reason = LARGE[disguise]

    async def main() -> None:
        clock = ManualClock(wall=START)
        async with (
            simulation(clock, 4) as simulated,
            misbehaving(behaviour) as bad,
            ward(simulated, clock, bad.address, scrape=SCRAPE) as running,
        ):
            await running.fails(bad.address, reason)
            requests = max(1, sum(not path.endswith("/v1/stream") for path in bad.requests))
            assert bad.sent < requests * (_LIMIT + _BUFFERS) < requests * GIGABYTE
            await running.all_well()
            assert bad.most_open <= 2
            await bad.mend(simulated, simulated.names[3])
            await running.mended(bad.address)
            await running.all_well()

    asyncio.run(main())


def test_all_of_them_at_once_cost_neither_memory_nor_sockets(tmp_path: Path) -> None:
    """A hub as a process, so that its greatest memory is its own."""
    limit, kinds = 2 << 20, {**LARGE, **ENDLESS}
    # Long enough for the healthy nodes, which this process answers for beside gigabytes of others.
    scrape = {"scrape_timeout": "30s", "max_backoff": "1s", "body_size_limit": limit}

    async def main() -> None:
        async with contextlib.AsyncExitStack() as stack:
            simulated = await stack.enter_async_context(simulation(SystemClock(), 3))
            simulated.server.start()
            bad = {
                kind: await stack.enter_async_context(misbehaving(behaviour))
                for kind, (behaviour, _) in kinds.items()
            }
            well = [simulated.target(name) for name in simulated.names]
            targets = {"static": [*well, *(one.address for one in bad.values())]}
            settings = {"targets": targets, "scrape": scrape}
            hub = await stack.enter_async_context(hub_process(tmp_path, settings))
            await hub.until(lambda fleet: bool(fleet["nodes_total"]))
            before = hub.status("VmRSS")

            def all_reported(page: Any) -> bool:
                rows = {row["node"]: row["targets"][0]["fault"] for row in page["nodes"]}
                reported = {kind: rows[one.address] for kind, one in bad.items()}
                return all(
                    reported[kind] and reported[kind]["reason"] in (reason, "timeout")
                    for kind, (_, reason) in kinds.items()
                )

            await hub.until(all_reported, "/v1/nodes")
            assert all(one.most_open <= 2 for one in bad.values())
            assert hub.sockets() < 20 + 2 * len(kinds)
            assert (hub.status("VmHWM") - before) << 10 < (64 << 20) + 4 * limit * len(kinds)
            for name, row in (await hub.rows()).items():
                if name.startswith(simulated.address):
                    (target,) = row["targets"]
                    assert (target["connected"], target["failures_total"]) == (True, 0)
                    assert (target["missed_ticks_total"], row["devices"]) == (0, 2)
                    assert row["state"] in ("up", "slow")

    asyncio.run(main())
