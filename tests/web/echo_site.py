"""A server over pages that return their request, in a thread of its own, spoken to by raw bytes."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from accelwatch.base.clock import SystemClock
from accelwatch.web.http.http_server import HttpServer
from accelwatch.web.http.sources import ServerLimits
from accelwatch.web.http.stream import OFFERED, STREAM, Outlet
from accelwatch.web.pages.page import Change, Headers, Page, Query
from accelwatch.web.protection.web_config import Protection
from accelwatch.web.sockets.listeners import open_tcp, open_unix
from agent.conftest import HastyLoop
from support.processes.waiting import GUARD_S

T = TypeVar("T")
PIECES = (b"one ", b"two ", b"three")
# Far more than the buffers of two sockets take.
BIG = 8 << 20


class EchoPages:
    """Every path below `/echo/` returns the request; the others each have a way of their own."""

    def methods(self, path: str) -> tuple[str, ...]:
        if path.startswith("/echo/"):
            return ("GET", "HEAD", "POST")
        return ("GET", "HEAD") if path in ("/big", "/parts", "/half", "/broken", STREAM) else ()

    def page(self, path: str, query: Query, headers: Headers) -> Page:
        if path == "/big":
            return Page(body=bytes(BIG), headers={"Content-Type": "text/plain"})
        if path == "/parts":
            return Page(body=b"", headers={"Content-Type": "text/plain"}, chunks=_pieces)
        if path == "/half":
            return Page(body=b"", headers={"Content-Type": "text/plain"}, chunks=_half)
        if path == "/broken":
            raise ValueError("secret-in-a-traceback")
        return _document(path=path, query=dict(query), seen=headers.get("x-seen"))

    async def act(self, change: Change) -> Page:
        return _document(
            path=change.path, body=change.body.decode(), address=change.address, user=change.user
        )


async def _pieces() -> AsyncIterator[bytes]:
    for piece in PIECES:
        yield piece


async def _half() -> AsyncIterator[bytes]:
    yield b"half"
    raise ValueError("in the middle")


def _document(**fields: object) -> Page:
    return Page(body=json.dumps(fields).encode(), headers={"Content-Type": "application/json"})


class EchoStreams:
    """Three pieces; with `flood` one after another for as long as somebody reads."""

    offered = OFFERED

    async def run(self) -> None:
        await asyncio.Event().wait()

    def close(self) -> None:
        pass

    def check(self, query: Query) -> None:
        pass

    async def send(self, media: str, outlet: Outlet, query: Query, stall_s: float) -> None:
        for piece in PIECES:
            await outlet.write(piece)
        while "flood" in query:
            await outlet.write(bytes(1 << 20))


class EchoSite:
    """The server under test and how to reach it."""

    def __init__(
        self,
        limits: ServerLimits | None = None,
        protection: Protection | None = None,
        path: Path | None = None,
    ) -> None:
        self.answered: list[tuple[str, int]] = []
        self.loop = HastyLoop()
        self.port = 0
        self._thread = threading.Thread(target=self.loop.run_forever, name="server")
        self._thread.start()
        self.server = self.run(self._start(limits, protection, path))

    async def _start(
        self, limits: ServerLimits | None, protection: Protection | None, path: Path | None
    ) -> HttpServer:
        server = HttpServer(
            EchoPages(),
            EchoStreams(),
            SystemClock(),
            answered=lambda target, code, _: self.answered.append((target, code)),
            limits=limits,
            protection=protection,
        )
        sockets = open_tcp("127.0.0.1:0")
        self.port = sockets[0].getsockname()[1]
        if path is not None:
            sockets.append(open_unix(path))
        server.start(sockets)
        return server

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Have the server's loop do something."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(GUARD_S)

    def pass_time(self, seconds: float) -> None:
        """Put the clock of the server's loop forward."""

        async def put_forward() -> None:
            self.loop.ahead_s += seconds

        self.run(put_forward())

    def stop(self) -> None:
        self.run(self.server.stop(0.2))
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(GUARD_S)
        self.loop.close()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=GUARD_S)

    def exchange(self, words: bytes) -> bytes:
        """All that comes back until the server closes the connection."""
        with self.connect() as client:
            client.sendall(words)
            return received(client)


def received(client: socket.socket) -> bytes:
    """All that comes until the server closes the connection."""
    answer = b""
    try:
        while piece := client.recv(1 << 16):
            answer += piece
    except ConnectionError:
        pass
    return answer


def request_of(line: str, *fields: str, host: bool = True, body: bytes = b"") -> bytes:
    """A request."""
    lines = (line, *(["Host: localhost"] if host else []), *fields, "", "")
    return "\r\n".join(lines).encode() + body


# A request after which the server closes.
LAST = request_of("GET /echo/last HTTP/1.1", "Connection: close")


def codes(answer: bytes) -> list[int]:
    """Of the answers in these bytes, in turn."""
    return [int(piece[2:5]) for piece in answer.split(b"HTTP/1.")[1:]]


def document_of(answer: bytes) -> dict[str, Any]:
    """What the first answer says that was asked."""
    _, _, rest = answer.partition(b"\r\n\r\n")
    document: dict[str, Any] = json.loads(rest.partition(b"HTTP/1.")[0])
    return document
