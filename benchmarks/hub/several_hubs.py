"""What following several hubs as one fleet costs the dashboard: CPU, memory, lateness of the picture.

`several_hubs.py [--hubs N] [--nodes N] [--interval S] [--seconds S] [--shared]`: hubs of so many nodes
with 8 devices each. The hubs are stand-ins, a process each: they serve the stream of a real hub, message
by message, with other numbers in every tick, and no other page. Lateness is the time from a tick at a
hub to the picture of all hubs that has it. Drawing is not part of this.
With --shared every hub follows the nodes of the first: each node is one row all the same.
"""

import argparse
import asyncio
import contextlib
import multiprocessing
import os
import resource
import statistics
import time
from collections.abc import Iterator
from typing import NamedTuple

from accelwatch.fleet.hub_client.several.source import SeveralHubs
from accelwatch.fleet.picture.model import FIELDS
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint
from accelwatch.fleet.wire import (
    SCHEMA,
    DeviceNow,
    DeviceSlot,
    FleetDocument,
    FleetHello,
    FleetTick,
    NodeNow,
)
from accelwatch.schema.timestamps import timestamp
from accelwatch.web.http.stream import MSGPACK, framed
from hub_processes import use

DEVICES = 8
GIB = 1 << 30
HEAD = f"HTTP/1.1 200 OK\r\nContent-Type: {MSGPACK}\r\nConnection: close\r\n\r\n".encode()


