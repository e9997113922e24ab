"""The simulator's server: listening sockets, answers, and the ticks of every open stream.

Nodes tick in turn over the interval, as real ones do; a node that nobody follows costs nothing.
"""

import asyncio
import contextlib
import socket
from functools import partial
from typing import Final

import msgspec

from accelwatch.base.clock import Clock
from accelwatch.schema.stream.compact import CompactEncoder, Tick
from accelwatch.web.http.stream import MSGPACK, OFFERED, PACKED, framed
from accelwatch.web.pages.negotiation import choose
from accelwatch_lab.scenario.faults import FaultKind
from accelwatch_lab.simulator.conditions import NodeCondition
from accelwatch_lab.simulator.context import SentContext
from accelwatch_lab.simulator.exporters.exposition import Render
from accelwatch_lab.simulator.fleet import Fleet, Instant
from accelwatch_lab.simulator.nodes import Dialect, Node
from accelwatch_lab.simulator.serving.connection import Connection, Request, chunked, head_of
from accelwatch_lab.simulator.serving.pages import Page, Pages, encoded, garbage
from accelwatch_lab.simulator.serving.ticks import TickWriter, tick_message

# Parts of an interval in which a part of the nodes ticks.
_SLICES: Final = 20
_DRIP_S: Final = 0.5
_DRIPPED: Final = b"# " * 500_000
_BACKLOG: Final = 1024
_STREAM = "/v1/stream"


class _Stream:
    """One client that follows one node."""

    def __init__(self, connection: Connection, media: str) -> None:
        self.connection = connection
        self.media = media
        # Whether it requested packed values.
        self.as_bytes = media == PACKED
        self.sequence = 0
        self.opened = False
        self.encoder = CompactEncoder()
        self.sent_context = SentContext()


