"""What it costs a hub to be written to a store, to be federated, and to be read from a store.

`hub_store.py [write|read] [--nodes N] [--dialect own|dcgm]`. CPU time of this process for one round over
the fleet and the longest time for which the event loop was held. `read` decodes answers of the size and
shape that a Prometheus gives, packed as it packs them; what the server spends is not counted.
"""

import argparse
import asyncio
import gzip
import json
import re
import resource
import time
from collections.abc import Awaitable, Callable

import msgspec

from accelwatch.base.clock import SystemClock
from accelwatch.cli.trial.sim import SimPlan, build_fleet, own_exposition
from accelwatch.exposition import ExpositionReader
from accelwatch.fleet.follow.frames import FrameReader
from accelwatch.fleet.hub.collecting import tend
from accelwatch.fleet.hub.hub import Hub
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.liveness import Thresholds
from accelwatch.fleet.target import Target
from accelwatch.fleet.tsdb.federation import Federating
from accelwatch.fleet.tsdb.follow import StoreFollower
from accelwatch.fleet.tsdb.query import Instant, Range
from accelwatch.fleet.tsdb.remote_write.writer import Writer
from accelwatch.fleet.tsdb.settings import RemoteWrite, Store
from accelwatch.schema.stream.compact import CompactEncoder
from accelwatch.web.http.stream import MSGPACK, framed
from accelwatch_lab.simulator.fleet import Fleet as Simulated
from accelwatch_lab.simulator.serving.connection import Request
from accelwatch_lab.simulator.serving.pages import Pages, encoded

DEVICES = 8
ROUNDS = 4
_ELSEWHERE = "http://127.0.0.1:1"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("write", "read"))
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--dialect", default="own")
    return parser.parse_args()


async def measured(work: Callable[[], Awaitable[None]], apart: Callable[[], float]) -> str:
    """CPU seconds of some work, without those told by `apart`, and the longest hold of the loop."""
    holds = [0.0]

    async def watch() -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.0005)
            now = time.perf_counter()
            holds.append(now - last)
            last = now

    watching = asyncio.get_running_loop().create_task(watch())
    await asyncio.sleep(0.01)
    before, other = time.process_time(), apart()
    await work()
    used = time.process_time() - before - (apart() - other)
    watching.cancel()
    return f"{used:.2f} s of CPU, loop held for {max(holds) * 1000:.0f} ms at most"


def memory() -> str:
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB resident at most"


def simulated(nodes: int, dialect: str) -> Simulated:
    plan = SimPlan(nodes=nodes, devices=DEVICES, vendor="nvidia", dialect=dialect)
    return build_fleet(plan, SystemClock())


class Reported:
    """A fleet that is told by streams, without sockets."""

    def __init__(self, nodes: int) -> None:
        clock = SystemClock()
        self.sim = simulated(nodes, "own")
        self.fleet = Fleet(clock, Thresholds(slow_s=600, stale_s=700, down_s=800), None)
        self._began = time.monotonic()
        self._ways = [
            (
                node,
                Target(node=node.name, scheme="http", address=f"{node.name}:9877", labels=_LABELS),
                CompactEncoder(),
                FrameReader(10 << 20),
            )
            for node in self.sim.nodes
        ]
        self.fleet.set_targets(target for _, target, _, _ in self._ways)

    async def tick(self) -> None:
        now = self.sim.instant_at(time.monotonic() - self._began)
        for node, target, encoder, reader in self._ways:
            for message in encoder.messages(self.sim.snapshot(node, now)):
                for received, size in reader.feed(framed(message, MSGPACK)):
                    self.fleet.accept(target.key, received, size)
            await asyncio.sleep(0)


_LABELS = {"rack": "r01", "pool": "train"}


async def write(nodes: int) -> None:
    reported = Reported(nodes)
    write_to = RemoteWrite(url=_ELSEWHERE, interval_s=15.0, queue_bytes=1 << 34)
    writer = Writer(write_to, reported.fleet, reported.fleet.clock)
    federating = Federating(reported.fleet)
    pending = ("fleet_remote_write_samples_pending",)
    for _ in range(ROUNDS):
        await reported.tick()
        before = writer.own()[pending]
        cost = await measured(writer.round, lambda: 0.0)
        print(f"remote write, {writer.own()[pending] - before} samples: {cost}")
        await asyncio.sleep(1.1)  # what was made for federation is forgotten

        async def federate() -> None:
            made = await federating.made("default", frozenset())
            async for _ in made.chunks(openmetrics=False, packed=True):
                pass

        print(f"federation: {await measured(federate, lambda: 0.0)}")
    print(memory())
    await writer.close()


