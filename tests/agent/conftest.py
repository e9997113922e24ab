"""A real server on loopback, in a thread of its own, fed with composed snapshots."""

import asyncio
import datetime
import http.client
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import machines
from accelwatch.agent.connections import Limits
from accelwatch.agent.listeners import open_tcp, open_unix
from accelwatch.agent.own_metrics import OwnMetrics
from accelwatch.agent.scrape import Scrape, Wish
from accelwatch.agent.server import AgentServer, ServerLimits
from accelwatch.agent.web_config import Protection
from accelwatch.clock import SystemClock
from accelwatch.runtime import json_document, prometheus_text
from accelwatch.schema.snapshot import Snapshot

T = TypeVar("T")


class FakeFeed:
    """A store whose snapshot the test puts in."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.version = 1
        self.taken = 0
        self.fault: Exception | None = None
        self._snapshot = snapshot
        self._listeners: list[Callable[[], None]] = []

    def snapshot(self) -> Snapshot:
        self.taken += 1
        if self.fault is not None:
            raise self.fault
        return self._snapshot

    def put(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.version += 1
        for listener in tuple(self._listeners):
            listener()

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)


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
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="server")
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Have the server's loop do something."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(20)

    def start(
        self, protection: Protection | None, limits: ServerLimits | None, path: Path | None
    ) -> None:
        clock = SystemClock()
        standing = Wish(
            profile="default",
            groups=frozenset(),
            backends=frozenset(),
            inventory=True,
            openmetrics=False,
        )

        async def begin() -> None:
            scrape = self.scrape = Scrape(self.feed, prometheus_text(), self.own, clock, standing)
            self.server = AgentServer(
                self.feed,
                scrape,
                self.own,
                clock,
                document=json_document(),
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

        self.run(begin())

    def stop(self) -> None:
        if not self.loop.is_closed():
            self.run(self._end())
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(20)
            self.loop.close()

    async def _end(self) -> None:
        """Stop the server, then what is left on the loop, as `asyncio.run` does."""
        await self.server.stop(0.2)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

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
                "127.0.0.1", self.port, context=tls, timeout=10
            )
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
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
def impatient() -> ServerLimits:
    """Limits that a test can wait for."""
    return ServerLimits(stall_s=0.3, connections=Limits(header_timeout_s=0.3))


class Authority:
    """A certificate authority in a folder; its certificates are for 127.0.0.1 and given names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
        certificate = self._build(self._name, self._key, ca=True, names=[])
        self.file = folder / "ca.crt"
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, stem: str, *names: str) -> tuple[Path, Path]:
        """Certificate and key files for the names."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, stem)])
        certificate = self._build(subject, key, ca=False, names=list(names))
        paths = self.folder / f"{stem}.crt", self.folder / f"{stem}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        paths[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return paths

    def _build(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, ca: bool, names: list[str]
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in names]
        alternatives.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        )
        return builder.sign(self._key, hashes.SHA256())

    def client(self, pair: tuple[Path, Path] | None = None) -> ssl.SSLContext:
        """A client that trusts the authority, with a certificate of its own if given."""
        context = ssl.create_default_context(cafile=str(self.file))
        if pair is not None:
            context.load_cert_chain(*pair)
        return context


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)
