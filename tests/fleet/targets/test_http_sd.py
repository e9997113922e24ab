"""Targets over HTTP as Prometheus' http_sd, from a server on loopback that also misbehaves."""

import asyncio
import contextlib
import gzip
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from accelwatch.base.errors import UsageError
from accelwatch.fleet.follow.access import Ticket
from accelwatch.fleet.follow.http.connector import Connector
from accelwatch.fleet.follow.http.kept import KeptConnection
from accelwatch.fleet.follow.http.server import Server, server_of
from accelwatch.fleet.scrape_settings import Authorization, BasicAuth, TlsConfig
from accelwatch.fleet.targets.http import HttpTargets, endpoint
from accelwatch.fleet.targets.rules import Rules
from accelwatch.fleet.targets.settings import HttpSd
from support.fleet.target_discovery import finding
from support.servers.certificate_authority import Authority

GROUPS = [
    {"targets": ["n[1-2]:9877"], "labels": {"rack": "r1", "__meta_pool": "a"}},
    {"targets": ["n3:9400"]},
]


class Answer:
    """What the server says next."""

    def __init__(self, groups: object = GROUPS) -> None:
        self.status = 200
        self.body = json.dumps(groups).encode()
        self.headers: dict[str, str] = {"Content-Type": "application/json; charset=utf-8"}
        self.requests: list[Mapping[str, str]] = []
        self.hang = False