class SimulatorServer:
    """Serves a fleet on sockets; the loop's thread only."""

    def __init__(self, fleet: Fleet, clock: Clock, render: Render) -> None:
        """The scenario plays since the fleet's start, however long ago that is."""
        self._fleet = fleet
        self._clock = clock
        self._started_at = clock.monotonic() - max(clock.wall() - fleet.start, 0.0)
        self._pages = Pages(fleet, render)
        self._writer = TickWriter(fleet)
        self._nodes = {node.name: node for node in fleet.nodes}
        self._streams: dict[str, list[_Stream]] = {}
        self._connections: dict[Connection, None] = {}
        self._following: dict[Connection, str] = {}
        self._drips: dict[Connection, asyncio.Task[None]] = {}
        self._servers: list[asyncio.Server] = []
        self._beating: asyncio.Task[None] | None = None
        # By how much the latest slice of ticks was late.
        self.late_s = 0.0

    def now(self) -> Instant:
        """This moment of the scenario."""
        return self._fleet.instant_at(self._clock.monotonic() - self._started_at)

    @property
    def streams(self) -> int:
        """Streams open now."""
        return sum(map(len, self._streams.values()))

    async def listen(self, sockets: dict[str, list[socket.socket]]) -> None:
        """Serve on sockets by the node they stand for; the empty name stands for the whole fleet."""
        loop = asyncio.get_running_loop()
        for node_name, listening in sockets.items():
            for open_socket in listening:
                new = partial(Connection, self, node_name)
                self._servers.append(
                    await loop.create_server(new, sock=open_socket, backlog=_BACKLOG)
                )

    def start(self) -> None:
        """Begin to tick."""
        self._beating = asyncio.get_running_loop().create_task(self._beat())

    async def stop(self) -> None:
        """End at once."""
        tasks = [task for task in (self._beating, *self._drips.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for server in self._servers:
            server.close()
        for connection in tuple(self._connections):
            connection.abort()

    async def _beat(self) -> None:
        loop = asyncio.get_running_loop()
        pause = self._fleet.interval_s / _SLICES
        due = loop.time()
        turn = 0
        while True:
            due += pause
            await asyncio.sleep(max(0.0, due - loop.time()))
            self.late_s = max(0.0, loop.time() - due)
            if self.late_s > self._fleet.interval_s:
                due = loop.time()
            self.tick(turn % _SLICES, _SLICES)
            turn += 1

    def tick(self, slice_index: int = 0, slice_count: int = 1) -> None:
        """Send the ticks of this moment to those who follow a node of one part of the fleet."""
        instant = self.now()
        for name, streams in tuple(self._streams.items()):
            node = self._nodes[name]
            if node.index % slice_count == slice_index:
                self._tick(node, streams, instant)

    def _tick(self, node: Node, streams: list[_Stream], instant: Instant) -> None:
        condition = self._fleet.condition(node, instant)
        if condition.refusal is not None:
            for stream in tuple(streams):
                self._spoil(node, stream, condition, instant)
            return
        made: dict[bool, tuple[float, bytes]] = {}
        for stream in streams:
            stream.sequence += 1
            if stream.connection.backlog() or stream.connection in self._drips:
                continue  # a tick is missed, or one still drips and must not be torn
            if stream.media not in (MSGPACK, PACKED):
                self._slow_tick(node, stream, instant)
                continue
            if not stream.opened:
                stream.opened = True
                stream.connection.chunk(
                    self._writer.opening(node, instant, as_bytes=stream.as_bytes)
                )
            if stream.as_bytes not in made:
                made[stream.as_bytes] = self._writer.devices(
                    node, instant, condition, as_bytes=stream.as_bytes
                )
            pending = self._writer.context(node, instant, condition, stream.sent_context)
            stream.connection.chunk(pending + tick_message(stream.sequence, *made[stream.as_bytes]))

    def _slow_tick(self, node: Node, stream: _Stream, instant: Instant) -> None:
        for message in stream.encoder.messages(self._fleet.snapshot(node, instant)):
            if isinstance(message, Tick):
                numbered = msgspec.structs.replace(message, sequence=stream.sequence)
                stream.connection.chunk(framed(numbered, stream.media))
            else:
                stream.connection.chunk(framed(message, stream.media))

    def _spoil(
        self, node: Node, stream: _Stream, condition: NodeCondition, instant: Instant
    ) -> None:
        connection, refusal = stream.connection, condition.refusal
        if refusal is FaultKind.NODE_DOWN:
            connection.abort()
        elif refusal is FaultKind.GARBAGE:
            connection.chunk(garbage(node, instant))
        elif refusal is FaultKind.SLOW_LORIS and connection not in self._drips:
            devices = self._writer.devices(node, instant, condition, as_bytes=stream.as_bytes)
            body = tick_message(stream.sequence, *devices)
            self._drip(connection, chunked(body))

    def answer(self, connection: Connection, request: Request) -> None:
        """Answer a request, as the node's condition lets it."""
        self._connections[connection] = None
        instant = self.now()
        node, path = self._resolve_node(connection, request.path)
        if node is None:
            page = None if connection.node_name else self._pages.fleet_page(request.path, instant)
            self._send(connection, request, page)
            return
        refusal = self._fleet.condition(node, instant).refusal
        if refusal is not None:
            self._fail(connection, node, refusal, instant)
        elif path == _STREAM and node.dialect is Dialect.OWN:
            self._open_stream(connection, node, request, instant)
        else:
            self._send(connection, request, self._pages.page(node, path, instant, request))

    def _resolve_node(self, connection: Connection, path: str) -> tuple[Node | None, str]:
        """The node and its path: by the socket, or by `/node/NAME/...`."""
        if connection.node_name:
            return self._nodes[connection.node_name], path
        _, lead, name, *remaining = (*path.split("/", 3), "", "", "")[:5]
        if lead != "node" or name not in self._nodes:
            return None, path
        return self._nodes[name], f"/{remaining[0]}"

    def _send(self, connection: Connection, request: Request, page: Page | None) -> None:
        if page is None:
            connection.refuse(404, "no such page")
        else:
            connection.send(*encoded(page, request))

    def _open_stream(
        self, connection: Connection, node: Node, request: Request, instant: Instant
    ) -> None:
        media = choose(request.headers.get("accept", ""), (*OFFERED, PACKED))
        if media is None:
            connection.refuse(406, f"there are {', '.join(OFFERED)}")
            return
        connection.start(media)
        stream = _Stream(connection, media)
        self._streams.setdefault(node.name, []).append(stream)
        self._following[connection] = node.name
        self._tick(node, [stream], instant)

    def _fail(
        self, connection: Connection, node: Node, refusal: FaultKind, instant: Instant
    ) -> None:
        if refusal is FaultKind.NODE_DOWN:
            connection.abort()
        elif refusal is FaultKind.NODE_HUNG:
            connection.mute = True
        elif refusal is FaultKind.GARBAGE:
            connection.send({"Content-Type": "text/plain"}, garbage(node, instant))
        else:
            connection.mute = True
            length = {"Content-Type": "text/plain", "Content-Length": "1000000"}
            self._drip(connection, head_of(200, length) + _DRIPPED)

    def _drip(self, connection: Connection, data: bytes) -> None:
        task = asyncio.get_running_loop().create_task(_drop_by_drop(connection, data))
        self._drips[connection] = task

    def connection_closed(self, connection: Connection) -> None:
        """A client has gone."""
        self._connections.pop(connection, None)
        if (task := self._drips.pop(connection, None)) is not None:
            task.cancel()
        name = self._following.pop(connection, "")
        left = [
            stream for stream in self._streams.pop(name, ()) if stream.connection is not connection
        ]
        if left:
            self._streams[name] = left


async def _drop_by_drop(connection: Connection, data: bytes) -> None:
    with contextlib.suppress(ConnectionError):
        for at in range(len(data)):
            connection.write(data[at : at + 1])
            await asyncio.sleep(_DRIP_S)
