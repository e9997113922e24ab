"""A target that misbehaves until it is mended, and what it can see of its client meanwhile.

Mended, it is a simulated node: requests and answers are passed on.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable

from accelwatch.web.http.stream import MSGPACK
from fleet.misbehaving_targets.short_waits import Simulated
from support.servers.ports import free_port

# What is done with one request; the connection is closed afterwards.
Behaviour = Callable[["Exchange"], Awaitable[None]]

STREAM_HEAD = f"HTTP/1.1 200 OK\r\nContent-Type: {MSGPACK}\r\nConnection: close\r\n\r\n".encode()
PLAIN_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
NO_STREAM = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_TLS_RECORD = b"\x16"
_SEND_BUFFER = 64 << 10
_PIECE = 64 << 10


class Exchange:
    """One request and the way to its client."""

    def __init__(self, server: "Misbehaving", head: bytes, writer: asyncio.StreamWriter) -> None:
        self.server = server
        self.head = head
        self.path = head.split(b" ", 2)[1].decode("latin-1") if head.count(b" ") > 1 else ""
        self._writer = writer

    async def send(self, data: bytes) -> None:
        """Hand over bytes; counts those that the client's machine has taken."""
        self._writer.write(data)
        await self._writer.drain()
        self.server.sent += len(data)

    async def drip(self, data: bytes, pause_s: float = 0.02) -> None:
        for at in range(len(data)):
            await self.send(data[at : at + 1])
            await asyncio.sleep(pause_s)

    async def flood(self, total: int, piece: bytes = b"#" * _PIECE) -> None:
        """Send so many bytes, or until cut off."""
        while total > 0:
            await self.send(piece[:total])
            total -= len(piece)


class Misbehaving:
    """One bad target on loopback."""

    def __init__(self, behaviour: Behaviour, tls: ssl.SSLContext | None) -> None:
        self.behaviour = behaviour
        self.tls = tls
        self.address = ""
        # Bytes that went out; buffers of the sockets included.
        self.sent = 0
        # Paths asked for.
        self.requests: list[str] = []
        self.heads: list[bytes] = []
        self.open = 0
        self.most_open = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, port: int = 0) -> None:
        listening = socket.create_server(("127.0.0.1", port or free_port()))
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        self._server = await asyncio.start_server(self._guarded, sock=listening, ssl=self.tls)
        self.address = f"127.0.0.1:{listening.getsockname()[1]}"

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        await self.drop()

    async def drop(self) -> None:
        """Cut off everybody."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def mend(self, simulated: Simulated, name: str) -> None:
        """Be this simulated node from now on; who hangs on the old connections is cut off."""
        self.behaviour = passed_on(simulated, name)
        await self.drop()

    async def _guarded(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
                head = await reader.readexactly(1)
                if head == _TLS_RECORD:  # as web servers answer who speaks TLS where none is spoken
                    writer.write(answer("400 Bad Request"))
                    return
                head += await reader.readuntil(b"\r\n\r\n")
                exchange = Exchange(self, head, writer)
                self.requests.append(exchange.path)
                self.heads.append(head)
                await self._until_gone(exchange, reader)
        finally:
            self.open -= 1
            self._tasks.discard(task)
            writer.close()
            if task.cancelling():
                writer.transport.abort()

    async def _until_gone(self, exchange: Exchange, reader: asyncio.StreamReader) -> None:
        """Behave for as long as the client is there."""
        behaving = asyncio.ensure_future(self.behaviour(exchange))
        leaving = asyncio.ensure_future(reader.read())
        try:
            await asyncio.wait((behaving, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in (behaving, leaving):
                one.cancel()
            await asyncio.gather(behaving, leaving, return_exceptions=True)


@contextlib.asynccontextmanager
async def misbehaving(
    behaviour: Behaviour, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Misbehaving]:
    """A bad target."""
    one = Misbehaving(behaviour, tls)
    await one.start()
    try:
        yield one
    finally:
        await one.stop()


def passed_on(simulated: Simulated, name: str) -> Behaviour:
    """A request is a simulated node's to answer."""

    async def behave(exchange: Exchange) -> None:
        host, port = simulated.address.rsplit(":", 1)
        reader, writer = await asyncio.open_connection(host, int(port))
        prefix = b" " + simulated.path(name).encode() + b"/"
        try:
            writer.write(exchange.head.replace(b" /", prefix, 1))
            while data := await reader.read(_PIECE):
                await exchange.send(data)
        finally:
            writer.transport.abort()

    return behave


def always(data: bytes) -> Behaviour:
    """Answers everything alike."""

    async def behave(exchange: Exchange) -> None:
        await exchange.send(data)

    return behave


def answer(head: str, body: bytes = b"") -> bytes:
    """A whole answer, after which the connection is closed."""
    lines = f"HTTP/1.1 {head}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return lines.encode() + body


def exposed(behaviour: Behaviour) -> Behaviour:
    """A target without a stream; what it does when polled."""

    async def behave(exchange: Exchange) -> None:
        if exchange.path.endswith("/v1/stream"):
            await exchange.send(NO_STREAM)
        else:
            await behaviour(exchange)

    return behave


async def hang(_: Exchange) -> None:
    """Never answers."""
    await asyncio.Event().wait()