@contextlib.asynccontextmanager
async def server(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        answer.requests.append(request.headers)
        if answer.hang:
            await asyncio.sleep(60)
        return web.Response(status=answer.status, body=answer.body, headers=answer.headers)

    runner = web.ServerRunner(web.Server(handle), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    port = runner.addresses[0][1]
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{port}/targets"
    finally:
        await runner.cleanup()


def settings(url: str, **given: Any) -> HttpSd:
    return HttpSd(**{"url": url, "refresh_s": 0.02, "timeout_s": 0.3, **given})


def test_groups_become_targets_with_their_labels() -> None:
    async def main() -> None:
        answer = Answer()
        async with server(answer) as url:
            way = HttpTargets(
                settings(f"{url}?token=x", labels={"pool": "none", "site": "s"}),
                Rules(rename={"__meta_pool": "pool"}),
            )
            async with finding(way) as one:
                await one.turn()
                first, _, third = sorted(one.targets, key=lambda target: target.node)
        assert (first.node, first.labels) == ("n1", {"rack": "r1", "pool": "a", "site": "s"})
        assert (third.address, third.labels) == ("n3:9400", {"pool": "none", "site": "s"})
        request = answer.requests[0]
        assert request["X-Prometheus-Refresh-Interval-Seconds"] == "0.02"
        assert request["Accept"] == "application/json"
        assert "Authorization" not in request

    asyncio.run(main())


@pytest.mark.parametrize(
    ("url", "host", "authority"),
    [
        ("http://inventory.example/targets", "inventory.example", "inventory.example"),
        ("http://[::1]/targets", "::1", "[::1]"),
        ("http://bücher.example/targets", "bücher.example", "xn--bcher-kva.example"),
    ],
)
def test_without_a_port_the_url_means_that_of_its_scheme(
    url: str, host: str, authority: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = Connector.connect
    servers: list[Server] = []

    async def main() -> None:
        answer = Answer()
        async with server(answer) as local:
            here = server_of(local)

            async def redirected(self: Connector, server: Server, ticket: Ticket) -> KeptConnection:
                servers.append(server)
                return await connect(self, here, ticket)

            monkeypatch.setattr(Connector, "connect", redirected)
            async with finding(HttpTargets(settings(url), Rules())) as one:
                await one.until(lambda: len(one.targets) == 3)
        assert (servers[0].host, servers[0].port) == (host, 80)
        assert answer.requests[0]["Host"] == authority

    asyncio.run(main())


def _wrong(name: str, answer: Answer) -> None:
    body = answer.body
    changes: dict[str, dict[str, Any]] = {
        "type": {"headers": {"Content-Type": "text/html"}},
        "charset": {"headers": {"Content-Type": "application/json; charset=latin-1"}},
        "status": {"status": 500},
        "empty": {"body": b""},
        "cut": {"body": body[:-3]},
        "mapping": {"body": b'{"targets": ["n9:1"]}'},
        "bad target": {"body": b'[{"targets": ["n9:1", "n9:x"]}]'},
        "not utf-8": {"body": b'[{"targets": ["n\xff:1"]}]'},
        "large": {"body": b"[" + b" " * 100_000 + b"]"},
        "bomb": {
            "body": gzip.compress(b"[" + b" " * 50_000_000 + b"]"),
            "headers": {"Content-Type": "application/json", "Content-Encoding": "gzip"},
        },
        "hang": {"hang": True},
        "credentials": {"status": 401},
        "scheme": {"body": b'[{"targets": ["n9:1"], "labels": {"__scheme__": "ftp"}}]'},
    }
    for key, value in changes[name].items():
        setattr(answer, key, value)


WRONG = (
    "type,charset,status,empty,cut,mapping,large,bomb,hang,credentials,scheme,bad target,not utf-8"
)


@pytest.mark.parametrize("name", WRONG.split(","))
def test_an_answer_that_makes_no_sense_leaves_the_targets_before(name: str) -> None:
    async def main() -> None:
        answer, good = Answer(), Answer()
        async with server(answer) as url:
            way = HttpTargets(settings(url, body_size_limit_bytes=50_000), Rules())
            async with finding(way) as one:
                await one.turn()
                assert len(one.targets) == 3
                _wrong(name, answer)
                await one.turn(3)
                assert len(one.targets) == 3
                assert list(way.kept.complaints) == [url]
                answer.hang = False
                answer.status, answer.headers = good.status, good.headers
                answer.body = b'[{"targets": ["n9:1"]}]'
                await one.until(lambda: one.addresses == ["n9:1"])
                assert not way.kept.complaints

    asyncio.run(main())


def test_an_empty_list_is_an_empty_fleet() -> None:
    async def main() -> None:
        answer = Answer()
        async with server(answer) as url, finding(HttpTargets(settings(url), Rules())) as one:
            await one.turn()
            answer.body = b"[]"
            await one.until(lambda: not one.targets)

    asyncio.run(main())


def test_a_redirect_is_not_followed() -> None:
    async def main() -> None:
        answer, other = Answer(), Answer()
        async with server(other) as elsewhere, server(answer) as url:
            answer.status, answer.headers["Location"] = 307, elsewhere
            way = HttpTargets(settings(url), Rules())
            async with finding(way) as one:
                await one.turn()
                assert not one.targets
                assert "redirect" in way.kept.complaints[url]
            assert not other.requests

    asyncio.run(main())


def test_credentials_and_certificates_are_those_of_the_section(
    tmp_path: Path, authority: Authority
) -> None:
    certificate, key = authority.issue("server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    secret = tmp_path / "secret"
    secret.write_text("hunter2\n")

    async def main() -> None:
        answer = Answer()
        async with server(answer, context) as url:
            distrusting = HttpTargets(settings(url), Rules())
            async with finding(distrusting) as one:
                await one.turn()
                assert "TLS" in distrusting.kept.complaints[url]
            assert not answer.requests
            tls = TlsConfig(ca_file=str(authority.file))
            token = Authorization(credentials_file=str(secret))
            basic = BasicAuth(username="u", password_file=str(secret))
            for given, sent in (
                ({"authorization": token}, "Bearer hunter2"),
                ({"basic_auth": basic}, "Basic dTpodW50ZXIy"),
            ):
                way = HttpTargets(settings(url, tls_config=tls, **given), Rules())
                async with finding(way) as one:
                    await one.until(lambda one=one: len(one.targets) == 3)  # type: ignore[misc]
                assert answer.requests[-1]["Authorization"] == sent

    asyncio.run(main())


@pytest.mark.parametrize(
    "url",
    [
        "",
        "sd.example",
        "ftp://sd/x",
        "http://u:hunter2@sd/x",
        "http://:hunter2@sd/x",
        "http:///x",
        "http://[::1",
        "http://sd:99999/x",
        "http://sd/x#a",
        "http://ü..x/y",
    ],
)
def test_a_url_that_makes_no_sense_is_refused(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        endpoint(url)
    assert "hunter2" not in str(caught.value)


def test_what_is_to_be_protected_does_not_go_in_the_clear() -> None:
    tls = TlsConfig(ca_file="ca.pem")
    assert endpoint("https://sd/x?key=a@b", tls).scheme == "https"
    with pytest.raises(UsageError, match="https"):
        endpoint("http://sd/x", tls)