class Canned:
    """Answers of a store that scrapes simulated exporters."""

    def __init__(self, nodes: int, dialect: str) -> None:
        self.warnings: list[str] = []
        self.spent = 0.0
        self.bytes = 0
        self.series = 0
        self._texts: dict[str, list[tuple[str, str]]] = {}
        sim = simulated(nodes, dialect)
        pages, now = Pages(sim, own_exposition()), sim.instant_at(1.0)
        asked = Request(method="GET", path="/metrics", headers={})
        for node in sim.nodes:
            page = pages.page(node, "/metrics", now, asked)
            assert page is not None
            scrape = ExpositionReader().read(encoded(page, asked)[1])
            target = {"instance": f"{node.name}:9400", "job": "gpu", "node": node.name}
            self._put({"__name__": "up", **target}, 1)
            for key, value in zip(scrape.keys, scrape.values, strict=True):
                own = dict(zip(key.labels, key.values, strict=True))
                self._put({"__name__": key.name, **target, **own}, value)

    def _put(self, labels: dict[str, str], value: float) -> None:
        self.series += 1
        text = json.dumps(dict(sorted(labels.items())), separators=(",", ":"))
        self._texts.setdefault(labels["__name__"], []).append((text, f"{value:g}"))

    async def names(self, start: float, end: float) -> list[str]:
        return list(self._texts) if start < end else []

    async def range(self, expression: str, start: float, end: float, step_s: float) -> list[Range]:
        raise NotImplementedError

    async def close(self) -> None:
        self._texts.clear()

    async def instant(self, expression: str) -> list[Instant]:
        began = time.process_time()
        packed = await asyncio.to_thread(self._answer, expression)
        self.spent += time.process_time() - began
        body = gzip.decompress(packed)
        self.bytes += len(body)
        answer = await asyncio.to_thread(_decoder.decode, body)
        return answer.data.result

    def _answer(self, expression: str) -> bytes:
        found = re.search(r'__name__=~?"([^"]*)"', expression)
        assert found is not None
        now, aged = time.time(), expression.startswith("timestamp(")
        parts = []
        for name in found[1].split("|"):
            for text, value in self._texts.get(name, ()):
                labels = text.replace(f'"__name__":"{name}",', "") if aged else text
                shown = f"{now - 3:.3f}" if aged else value
                parts.append(f'{{"metric":{labels},"value":[{now:.3f},"{shown}"]}}')
        whole = (
            f'{{"status":"success","data":{{"resultType":"vector","result":[{",".join(parts)}]}}}}'
        )
        return gzip.compress(whole.encode(), compresslevel=1)


class _Data(msgspec.Struct):
    result: list[Instant]


class _Whole(msgspec.Struct):
    data: _Data


_decoder = msgspec.json.Decoder(_Whole)


async def read(nodes: int, dialect: str) -> None:
    canned = Canned(nodes, dialect)
    print(f"before: {memory()}")
    store = Store(url=_ELSEWHERE)
    hub = Hub(HubSettings(prometheus=store), SystemClock(), None, None)
    follower = StoreFollower(store, hub.targets, SystemClock(), canned)
    for _ in range(ROUNDS):
        canned.bytes = 0
        cost = await measured(follower.turn, lambda: canned.spent)
        text = f"read, {canned.series} series in {canned.bytes / 1e6:.0f} MB of JSON: {cost}"
        print(f"{text}; {len(hub.fleet.nodes)} nodes; {memory()}")
    await follower.close()


async def main() -> None:
    asked = arguments()
    collecting = asyncio.get_running_loop().create_task(tend())
    if asked.what == "write":
        await write(asked.nodes)
    else:
        await read(asked.nodes, asked.dialect)
    collecting.cancel()


if __name__ == "__main__":
    asyncio.run(main())
