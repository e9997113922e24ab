"""A real API server of Kubernetes over a real etcd, where both are installed, and its REST API."""

import asyncio
import contextlib
import json
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from support.servers.certificate_authority import Authority

ADMIN, HUB = "admin-token-0000", "hub-token-000000"
_TOKENS = (
    f'{ADMIN},admin,1,"system:masters"\n{HUB},system:serviceaccount:accelwatch:accelwatch-hub,2\n'
)


def _ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        found = []
        for _ in range(count):
            one = stack.enter_context(socket.socket())
            one.bind(("127.0.0.1", 0))
            found.append(int(one.getsockname()[1]))
        return found


class ApiServer:
    """The two processes, and an administrator's requests."""

    def __init__(self, authority: Authority, etcd: str, apiserver: str) -> None:
        self.authority = authority
        self._folder = authority.folder
        self._etcd, self._apiserver = etcd, apiserver
        self._client, self._peer, self.port = _ports(3)
        self._running: list[subprocess.Popen[bytes]] = []
        self._server: subprocess.Popen[bytes] | None = None
        self.base = f"https://127.0.0.1:{self.port}"
        self._tls = authority.client()

    def start(self) -> None:
        """Start etcd and the server."""
        (self._folder / "tokens.csv").write_text(_TOKENS)
        key = str(self._folder / "account.key")
        made = ["openssl", "genrsa", "-out", key, "2048"]
        subprocess.run(made, check=True, capture_output=True, timeout=30)
        self.authority.issue("api")
        client, peer = (f"http://127.0.0.1:{port}" for port in (self._client, self._peer))
        self._run(
            *(self._etcd, "--data-dir", str(self._folder / "etcd"), "--unsafe-no-fsync"),
            *("--listen-client-urls", client, "--advertise-client-urls", client),
            *("--listen-peer-urls", peer, "--initial-cluster", f"default={peer}"),
            *("--initial-advertise-peer-urls", peer),
        )
        self.serve()

    def serve(self) -> None:
        """Start the server."""
        account = str(self._folder / "account.key")
        self._server = self._run(
            self._apiserver,
            f"--etcd-servers=http://127.0.0.1:{self._client}",
            *("--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"),
            f"--secure-port={self.port}",
            f"--tls-cert-file={self._folder / 'api.crt'}",
            f"--tls-private-key-file={self._folder / 'api.key'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={account}",
            f"--service-account-signing-key-file={account}",
            "--service-cluster-ip-range=10.96.0.0/24",
            f"--token-auth-file={self._folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount",
            "--watch-cache=true",
        )

    def kill(self) -> None:
        """End the server, not etcd."""
        assert self._server is not None
        self._server.send_signal(signal.SIGKILL)
        self._server.wait()

    def end(self) -> None:
        """End both."""
        for one in reversed(self._running):
            one.kill()
            one.wait()

    def _run(self, *words: str) -> subprocess.Popen[bytes]:
        with (self._folder / f"{Path(words[0]).name}.log").open("ab") as log:
            one = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self._running.append(one)
        return one

    async def ask(self, method: str, path: str, body: Any = None, kind: str = "json") -> Any:
        """What the server answers an administrator."""
        headers = {"Authorization": f"Bearer {ADMIN}", "Content-Type": f"application/{kind}"}
        async with (
            aiohttp.ClientSession() as session,
            session.request(
                method,
                self.base + path,
                data=None if body is None else json.dumps(body),
                headers=headers,
                ssl=self._tls,
            ) as answer,
        ):
            found = await answer.json()
            assert answer.status < 300, found
            return found

    async def ready(self, within_s: float = 60.0) -> None:
        """Wait until it serves."""
        headers = {"Authorization": f"Bearer {ADMIN}"}
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            with contextlib.suppress(aiohttp.ClientError):
                async with (
                    aiohttp.ClientSession() as session,
                    session.get(f"{self.base}/readyz", headers=headers, ssl=self._tls) as answer,
                ):
                    if answer.status == 200:
                        return
            await asyncio.sleep(0.1)
        log = (self._folder / "kube-apiserver.log").read_text()[-1500:]
        pytest.fail(f"the API server is not ready: {log}")


@contextlib.contextmanager
def _processes(authority: Authority) -> Iterator[ApiServer]:
    etcd, apiserver = (shutil.which(name) for name in ("etcd", "kube-apiserver"))
    if etcd is None or apiserver is None:
        pytest.skip("etcd and kube-apiserver are not both installed")
    one = ApiServer(authority, etcd, apiserver)
    try:
        one.start()
        yield one
    finally:
        one.end()


@contextlib.asynccontextmanager
async def api_server(authority: Authority) -> AsyncIterator[ApiServer]:
    """A ready server; skips the test where it is not installed."""
    with _processes(authority) as one:
        await one.ready()
        yield one
