"""A hub over healthy simulated nodes and bad ones, in a time that only the test moves.

`Ward.beat` lets a second pass: every healthy node sends a tick, and the beat ends when the hub has them
all. Ages and sequences then say whether the healthy suffered, whatever the machine's speed.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from accelwatch.base.clock import Clock, ManualClock
from accelwatch.cli.trial.sim import SimPlan, build_fleet, own_exposition
from accelwatch.config.model import Web
from accelwatch.fleet.hub.foreign import foreign_reader
from accelwatch.fleet.hub.hub import Hub
from accelwatch.fleet.hub.model import HubSettings, State
from accelwatch.fleet.hub.server import HubServer
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.state.nodes.source import TargetSource
from accelwatch.fleet.targets.settings import Targets
from accelwatch.schema.health import Health
from accelwatch.web.protection.web_config import Protection
from accelwatch.web.sockets.listeners import open_tcp
from accelwatch_lab.simulator.serving.server import SimulatorServer
from accelwatch_lab.simulator.serving.targets import address, open_sockets

START = 1_800_000_000.0
# Short waits, for tests: a target that hangs is given up after half a second.
FAST = Scrape(timeout_s=0.5, max_backoff_s=0.05, interval_s=0.05)
# How long something may take at most before the test fails.
_WITHIN_S = 30.0


class Simulated:
    """Simulated nodes behind one port, each under a path."""

    def __init__(self, clock: Clock, nodes: int, devices: int = 2) -> None:
        plan = SimPlan(
            nodes=nodes, devices=devices, vendor="nvidia", ports="one", listen="127.0.0.1:0"
        )
        self.fleet = build_fleet(plan, clock)
        self.server = SimulatorServer(self.fleet, clock, own_exposition())
        self.names = [node.name for node in self.fleet.nodes]
        self.address = ""

    async def listen(self) -> None:
        sockets = open_sockets("127.0.0.1:0", self.fleet, many=False)
        await self.server.listen(sockets)
        self.address = address(sockets[""][0])

    def path(self, name: str) -> str:
        return f"/node/{name}"

    def target(self, name: str) -> str:
        return f"http://{self.address}{self.path(name)}"


class Ward:
    """The running hub, and what the tests ask of it."""

    def __init__(self, hub: Hub, clock: ManualClock, simulated: Simulated) -> None:
        self.hub = hub
        self.clock = clock
        self.simulated = simulated
        self.healthy: list[str] = []
        self.base = ""
        self.http: aiohttp.ClientSession
        self._counts: dict[str, tuple[int, int]] = {}

    def node(self, name: str) -> Node:
        return self.hub.fleet.nodes[name]

    def source(self, name: str) -> TargetSource:
        return next(iter(self.node(name).sources.values()))

    def has_answered(self, name: str) -> bool:
        """Whether anything has ever arrived from a node."""
        held = self.hub.fleet.nodes.get(name)
        return held is not None and held.best is not None

    def state(self, name: str) -> str:
        return self.hub.fleet.state_of(self.node(name)).value

    def reason(self, name: str) -> str:
        """Why the latest attempt to read a node failed; empty when it did not."""
        held = self.hub.fleet.nodes.get(name)
        if held is None or not held.sources:
            return ""
        fault = self.source(name).fault
        return "" if fault is None else str(fault.reason)

    async def beat(self, count: int = 1) -> None:
        """Let seconds pass, one by one; after each the healthy are as fresh as can be."""
        for _ in range(count):
            self.clock.advance(1.0)
            now = self.clock.monotonic()
            self.simulated.server.tick()
            async with asyncio.timeout(_WITHIN_S):
                while any(self.source(name).arrived != now for name in self.healthy):
                    await asyncio.sleep(0.001)

    async def until(self, happened: Callable[[], bool]) -> None:
        """Beat until something is so."""
        async with asyncio.timeout(_WITHIN_S):
            while not happened():
                await self.beat()
                await asyncio.sleep(0.02)

    async def fails(self, name: str, reason: str, *words: str) -> dict[str, Any]:
        """Wait until a bad node's row says why it fails, and in these words.

        One that fails again and again may answer briefly before its row is requested.
        """
        await self.until(lambda: self.reason(name) == reason)
        async with asyncio.timeout(_WITHIN_S):
            while True:
                row = await self.get(f"/v1/nodes/{name}")
                (target,) = row["targets"]
                if target["fault"] is not None:
                    break
                await self.beat()
                await asyncio.sleep(0.02)
        assert target["fault"]["reason"] == reason
        assert target["connected"] is False
        for word in words:
            assert word in target["fault"]["message"], target["fault"]
        return dict(row)

    async def get(self, path: str, code: int = 200) -> Any:
        async with self.http.get(self.base + path) as response:
            body = await response.read()
            assert response.status == code, (path, response.status, body[:500])
            is_json = response.content_type == "application/json"
            return msgspec.json.decode(body) if is_json else body.decode()

    async def all_well(self) -> None:
        """Every healthy node is up, was never lost, and missed no tick; the whole API answers."""
        now = self.clock.monotonic()
        for name in self.healthy:
            assert self.state(name) == "up", name
            assert self.node(name).age_s(now) == 0.0
            source = self.source(name)
            assert (source.gaps_total, source.faults_total) == self._counts[name], name
            assert len(self.node(name).devices) == 2
        rows = (await self.get("/v1/devices?limit=20000"))["devices"]
        mine = [row for row in rows if row["node"] in set(self.healthy)]
        assert len(mine) == 2 * len(self.healthy)
        assert all(row["values"]["power_watts"] is not None for row in mine)
        for path in ("/v1/fleet", "/v1/nodes", "/metrics"):
            await self.get(path)

    async def mended(self, name: str) -> None:
        """Wait until a node that was bad is up, with its devices and no fault."""

        def is_fresh() -> bool:
            fresh = self.source(name).arrived == self.clock.monotonic()
            return fresh and self.reason(name) == "" and len(self.node(name).devices) == 2

        await self.beat()
        await self.until(is_fresh)
        row = await self.get(f"/v1/nodes/{name}")
        assert row["state"] == "up"
        assert row["targets"][0]["fault"] is None
        assert row["devices"] == 2
        found = [(held.health, held.reading()) for held in self.node(name).devices.values()]
        assert all(health == Health.OK for health, _ in found), found

    async def settle(self, *names: str) -> None:
        """Wait until these are followed; they are healthy from now on."""
        await self.until(lambda: all(self.has_answered(name) for name in names))
        self.healthy += names
        await self.beat()
        for name in names:
            source = self.source(name)
            self._counts[name] = source.gaps_total, source.faults_total


@contextlib.asynccontextmanager
async def simulation(clock: Clock, nodes: int, devices: int = 2) -> AsyncIterator[Simulated]:
    """Simulated nodes that tick when the test says so."""
    simulated = Simulated(clock, nodes, devices)
    await simulated.listen()
    try:
        yield simulated
    finally:
        await simulated.server.stop()


@contextlib.asynccontextmanager
async def ward(
    simulated: Simulated,
    clock: ManualClock,
    *bad: str,
    healthy: int = 3,
    scrape: Scrape = FAST,
    files: Sequence[str] = (),
    state: State | None = None,
    state_dir: Path | None = None,
    web: Web | None = None,
) -> AsyncIterator[Ward]:
    """A hub over the first simulated nodes and bad targets, settled."""
    chosen = simulated.names[:healthy]
    targets = Targets(
        static=(*(simulated.target(name) for name in chosen), *bad),
        files=tuple(files),
        refresh_s=0.05,
    )
    settings = HubSettings(
        targets=targets,
        scrape=scrape,
        state=state or State(),
        web=web or Web(listen_address=("127.0.0.1:0",)),
    )
    hub = Hub(settings, clock, foreign_reader, state_dir)
    server = HubServer(hub, clock, Protection(), web=settings.web, interval_s=0.05)
    sockets = open_tcp("127.0.0.1:0")
    running = Ward(hub, clock, simulated)
    running.base = f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
    await hub.start()
    server.http.start(sockets)
    try:
        async with aiohttp.ClientSession() as running.http:
            await running.settle(*(f"{simulated.address}{simulated.path(name)}" for name in chosen))
            yield running
    finally:
        await server.http.stop(0.1)
        await hub.stop()
