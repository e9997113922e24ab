"""The connection to one server: kept over TLS as without, and made anew for other credentials."""

import asyncio
import errno
import ssl
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from accelwatch.fleet.follow.access import Ticket
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.http.body import Body
from accelwatch.fleet.follow.http.connector import Connector
from accelwatch.fleet.follow.http.kept import KeptConnection
from accelwatch.fleet.follow.http.link import Link
from accelwatch.fleet.follow.http.request import Request, path_of
from accelwatch.fleet.follow.http.server import server_of
from accelwatch.fleet.follow.target_client import HttpClient, TargetClient
from accelwatch.fleet.scrape_settings import TlsConfig
from fleet.hub_client.single_server import KEPT, Server, Silent, served
from support.servers.certificate_authority import Authority

PLAIN = Ticket({}, TlsConfig())


def _open(_code: int, headers: Mapping[str, str]) -> Body:
    return Body(headers.get("content-encoding"), 1000)


def exchanged(
    server: Server, request: Callable[[Link], Awaitable[None]], tls: ssl.SSLContext | None = None
) -> None:
    """Ask a server on one link."""

    async def main() -> None:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
        async with listening:
            port = listening.sockets[0].getsockname()[1]
            link = Link(Connector(), server_of(f"http{'s' if tls else ''}://127.0.0.1:{port}"))
            try:
                await request(link)
            finally:
                link.close()

    asyncio.run(main())


async def page(link: Link, ticket: Ticket) -> bytes:
    """A page within seconds."""
    request = Request("GET", "/metrics", "n1:9400", ticket.headers)
    until = asyncio.get_running_loop().time() + 5.0
    return (await link.fetch(request, ticket, _open, until)).body()


@pytest.mark.parametrize("also", [PLAIN, Ticket({"Authorization": "Bearer b"}, TlsConfig())])
def test_other_credentials_go_over_a_connection_of_their_own(also: Ticket) -> None:
    server = Server(KEPT, KEPT)

    async def request(link: Link) -> None:
        assert await page(link, PLAIN) == await page(link, also) == b"up 1\n"

    exchanged(server, request)
    assert server.connections == (1 if also is PLAIN else 2)


def _context(authority: Authority) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.issue("server"))
    return context


def test_a_connection_over_tls_is_kept(tmp_path: Path) -> None:
    authority, server = Authority(tmp_path), Server(KEPT, KEPT)
    ticket = Ticket({}, TlsConfig(ca_file=str(authority.file)))

    async def request(link: Link) -> None:
        assert await page(link, ticket) == await page(link, ticket) == b"up 1\n"

    exchanged(server, request, _context(authority))
    assert server.connections == 1


def test_who_hangs_up_over_tls_may_request_a_certificate_of_ours(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    context = _context(authority)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority.file)
    ticket = Ticket({}, TlsConfig(ca_file=str(authority.file)))

    async def request(link: Link) -> None:
        with pytest.raises(TargetFault, match="does it ask for a client certificate") as caught:
            await page(link, ticket)
        assert caught.value.reason is Reason.CLOSED

    exchanged(Server(KEPT), request, context)


@pytest.mark.parametrize("name", ["a..b", ".x", "x" * 64])
def test_a_name_that_tls_cannot_send_is_a_fault_and_leaves_no_connection(name: str) -> None:
    async def main() -> None:
        server = Server()
        async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listening:
            port = listening.sockets[0].getsockname()[1]
            link = Link(Connector(), server_of(f"https://127.0.0.1:{port}"))
            with pytest.raises(TargetFault, match="not a valid name") as caught:
                await page(link, Ticket({}, TlsConfig(server_name=name)))
            assert caught.value.reason is Reason.TLS
            async with asyncio.timeout(30):
                while not server.writers:
                    await asyncio.sleep(0)
                await server.gone()

    asyncio.run(main())


@pytest.mark.parametrize("requests_first", [True, False])
@pytest.mark.parametrize(
    ("error", "reason", "words"),
    [
        (ssl.SSLError(1, "certificate required"), Reason.TLS, "TLS failed: .*certificate required"),
        (ConnectionResetError(errno.ECONNRESET, ""), Reason.CLOSED, "reset by peer"),
        (None, Reason.CLOSED, "closed"),
    ],
)
def test_why_a_connection_was_lost_before_an_answer(
    error: Exception | None, reason: Reason, words: str, requests_first: bool
) -> None:
    async def main() -> None:
        connection = KeptConnection(memoryview(bytearray(10)))
        connection.connection_made(Silent())
        loop = asyncio.get_running_loop()
        loop.call_soon(connection.connection_lost, error)
        if not requests_first:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        request = Request("GET", "/metrics", "n1:9400", {})
        with pytest.raises(TargetFault, match=words) as caught:
            await connection.fetch(request, _open, loop.time() + 5.0)
        assert caught.value.reason is reason

    asyncio.run(main())


@pytest.mark.parametrize(
    ("url", "host", "port", "authority", "secure"),
    [
        ("http://n1/x", "n1", 80, "n1", False),
        ("https://n1", "n1", 443, "n1", True),
        ("https://n1:9090/x", "n1", 9090, "n1:9090", True),
        ("http://[::1]/x", "::1", 80, "[::1]", False),
        ("http://[fe80::1%25]:1", "fe80::1%25", 1, "[fe80::1%25]:1", False),
        ("http://[fe80::1%25eth0]:1", "fe80::1%eth0", 1, "[fe80::1%25eth0]:1", False),
    ],
)
def test_the_server_of_a_url(url: str, host: str, port: int, authority: str, secure: bool) -> None:
    server = server_of(url)
    assert (server.host, server.port, server.authority) == (host, port, authority)
    assert server.secure is secure


@pytest.mark.parametrize("url", ["http://n1/\ud800", "http://n1/?\ud800"])
def test_half_a_character_in_a_url_is_a_fault(url: str) -> None:
    with pytest.raises(TargetFault, match="request failed") as caught:
        path_of(url)
    assert caught.value.reason is Reason.GARBAGE


def test_half_a_character_in_a_header_is_a_fault() -> None:
    with pytest.raises(TargetFault, match="request failed") as caught:
        Request("GET", "/", "n1", {"X-A": "\ud800"})
    assert caught.value.reason is Reason.GARBAGE


def test_a_client_keeps_few_requests_of_many_urls() -> None:
    """Each list and watch of an API server has a URL of its own."""
    server = Server(*[KEPT] * 40)
    urls = [f"http://n1/{number % 20}" for number in range(40)]

    async def request(client: TargetClient) -> None:
        assert isinstance(client, HttpClient)
        for url in urls:
            await client.get(url, {}, lambda _headers: Body(None, 1000), 30.0)
            assert len(client._requests) <= 8

    served(server, request)
    assert [head.split()[1].decode() for head in server.heads] == [url[9:] for url in urls]
