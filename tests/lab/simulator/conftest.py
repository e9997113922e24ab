"""A fleet of the bad day with a clock of our own, and that fleet behind real sockets."""

import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp
import msgspec
import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.cli.trial.sim import SimPlan, build_fleet, own_exposition
from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.stream.compact import Hello, Layout, Message, PackedTick
from accelwatch.schema.stream.context import Context
from accelwatch.web.http.stream import MSGPACK, PACKED
from accelwatch_lab.simulator.fleet import Fleet
from accelwatch_lab.simulator.nodes import Node
from accelwatch_lab.simulator.serving.server import SimulatorServer
from accelwatch_lab.simulator.serving.targets import address, open_sockets
from support.fleet.stream_reader import StreamFollower
from support.processes.fixtures import idle_loop

__all__ = ["idle_loop"]

BAD_DAY = Path(__file__).parents[3] / "fixtures" / "fleet" / "simulator" / "bad-day.yaml"
_UNPACK = msgspec.msgpack.Decoder(Message)
_UNPACK_BYTES = msgspec.msgpack.Decoder(Hello | Layout | PackedTick | Context)
_PARSE = msgspec.json.Decoder(Message)
START = 1_800_000_000.0


def plan(**changes: object) -> SimPlan:
    """Sixteen nodes of one vendor on their bad day."""
    usual = SimPlan(nodes=16, vendor="nvidia", scenario=BAD_DAY, ports="one", listen="127.0.0.1:0")
    return msgspec.structs.replace(usual, **changes)


class Bench:
    """A running simulator whose time stands still until it is told."""

    def __init__(self, fleet: Fleet, clock: ManualClock, server: SimulatorServer) -> None:
        self.fleet = fleet
        self.clock = clock
        self.server = server
        self.address = ""
        self.http: aiohttp.ClientSession

    def node(self, name: str) -> Node:
        return next(node for node in self.fleet.nodes if node.name == name)

    def url(self, node: str, path: str) -> str:
        return f"http://{self.address}/node/{node}{path}"

    async def text(self, node: str, path: str = "/metrics", **headers: str) -> str:
        async with self.http.get(self.url(node, path), headers=headers) as response:
            assert response.status == 200
            return await response.text()


@contextlib.asynccontextmanager
async def running(**changes: object) -> AsyncIterator[Bench]:
    chosen = plan(**changes)
    clock = ManualClock(wall=START)
    fleet = build_fleet(chosen, clock)
    server = SimulatorServer(fleet, clock, own_exposition())
    bench = Bench(fleet, clock, server)
    sockets = open_sockets(chosen.listen, fleet, many=chosen.ports == "many")
    await server.listen(sockets)
    bench.address = address(sockets[""][0])
    try:
        async with aiohttp.ClientSession(auto_decompress=True) as bench.http:
            yield bench
    finally:
        await server.stop()


class Follower:
    """Reads one stream, message by message."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.decoder = StreamFollower()

    async def message(self) -> Message | PackedTick:
        content, media = self._response.content, self._response.content_type
        if media in (MSGPACK, PACKED):
            length = int.from_bytes(await content.readexactly(4), "big")
            body = await content.readexactly(length)
            packed: Message | PackedTick = (
                _UNPACK.decode(body) if media == MSGPACK else _UNPACK_BYTES.decode(body)
            )
            return packed
        plain: Message = _PARSE.decode(await content.readline())
        return plain

    async def views(self) -> tuple[DeviceView, ...]:
        while (found := self.decoder.feed(await self.message())) is None:
            pass
        return found


@pytest.fixture
def start_bench() -> Callable[..., contextlib.AbstractAsyncContextManager[Bench]]:
    return running


@pytest.fixture
def follower() -> type[Follower]:
    return Follower


@pytest.fixture
def fleet_of() -> Callable[..., Fleet]:
    return lambda **changes: build_fleet(plan(**changes), ManualClock(wall=START))
