"""A hub, real agents' servers and misbehaving peers, all on one loop and loopback."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from accelwatch.agent.metrics.own_metrics import OwnMetrics
from accelwatch.agent.metrics.scrape import Scrape as AgentScrape
from accelwatch.agent.server import AgentServer
from accelwatch.base.clock import Clock
from accelwatch.config.alerts import Alerts
from accelwatch.config.model import RuleSettings, Web
from accelwatch.exposition.selection import Selection
from accelwatch.fleet.evidence_settings import Evidence
from accelwatch.fleet.hub.foreign import foreign_reader
from accelwatch.fleet.hub.hub import Hub
from accelwatch.fleet.hub.model import DetectorSettings, HubSettings, State
from accelwatch.fleet.hub.server import HubServer
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.targets.settings import Targets
from accelwatch.node.rendering import exporter_of
from accelwatch.remediation.settings import RemedySettings
from accelwatch.schema.snapshot import Snapshot
from accelwatch.schema.stream.compact import CompactEncoder, Tick
from accelwatch.schema.stream.context_encoder import EventNumbers
from accelwatch.web.http.stream import MSGPACK, framed
from accelwatch.web.pages.page import Headers, Page, Query
from accelwatch.web.protection.web_config import Protection
from accelwatch.web.sockets.listeners import open_tcp
from support.machines import composed as machines
from support.processes.idle_loop import IdleClock
from support.servers.fake_feed import FakeFeed
from support.servers.ports import free_port

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Agent:
    """A real agent's server."""

    def __init__(self, server: AgentServer, feed: FakeFeed, port: int) -> None:
        self.server = server
        self.feed = feed
        self.port = port
        self.address = f"127.0.0.1:{port}"
        self.presence = server.presence


@contextlib.asynccontextmanager
async def agent(
    snapshot: Snapshot | None = None,
    protection: Protection | None = None,
    port: int = 0,
    usage: Callable[[Query, Headers], Page] | None = None,
) -> AsyncIterator[Agent]:
    """An agent's server over a composed snapshot."""
    feed, own, clock = FakeFeed(snapshot or machines.snapshot()), OwnMetrics(), IdleClock()
    none: frozenset[str] = frozenset()
    wish = Selection(
        profile="default", groups=none, backends=none, inventory=True, openmetrics=False
    )
    server = AgentServer(
        feed,
        AgentScrape(feed, exporter_of("prometheus"), own, clock, wish),
        own,
        clock,
        document=exporter_of("json"),
        ready=lambda: True,
        interval_s=0.1,
        protection=protection,
        usage=usage,
    )
    sockets = open_tcp(f"127.0.0.1:{port or free_port()}")
    one = Agent(server, feed, sockets[0].getsockname()[1])
    server.start(sockets)
    try:
        yield one
    finally:
        await server.stop(0.1)


