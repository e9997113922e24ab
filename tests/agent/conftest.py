"""A real server on loopback, in a thread of its own, fed with composed snapshots."""

import asyncio
import http.client
import socket
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from accelwatch.agent.metrics.own_metrics import OwnMetrics
from accelwatch.agent.metrics.scrape import Scrape
from accelwatch.agent.server import AgentServer, ServerLimits
from accelwatch.base.clock import SystemClock
from accelwatch.exposition.selection import Selection
from accelwatch.node.rendering import exporter_of
from accelwatch.web.protection.web_config import Protection
from accelwatch.web.sockets.listeners import open_tcp, open_unix
from support.machines import composed as machines
from support.processes.waiting import GUARD_S
from support.servers.certificate_authority import Authority
from support.servers.fake_feed import FakeFeed

T = TypeVar("T")


class HastyLoop(asyncio.SelectorEventLoop):
    """A loop whose clock can be put forward: what is due by then happens at once."""

    ahead_s = 0.0

    def time(self) -> float:
        return super().time() + self.ahead_s


class Served:
    """The server under test and how to reach it."""

    def __init__(self) -> None:
        self.feed = FakeFeed(machines.snapshot())
        self.own = OwnMetrics()
        self.ready = True
        self.server: AgentServer
        self.scrape: Scrape
        self.port = 0
        self.path: Path | None = None
        self.loop = HastyLoop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="server")
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Have the server's loop do something."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def pass_time(self, seconds: float) -> None:
        """Put the clock of the server's loop forward."""

        async def put_forward() -> None:
            self.loop.ahead_s += seconds

        self.run(put_forward())

    def start(
        self, protection: Protection | None, limits: ServerLimits | None, path: Path | None
    ) -> None:
        clock = SystemClock()
        selection = Selection(
            profile="default",
            groups=frozenset(),
            backends=frozenset(),
            inventory=True,
            openmetrics=False,
        )

        async def start_serving() -> None:
            scrape = self.scrape = Scrape(
                self.feed, exporter_of("prometheus"), self.own, clock, selection
            )
            self.server = AgentServer(
                self.feed,
                scrape,
                self.own,
                clock,
                document=exporter_of("json"),
                ready=lambda: self.ready,
                interval_s=0.1,
                limits=limits,
                protection=protection,
            )
            sockets = open_tcp("127.0.0.1:0")
            self.port = sockets[0].getsockname()[1]
            if path is not None:
                self.path = path
                sockets.append(open_unix(path))
            self.server.start(sockets)

        self.run(start_serving())

    def stop(self, grace_s: float = 0.2) -> None:
        if not self.loop.is_closed():
            self.run(self._end(grace_s))
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(60)
            self.loop.close()

    async def _end(self, grace_s: float) -> None:
        """Stop the server, then what is left on the loop, as `asyncio.run` does."""
        await self.server.stop(grace_s)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=GUARD_S)

    def get(
        self,
        path: str = "/metrics",
        headers: dict[str, str] | None = None,
        *,
        method: str = "GET",
        tls: ssl.SSLContext | None = None,
        body: bytes | None = None,
    ) -> "Answer":
        connection: http.client.HTTPConnection
        if tls is not None:
            connection = http.client.HTTPSConnection(
                "127.0.0.1", self.port, context=tls, timeout=GUARD_S
            )
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=GUARD_S)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()


class Answer:
    """What came back."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def text(self) -> str:
        return self.body.decode()


Serve = Callable[..., Served]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts servers; all are stopped after the test."""
    started: list[Served] = []

    def _serve(
        protection: Protection | None = None,
        limits: ServerLimits | None = None,
        path: Path | None = None,
    ) -> Served:
        one = Served()
        started.append(one)
        one.start(protection, limits, path)
        return one

    yield _serve
    for one in started:
        one.stop()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def tls(authority: Authority) -> Callable[..., Path]:
    """Writes a web configuration with TLS."""
    authority.issue("server")

    def write(*lines: str) -> Path:
        path = authority.folder / "web.yml"
        text = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n"
        path.write_text(text + "\n".join(lines) + "\n")
        return path

    return write
