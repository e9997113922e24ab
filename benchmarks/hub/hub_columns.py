"""What readers of a hub's numbers cost: `hub_columns.py [--nodes N] [--rounds R]`, in one process.

Nodes of 8 devices tell 40 of 74 series of each; every figure is CPU of this process, the least of
some rounds, each after all nodes have ticked once.
"""

import argparse
import asyncio
import json
import logging
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from accelwatch.base.clock import ManualClock
from accelwatch.base.slices import LongWork, Turns
from accelwatch.fleet.api.live.feed import Feed
from accelwatch.fleet.api.query.names import columns, condition
from accelwatch.fleet.api.query.rows import page
from accelwatch.fleet.api.query.totals import counted
from accelwatch.fleet.api.summaries import fleet_document
from accelwatch.fleet.follow.frames import FrameReader, RawTick
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.fleet_status import refresh_nodes
from accelwatch.fleet.state.nodes.liveness import Thresholds
from accelwatch.fleet.target import targets_of
from accelwatch.schema.stream.packed import pack
from support.fleet.hub_peers import stream_bytes
from support.machines import composed as machines

DEVICES = 8
SERIES = 40


class Bench:
    """A fleet of which every node ticks when it is told to."""

    def __init__(self, nodes: int, packed: bool) -> None:
        self.clock = ManualClock(wall=machines.NOW)
        self.fleet = Fleet(self.clock, Thresholds(**_forever()), None)
        targets = targets_of([f"n{number:04d}" for number in range(nodes)])
        self.fleet.set_targets(targets)
        self.keys = [one.key for one in targets]
        views = [machines.view(index) for index in range(DEVICES)]
        self.wanted = tuple(list(views[0].reading.values)[:SERIES])
        messages = list(FrameReader(1 << 22).feed(stream_bytes(machines.snapshot(*views))))
        for key in self.keys:
            for message, size in messages:
                self.fleet.accept(key, message, size)
        tick = next(message for message, _ in messages if isinstance(message, RawTick))
        if packed:
            values = [msgspec.msgpack.decode(one.values) for one in tick.devices]
            raws = [msgspec.Raw(msgspec.msgpack.encode(pack(one))) for one in values]
            devices = tuple(
                msgspec.structs.replace(one, values=raw)
                for one, raw in zip(tick.devices, raws, strict=True)
            )
            tick = msgspec.structs.replace(tick, devices=devices)
        # What a node tells each time.
        self.message = tick

    def tick(self) -> None:
        """Every node tells something new."""
        for key in self.keys:
            self.fleet.accept(key, self.message, 1000)


def _forever() -> dict[str, float]:
    return {"slow_s": 1e6, "stale_s": 2e6, "down_s": 3e6}


def cpu_s() -> float:
    """Processor seconds of this process, to the nanosecond: getrusage(2) parts them by ticks."""
    return time.process_time()


async def least(bench: Bench, rounds: int, work: Callable[[], Awaitable[object]]) -> float:
    """Milliseconds of the cheapest round."""
    found = []
    for _ in range(rounds):
        bench.tick()
        began = cpu_s()
        await work()
        found.append(1e3 * (cpu_s() - began))
    return round(min(found), 1)


async def page_of(fleet: Fleet, text: str, limit: int) -> None:
    """The first page of devices."""
    async with Turns().walk() as walk:
        await page(
            fleet,
            columns(()),
            names=sorted(fleet.nodes),
            expression=condition(text, ()) if text else None,
            after=None,
            limit=limit,
            walk=walk,
        )


async def of_form(bench: Bench, rounds: int, form: str) -> dict[str, float]:
    """Numbers taken device by device and into columns."""

    async def one_by_one() -> None:
        for node in bench.fleet.nodes.values():
            for held in node.devices.values():
                held.numbers(bench.wanted)

    async def into_columns() -> None:
        await refresh_nodes(bench.fleet, bench.wanted, LongWork().yield_control)

    await into_columns()
    return {
        f"numbers() of each device, {form}": await least(bench, rounds, one_by_one),
        f"into columns, {form}": await least(bench, rounds, into_columns),
    }


async def figures(nodes: int, rounds: int) -> dict[str, float]:
    """All of them."""
    found = await of_form(Bench(nodes, True), rounds, "packed")
    found |= await of_form(Bench(nodes, False), rounds, "listed")
    bench = Bench(nodes, False)
    fleet = bench.fleet
    document = fleet_document(fleet, await counted(fleet, LongWork().yield_control))
    feeds = [Feed(fleet, columns(("power_watts", "utilization_ratio")), None) for _ in range(8)]

    async def fed() -> None:
        for feed in feeds:
            await feed.make(document)

    await fed()
    pages = {
        "page of all": ("", 100_000),
        "filtered page of 100": ("power_watts > 645", 100),
        "page that finds nothing": ("power_watts > 5000", 100),
    }
    found["sums"] = await least(bench, rounds, lambda: counted(fleet, LongWork().yield_control))
    found["eight feeds"] = await least(bench, rounds, fed)
    for name, (text, limit) in pages.items():
        ask = partial(page_of, fleet, text, limit)
        await ask()
        found[name] = await least(bench, rounds, ask)
    return found


def main() -> None:
    """Print the figures, milliseconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    logging.disable(logging.WARNING)  # the nodes tell of the same devices
    print(json.dumps(asyncio.run(figures(given.nodes, given.rounds)), indent=2))


if __name__ == "__main__":
    main()