@contextlib.asynccontextmanager
async def peer(handler: Handler) -> AsyncIterator[str]:
    """A raw socket server; its address."""

    handling: set[asyncio.Task[None]] = set()

    async def guarded(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handling.add(asyncio.current_task())  # type: ignore[arg-type]  # it runs as a task
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await reader.readuntil(b"\r\n\r\n")
                await handler(reader, writer)
        finally:
            writer.transport.abort()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    server = await asyncio.start_server(guarded, "127.0.0.1", free_port())
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in handling:
            task.cancel()
        await asyncio.gather(*handling, return_exceptions=True)
        await asyncio.sleep(0)


def answer(head: str, body: bytes = b"") -> Handler:
    """A peer that always answers the same."""

    async def handle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()

    return handle


STREAM_HEAD = f"HTTP/1.1 200 OK\r\nContent-Type: {MSGPACK}\r\nConnection: close\r\n\r\n".encode()


def stream_bytes(*snapshots: Snapshot, sequences: tuple[int, ...] = ()) -> bytes:
    """What an agent would stream for these snapshots, ticks numbered as given."""
    encoder = CompactEncoder()
    found = b""
    numbers = iter(sequences)
    for snapshot in snapshots:
        for message in encoder.messages(snapshot):
            if isinstance(message, Tick) and sequences:
                message = msgspec.structs.replace(message, sequence=next(numbers))  # noqa: PLW2901
            found += framed(message, MSGPACK)
    return found


def context_bytes(snapshot: Snapshot, numbers: EventNumbers) -> bytes:
    """What a new stream of an agent with these numbers sends first."""
    messages = CompactEncoder(numbers).messages(snapshot)
    return b"".join(framed(message, MSGPACK) for message in messages)


class Running:
    """A hub with its server."""

    def __init__(self, hub: Hub, server: HubServer, base: str, session: Any) -> None:
        self.hub = hub
        self.server = server
        self.base = base
        self.session = session

    async def get(self, path: str, code: int = 200, **options: Any) -> Any:
        async with self.session.get(self.base + path, **options) as response:
            body = await response.read()
            assert response.status == code, body
            is_json = response.content_type == "application/json"
            return msgspec.json.decode(body) if is_json else body.decode()

    async def post(self, path: str, code: int = 200, **options: Any) -> Any:
        async with self.session.post(self.base + path, **options) as response:
            body = await response.read()
            assert response.status == code, body
            return msgspec.json.decode(body) if code == 200 else body.decode()

    async def until(self, happened: Callable[[], bool], within_s: float = 60.0) -> None:
        """Wait for something to be so; the limit is only a guard."""
        async with asyncio.timeout(within_s):
            while not happened():
                await asyncio.sleep(0.01)

    def source(self, node: str) -> Any:
        return next(iter(self.hub.fleet.nodes[node].sources.values()))

    def fault(self, node: str) -> str:
        """Reason of the node's latest failure, or nothing."""
        held = self.hub.fleet.nodes.get(node)
        if held is None or not held.sources or self.source(node).fault is None:
            return ""
        return str(self.source(node).fault.reason)

    def failure_text(self, node: str) -> str:
        """The text of the node's latest failure, or nothing."""
        held = self.hub.fleet.nodes.get(node)
        fault = self.source(node).fault if held is not None and held.sources else None
        return str(fault) if fault is not None else ""

    def mode(self, node: str) -> str:
        """How the node is read, once it is known."""
        held = self.hub.fleet.nodes.get(node)
        return str(self.source(node).mode) if held is not None and held.sources else ""

    def failures(self, node: str) -> int:
        """Failed attempts so far."""
        held = self.hub.fleet.nodes.get(node)
        return sum(one.faults_total for one in held.sources.values()) if held is not None else 0

    async def devices(self, node: str, count: int) -> None:
        """Wait until a node has so many devices."""
        nodes = self.hub.fleet.nodes
        await self.until(lambda: node in nodes and len(nodes[node].devices) == count)


@contextlib.asynccontextmanager
async def served_hub(
    settings: HubSettings,
    *,
    interval_s: float,
    state_dir: Path | None = None,
    protection: Protection | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[Running]:
    """A running hub of these settings and its server, on a free port.

    Beside a server of another process, whose times it compares, it needs the machine's clock.
    """
    clock = clock or IdleClock()
    one = Hub(settings, clock, foreign_reader, state_dir)
    server = HubServer(
        one, clock, protection or Protection(), web=settings.web, interval_s=interval_s
    )
    sockets = open_tcp(f"127.0.0.1:{free_port()}")
    port = sockets[0].getsockname()[1]
    await one.start()
    server.http.start(sockets)
    session = aiohttp.ClientSession()
    try:
        yield Running(one, server, f"http://127.0.0.1:{port}", session)
    finally:
        await session.close()
        await server.http.stop(0.1)
        await one.stop()


@contextlib.asynccontextmanager
async def hub(
    *targets: str,
    files: tuple[str, ...] = (),
    scrape: Scrape | None = None,
    state: State | None = None,
    state_dir: Path | None = None,
    protection: Protection | None = None,
    web: Web | None = None,
    rules: RuleSettings | None = None,
    alerts: Alerts | None = None,
    evidence: Evidence | None = None,
    remedy: RemedySettings | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[Running]:
    """A running hub."""
    settings = HubSettings(
        targets=Targets(static=targets, files=files, refresh_s=0.05),
        scrape=scrape or Scrape(timeout_s=0.5, max_backoff_s=0.1, interval_s=0.1),
        state=state or State(),
        web=web or Web(listen_address=("127.0.0.1:0",)),
        rules=rules or RuleSettings(),
        # A test has the rules that it names; the detector has tests of its own.
        detector=DetectorSettings(enabled=False),
        alerts=alerts or Alerts(),
        evidence=evidence or Evidence(),
        remedy=remedy or RemedySettings(),
    )
    async with served_hub(
        settings, interval_s=0.05, state_dir=state_dir, protection=protection, clock=clock
    ) as running:
        yield running
