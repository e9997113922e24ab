"""A web configuration that changes while the server runs."""

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from accelwatch.base.errors import ConfigError
from accelwatch.config.model import Web
from accelwatch.web.front import Front
from accelwatch.web.http.sources import ServerLimits
from accelwatch.web.protection.exposure import check_kept
from accelwatch.web.protection.watch import Watch
from accelwatch.web.protection.web_config import Protection, load_protection
from agent.credentials import HASH, RIGHT, TOKEN, Serve, basic, bearer
from support.processes.waiting import GUARD_S, wait_until


def test_changes_are_taken_without_dropping_connections(
    serve: Serve, authority: Any, tls: Callable[..., Path]
) -> None:
    import http.client

    path = tls(f"basic_auth_users: {{prometheus: {HASH}}}")
    served = serve(load_protection(path))
    outcomes: list[bool] = []

    async def watch() -> Watch:
        def apply(found: Protection) -> None:
            # A look may find a file that is half written: empty, and so without any protection.
            check_kept(served.server.protection, found)
            served.server.protection = found

        return Watch(
            path,
            served.server.protection,
            apply=apply,
            outcome=outcomes.append,
            every_s=0.02,
        )

    watcher = served.run(watch())
    watcher.start()
    before = http.client.HTTPSConnection(
        "127.0.0.1", served.port, context=authority.client(), timeout=GUARD_S
    )
    before.request("GET", "/metrics", headers=RIGHT)
    assert before.getresponse().read()
    first = before.sock.getpeercert(binary_form=True)

    authority.issue("server")  # certificate and key are two writes: one look may fall between them
    wait_until(lambda: _certificate(served, authority) != first)
    path.write_text(path.read_text().replace("prometheus:", "another:"))
    wait_until(lambda: served.get(headers=RIGHT, tls=authority.client()).status == 401)
    assert (
        served.get(headers=basic("another", "correct horse"), tls=authority.client()).status == 200
    )

    before.request("GET", "/metrics", headers=basic("another", "correct horse"))
    assert before.getresponse().status == 200
    before.close()

    path.write_text("tls_server_config: {cert: x}")
    wait_until(lambda: outcomes[-1:] == [False])
    assert (
        served.get(headers=basic("another", "correct horse"), tls=authority.client()).status == 200
    )

    # A file that is named before it is there is waited for.
    tls("bearer_token_file: token")
    (path.parent / "token").write_text(TOKEN)
    wait_until(lambda: outcomes[-1:] == [True])
    assert served.get(headers=bearer(TOKEN), tls=authority.client()).status == 200
    served.run(_stop(watcher))


# Every protection there is.
FULL = f"""tls_server_config:
  cert_file: server.crt
  key_file: server.key
  client_ca_file: ca.crt
  client_auth_type: RequireAndVerifyClientCert
  client_allowed_sans: [prometheus.example]
basic_auth_users:
  prometheus: {HASH}
"""
_CUT = [
    pytest.param("", "the file is empty", id="emptied"),
    pytest.param("# soon\n\n", "the file is empty", id="only comments"),
    pytest.param("{}\n", "the file is empty", id="no keys"),
    pytest.param("http_server_config: {http2: true}\n", "passwords and tokens", id="other keys"),
    pytest.param(FULL.partition("basic")[0], "passwords and tokens", id="half-written"),
    pytest.param(FULL[FULL.index("basic") :], "TLS", id="no TLS"),
    pytest.param(
        FULL.replace("RequireAndVerify", "Verify").replace("Cert\n", "CertIfGiven\n"),
        "client certificates",
        id="certificates not required",
    ),
    pytest.param(
        FULL.replace("  client_allowed_sans: [prometheus.example]\n", ""),
        "client_allowed_sans",
        id="any certificate",
    ),
]


