"""Two hubs with one journal in PostgreSQL: how long nobody leads, and what is done twice.

Whole hub processes follow two agents; a device of each is lost shortly before the leader is killed,
stopped and continued, or cut off, or before the database goes away, hangs for both, or fails over to an
asynchronous standby that is promoted by hand. Rules in `auto` quarantine one node at most by a program
that notes its fence. The gap runs from the event to the next token in the table `writer`; of a database
that was away or hung, from its first answer until a hub holds the lease.

`.venv/bin/python benchmarks/hub/failover.py --times 20`; needs PostgreSQL's server.
"""

import argparse
import asyncio
import contextlib
import itertools
import random
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import asyncpg
import msgspec

from failover_hubs import NODES, HubProcess, follows, hub, leads, programs
from support.fleet.hub_peers import agent
from support.machines import composed as machines
from support.postgresql.server import Server
from support.postgresql.server import running as server_running

EVENTS = (
    "leader killed",
    "leader stopped",
    "leader cut off",
    "database away",
    "database hung",
    "database failed over",
)
_AWAY_S = 4.0
_WITHIN_S = 120.0
_SETTLE_S = 8.0


class Run(NamedTuple):
    """What came of one event."""

    gap_s: float
    # Incidents of an entity after its first.
    repeated: int
    # Calls with a lower fence than one before.
    backwards: int
    # Nodes that were quarantined, of which one may be.
    out: int


async def ask(server: Server, statement: str) -> int:
    """A number from the journal; 0 while there is none."""
    with contextlib.suppress(OSError, asyncpg.PostgresError):
        connection = await asyncpg.connect(
            host=str(server.folder), port=server.port, user="postgres", database="postgres"
        )
        try:
            return int(await connection.fetchval(statement) or 0)
        finally:
            await connection.close()
    return 0


async def token(server: Server) -> int:
    """Of the hub that leads."""
    return await ask(server, "SELECT token FROM accelwatch.writer")


async def repeated(server: Server) -> int:
    """Incidents of an entity after its first."""
    entity = "convert_from(body, 'UTF8')::json -> 'entity'"
    return await ask(
        server, f"SELECT count(*) - count(DISTINCT ({entity})::text) FROM accelwatch.incident"
    )


async def holders(server: Server) -> int:
    """Sessions that hold the lease."""
    return await ask(
        server, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
    )


async def until(counted: Callable[[], Awaitable[int]], more_than: int = 0) -> None:
    """Wait until there is more. Raises TimeoutError."""
    async with asyncio.timeout(_WITHIN_S):
        while await counted() <= more_than:
            await asyncio.sleep(0.05)


def play(event: str, luck: random.Random) -> Run:
    """One event, with servers of its own."""
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(server_running("max_wal_senders=4"))]
        if event == "database failed over":
            servers.append(stack.enter_context(servers[0].standby()))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        return asyncio.run(play_between(event, folder, servers, luck))


async def play_between(
    event: str, folder: Path, servers: Sequence[Server], luck: random.Random
) -> Run:
    """One event, to the first of two hubs or to their database."""
    site, last = folder / "site", servers[-1]
    programs(site)
    async with contextlib.AsyncExitStack() as stack:
        agents = []
        for name in NODES:
            well = msgspec.structs.replace(machines.snapshot(), boot_id=f"boot-{name}")
            agents.append(await stack.enter_async_context(agent(well)))
        leader = await stack.enter_async_context(hub(folder / "a", site, servers, agents))
        await until(lambda: leads(leader))
        next_ = await stack.enter_async_context(hub(folder / "b", site, servers, agents))
        await until(lambda: follows(next_))
        if len(servers) > 1:
            await asyncio.to_thread(last.wait_for, servers[0])
        for name, one in zip(NODES, agents, strict=True):
            bad = machines.snapshot(machines.lost_view(0))
            one.feed.put(msgspec.structs.replace(bad, boot_id=f"boot-{name}"))
        await asyncio.sleep(luck.uniform(0.0, 3.0))
        before = await token(servers[0])
        started = await happen(event, leader, next_, servers)
        if event in ("database away", "database hung"):
            await until(lambda: holders(last))  # it may be the same hub, with the same token
        else:
            await until(lambda: token(last), before)
        gap_s = time.monotonic() - started
        if event == "leader stopped":
            leader.process.send_signal(signal.SIGCONT)
        if event == "leader cut off":
            leader.links[0].go_on()
        await asyncio.sleep(_SETTLE_S)
        calls = [line.split() for line in (site / "calls").read_text().splitlines()]
        fences = [int(fence) for fence, _ in calls]
        backwards = sum(later < earlier for earlier, later in itertools.pairwise(fences))
        return Run(gap_s, await repeated(last), backwards, len({node for _, node in calls}))


async def happen(
    event: str, leader: HubProcess, next_: HubProcess, servers: Sequence[Server]
) -> float:
    """Let it happen; monotonic seconds from which the gap is counted."""
    links = (*leader.links, *next_.links)
    match event:
        case "leader killed":
            leader.process.kill()
        case "leader stopped":
            leader.process.send_signal(signal.SIGSTOP)
        case "leader cut off":
            leader.links[0].hang()
        case "database away":
            await asyncio.to_thread(servers[0].stop, signal.SIGINT)
            await asyncio.sleep(_AWAY_S)
            await asyncio.to_thread(servers[0].start)
        case "database hung":
            for link in links:
                link.hang()
            await asyncio.sleep(_AWAY_S)
            for link in links:
                link.go_on()
        case _:
            await asyncio.to_thread(servers[0].stop, signal.SIGKILL)
            await asyncio.to_thread(servers[1].promote)
    return time.monotonic()


def main() -> None:
    """Run each event, and print gaps and what was done that must not be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=3, help="runs of each event")
    parser.add_argument("--event", choices=EVENTS, action="append", help="only this one")
    parser.add_argument("--seed", type=int, default=1, help="of the moments of the events")
    options = parser.parse_args()
    luck = random.Random(options.seed)
    columns = "runs  gap median   worst  incidents twice  lower token  nodes out, most"
    print(f"{'event':22} {columns}", flush=True)
    for event in options.event or EVENTS:
        runs = [play(event, luck) for _ in range(options.times)]
        gaps = sorted(run.gap_s for run in runs)
        print(
            f"{event:22} {len(runs):4}  {gaps[len(gaps) // 2]:8.1f} s  {gaps[-1]:4.1f} s"
            f"  {sum(run.repeated for run in runs):15}  {sum(run.backwards for run in runs):11}"
            f"  {max(run.out for run in runs):15}",
            flush=True,
        )


if __name__ == "__main__":
    main()