class Plan(NamedTuple):
    hubs: int
    nodes: int
    interval_s: float
    seconds: float
    shared: bool


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """The options of all that have stand-ins of hubs."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--hubs", type=int, default=4)
    parser.add_argument("--nodes", type=int, default=3125, help="of each hub")
    parser.add_argument("--interval", type=float, default=5.0)
    return parser


def arguments() -> Plan:
    parser = parser_of(__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--shared", action="store_true")
    given = parser.parse_args()
    return Plan(given.hubs, given.nodes, given.interval, given.seconds, given.shared)


def slots(hub: int, nodes: int) -> list[DeviceSlot]:
    """Eight devices of each node, eight nodes to a rack, a job for each 16 nodes."""
    return [
        DeviceSlot(
            slot=number * DEVICES + index,
            node=f"h{hub}n{number:05d}",
            labels={"rack": f"h{hub}r{number // 8}", "pool": "train"},
            id=f"nvidia:GPU-{hub}-{number:05d}-{index}",
            vendor="nvidia",
            index=index,
            name=f"nvidia{index}",
            kind="gpu",
            model="NVIDIA H100 80GB HBM3",
            uuid=f"GPU-{hub}-{number:05d}-{index}",
            parent_id=None,
            job=str(48100 + number // 16),
            user=f"user{number // 16 % 50}",
            queue="batch",
        )
        for number in range(nodes)
        for index in range(DEVICES)
    ]


def tick(hub: int, nodes: int, sequence: int) -> FleetTick:
    """All devices with numbers that change from tick to tick."""
    now = time.time()
    devices = tuple(
        DeviceNow(
            slot,
            "ok",
            "ok",
            0.4,
            (
                (slot + sequence) % 100 / 100,
                61 * GIB + sequence,
                80 * GIB,
                now,  # when it was made, by which a client of a hub over it knows how late it is
                61,
                89,
                28,
            ),
        )
        for slot in range(nodes * DEVICES)
    )
    document = FleetDocument(
        schema=SCHEMA,
        version="0.2.0",
        time=timestamp(now),
        nodes_total=nodes,
        nodes={"up": nodes},
        devices_total=nodes * DEVICES,
        devices={"ok": nodes * DEVICES},
        health={"ok": nodes * DEVICES},
        power_watts=500.0 * nodes * DEVICES,
        memory_used_bytes=61 * GIB * nodes * DEVICES,
        memory_size_bytes=80 * GIB * nodes * DEVICES,
        utilization_ratio=0.5,
        conflicts=(),
    )
    node_rows = tuple(NodeNow(f"h{hub}n{number:05d}", "up", 0.4, 0) for number in range(nodes))
    return FleetTick(sequence=sequence, time=now, fleet=document, nodes=node_rows, devices=devices)


def serve(hub: int, plan: Plan, ports: "multiprocessing.Queue[tuple[int, int]]") -> None:
    """One stand-in of a hub, until it is ended."""
    named = 0 if plan.shared else hub

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        if b"/v1/stream" not in request:
            writer.write(
                b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
            writer.close()
            return
        hello = FleetHello(interval_s=plan.interval_s, fields=FIELDS)
        writer.write(HEAD + framed(hello, MSGPACK))
        for slot in slots(named, plan.nodes):
            writer.write(framed(slot, MSGPACK))
        sequence = 0
        due = time.monotonic() + hub * plan.interval_s / plan.hubs
        while True:
            sequence += 1
            writer.write(framed(tick(named, plan.nodes, sequence), MSGPACK))
            await writer.drain()
            due += plan.interval_s
            await asyncio.sleep(max(due - time.monotonic(), 0.0))

    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        ports.put((hub, server.sockets[0].getsockname()[1]))
        await server.serve_forever()

    asyncio.run(main())


@contextlib.contextmanager
def serving(plan: Plan) -> Iterator[dict[int, int]]:
    """The ports of the stand-ins by hub, a process each; they end with the block."""
    context = multiprocessing.get_context("spawn")
    ports: multiprocessing.Queue[tuple[int, int]] = context.Queue()
    hubs = [
        context.Process(target=serve, args=(hub, plan, ports), daemon=True)
        for hub in range(plan.hubs)
    ]
    for process in hubs:
        process.start()
    try:
        yield dict(ports.get(timeout=60) for _ in hubs)
    finally:
        for process in hubs:
            process.terminate()


class Measured(NamedTuple):
    pictures: int
    devices: int
    lateness_s: list[float]
    cpu_s: float
    wall_s: float
    making_s: list[float]


async def follow(plan: Plan, endpoints: list[HubEndpoint]) -> Measured:
    """The picture made anew whenever something comes, after every hub has told all devices."""
    source = SeveralHubs(endpoints)
    total = plan.nodes * DEVICES * (1 if plan.shared else plan.hubs)
    lateness: list[float] = []
    making: list[float] = []
    started = [0.0, 0.0]
    newest = [0.0]
    complete = asyncio.Event()

    def changed() -> None:
        began = time.process_time()
        view = source.fleet()
        took = time.process_time() - began
        if view is None or len(view.devices) < total:
            return
        if not complete.is_set():
            complete.set()
            started[:] = time.process_time(), time.monotonic()
        elif view.time > newest[0]:
            lateness.append(time.time() - view.time)
            making.append(took)
        newest[0] = max(newest[0], view.time)

    task = asyncio.ensure_future(source.run(changed))
    await complete.wait()
    await asyncio.sleep(plan.seconds)
    cpu_s, wall_s = time.process_time() - started[0], time.monotonic() - started[1]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return Measured(len(lateness), total, lateness, cpu_s, wall_s, making)


def main() -> None:
    plan = arguments()
    with serving(plan) as places:
        endpoints = [
            HubEndpoint(name=f"pod-{hub}", base=f"http://127.0.0.1:{places[hub]}")
            for hub in range(plan.hubs)
        ]
        found = asyncio.run(follow(plan, endpoints))
        memory = use(os.getpid()).pss_mib
    late = sorted(found.lateness_s)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{plan.hubs} hubs, {found.devices} devices shown, a tick of each every {plan.interval_s:g} s"
    )
    print(f"CPU            {found.cpu_s / found.wall_s:.1%} of a core over {found.wall_s:.0f} s")
    print(f"memory         {memory:.0f} MiB PSS at the end, {most:.0f} MiB at most")
    print(
        f"pictures       {found.pictures}, {statistics.median(found.making_s) * 1000:.0f} ms of CPU each"
    )
    print(f"lateness       median {statistics.median(late):.2f} s, worst {late[-1]:.2f} s")


if __name__ == "__main__":
    main()