def replace(path: Path, text: str) -> None:
    """Change a file in one step: half of it may be read at any moment."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


@pytest.mark.parametrize(("text", "message"), _CUT)
def test_no_reload_takes_a_protection_away(
    authority: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, message: str
) -> None:
    authority.issue("server")
    path = authority.folder / "web.yml"
    path.write_text(FULL)
    before = load_protection(path)
    outcomes: list[bool | None] = []

    async def main() -> None:
        server = Idle(before)
        front = Front(server, Web(config_file=str(path)), outcomes.append, check_every_s=0.02)
        front.start(())
        replace(path, text)
        while outcomes[-1:] != [False]:
            await asyncio.sleep(0.01)
        assert server.protection is before
        replace(path, FULL + "# complete\n")
        while outcomes[-1:] != [True]:
            await asyncio.sleep(0.01)
        assert server.protection.users == before.users
        await front.stop()

    with caplog.at_level(logging.ERROR):
        asyncio.run(asyncio.wait_for(main(), GUARD_S))
    (record,) = caplog.records
    assert str(path) in record.getMessage()
    assert message in record.getMessage()
    assert "restart to serve without" in record.getMessage()


def test_a_refused_file_stays_refused_when_it_is_touched(
    authority: Any, caplog: pytest.LogCaptureFixture
) -> None:
    authority.issue("server")
    path = authority.folder / "web.yml"
    path.write_text(FULL)
    before = load_protection(path)
    outcomes: list[bool | None] = []

    async def until(count: int, outcome: bool) -> None:
        while outcomes.count(outcome) < count:
            await asyncio.sleep(0.01)

    async def main() -> None:
        server = Idle(before)
        front = Front(server, Web(config_file=str(path)), outcomes.append, check_every_s=0.02)
        front.start(())
        await until(1, True)
        refused_from = len(outcomes)
        for time in (1.0, 2.0, 3.0):
            replace(path, "# nothing\n")
            os.utime(path, (time, time))
            await until(int(time), False)
        assert True not in outcomes[refused_from:]
        assert server.protection is before
        replace(path, FULL)
        while outcomes[-1:] != [True]:
            await asyncio.sleep(0.01)
        replace(path, "# nothing\n")
        while outcomes[-1:] != [False]:
            await asyncio.sleep(0.01)
        await front.stop()

    with caplog.at_level(logging.ERROR):
        asyncio.run(asyncio.wait_for(main(), GUARD_S))
    # Said once for each time that it has become wrong.
    assert len(caplog.records) == 2


@pytest.mark.parametrize("content", ["", "http_server_config: {http2: true}\n"])
def test_an_empty_file_is_none_only_before_there_was_one(tmp_path: Path, content: str) -> None:
    path = tmp_path / "web.yml"
    path.write_text(content)
    before = load_protection(path)
    path.write_text("")
    if content:
        with pytest.raises(ConfigError, match="the file is empty"):
            check_kept(before, load_protection(path))
    else:
        check_kept(before, load_protection(path))


def test_other_credentials_may_replace_those_before() -> None:
    check_kept(Protection(users={"a": HASH}), Protection(tokens=(TOKEN,)))
    check_kept(Protection(tokens=(TOKEN,)), Protection(users={"a": HASH}))


class Idle:
    """A server that only holds its protection."""

    def __init__(self, protection: Protection) -> None:
        self.protection = protection

    def set_limits(self, limits: ServerLimits) -> None: ...

    def start(self, sockets: Iterable[socket.socket]) -> None: ...

    async def stop(self, grace_s: float = 1.0) -> None: ...


async def _stop(watcher: Watch) -> None:
    watcher.stop()


def _certificate(served: Any, authority: Any) -> bytes | None:
    with served.connect() as raw:
        try:
            with authority.client().wrap_socket(raw, server_hostname="127.0.0.1") as secured:
                certificate: bytes | None = secured.getpeercert(binary_form=True)
                return certificate
        except (ssl.SSLError, ConnectionError):
            return None
