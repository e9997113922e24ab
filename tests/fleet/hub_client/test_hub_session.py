"""Requests to a hub over plain HTTP and a socket: connections that are kept, changes, refusals."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path

import msgspec
import pytest

from accelwatch.fleet.follow.access import Ticket
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.http.body import Body
from accelwatch.fleet.follow.http.connector import Connector
from accelwatch.fleet.follow.http.kept import KeptConnection
from accelwatch.fleet.follow.http.server import Server as Address
from accelwatch.fleet.hub_client.connection.session import HubSession, Prolong
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint, socket_endpoint
from fleet.hub_client.single_server import KEPT, Server
from support.fleet.hub_sources import until

CHANGED = KEPT
Play = Callable[[HubSession], Awaitable[None]]


@contextlib.asynccontextmanager
async def over_tcp(server: Server, _folder: Path) -> AsyncIterator[HubEndpoint]:
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, family=socket.AF_INET)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        yield HubEndpoint(name="hub", base=f"http://127.0.0.1:{port}/base dir")


@contextlib.asynccontextmanager
async def over_a_socket(server: Server, folder: Path) -> AsyncIterator[HubEndpoint]:
    path = folder / "hub.sock"
    async with await asyncio.start_unix_server(server.serve, path):
        yield socket_endpoint(path, "hub")


Way = Callable[[Server, Path], contextlib.AbstractAsyncContextManager[HubEndpoint]]
both = pytest.mark.parametrize("way", [over_tcp, over_a_socket])


def played(server: Server, folder: Path, play: Play, way: Way = over_tcp) -> None:
    async def main() -> None:
        async with way(server, folder) as address:
            session = HubSession(address)
            try:
                await play(session)
            finally:
                await session.close()
                for writer in server.writers:
                    writer.close()

    asyncio.run(main())


@both
def test_documents_come_on_a_connection_that_is_kept(tmp_path: Path, way: Way) -> None:
    server = Server(KEPT, KEPT)

    async def send_request(session: HubSession) -> None:
        assert await session.document("/v1/fleet") == b"up 1\n"
        assert await session.document("/v1/nodes", {"filter": "a > 1 & b"}) == b"up 1\n"

    played(server, tmp_path, send_request, way)
    assert server.connections == 1
    path = b"/v1/nodes?filter=a+%3E+1+%26+b HTTP/1.1\r\n"
    assert server.heads[1].partition(b"GET ")[2].removeprefix(b"/base%20dir").startswith(path)
    assert b"\r\nAccept-Encoding: gzip\r\n" in server.heads[1]


def test_several_are_requested_at_once(tmp_path: Path) -> None:
    server = Server(KEPT, KEPT, KEPT, KEPT)

    async def send_request(session: HubSession) -> None:
        await asyncio.gather(*(session.document("/v1/fleet") for _ in range(3)))
        await session.document("/v1/fleet")

    played(server, tmp_path, send_request)
    assert server.connections == 3


@both
def test_a_change_goes_on_a_connection_of_its_own_with_its_body(tmp_path: Path, way: Way) -> None:
    server = Server(KEPT, CHANGED, CHANGED, KEPT)

    async def send_request(session: HubSession) -> None:
        await session.document("/v1/fleet")
        await session.change("POST", "/v1/silences", None, b"{}")
        await session.post("/v1/nodes/n1/acknowledge")
        await session.document("/v1/fleet")

    played(server, tmp_path, send_request, way)
    assert server.connections == 3
    assert b"\r\nContent-Length: 2\r\n" in server.heads[1]
    assert b"\r\nContent-Type: application/json\r\n" in server.heads[1]
    assert b"\r\nContent-Length: 0\r\n" in server.heads[2]


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_change_is_never_requested_twice(tmp_path: Path, method: str) -> None:
    server = Server(KEPT, None, KEPT)

    async def send_request(session: HubSession) -> None:
        await session.document("/v1/fleet")
        with pytest.raises(TargetFault) as caught:
            await session.change(method, "/v1/silences/s1", {"by": "me"}, None)
        assert caught.value.reason is Reason.CLOSED

    played(server, tmp_path, send_request)
    assert len(server.heads) == 2
    assert server.answers == [KEPT]


def test_a_document_is_requested_again_where_the_connection_was_closed_meanwhile(
    tmp_path: Path,
) -> None:
    server = Server(KEPT, None, KEPT)

    async def send_request(session: HubSession) -> None:
        await session.document("/v1/fleet")
        assert await session.document("/v1/fleet") == b"up 1\n"

    played(server, tmp_path, send_request)
    assert server.connections == 2


TEXT = "Content-Type: Text/Plain; charset=utf-8\r\n"


@pytest.mark.parametrize(
    ("answer", "reason", "message"),
    [
        (f"404 No\r\n{TEXT}Content-Length: 7\r\n\r\nno node", Reason.STATUS, "no node"),
        (f"400 No\r\n{TEXT}Content-Length: 5\r\n\r\n a\nb ", Reason.STATUS, "a\nb"),
        (f"404 No\r\n{TEXT}Content-Length: 0\r\n\r\n", Reason.STATUS, "answered 404"),
        (
            f"403 No\r\n{TEXT}Content-Length: 4\r\n\r\nview",
            Reason.CREDENTIALS,
            "answered 403: view",
        ),
        ("401 No\r\n\r\n", Reason.CREDENTIALS, "answered 401: check the credentials"),
        ("302 No\r\n\r\n", Reason.REDIRECT, "answered 302; redirects are not followed"),
        (f"503 No\r\nRetry-After: 7\r\n{TEXT}Content-Length: 4\r\n\r\nbusy", Reason.BUSY, "busy"),
        ("500 No\r\nContent-Type: text/html\r\n\r\n<p>no", Reason.STATUS, "answered 500"),
        (f"500 No\r\nContent-Encoding: gzip\r\n{TEXT}\r\nxyz", Reason.STATUS, "answered 500"),
    ],
)
def test_a_refusal_is_reported_in_the_words_of_the_hub(
    tmp_path: Path, answer: str, reason: Reason, message: str
) -> None:
    async def send_request(session: HubSession) -> None:
        with pytest.raises(TargetFault) as caught:
            await session.document("/v1/fleet")
        fault = caught.value
        assert (fault.reason, str(fault), fault.code) == (reason, message, int(answer[:3]))
        assert fault.retry_after_s == (7.0 if reason is Reason.BUSY else None)

    played(Server(f"HTTP/1.1 {answer}".encode()), tmp_path, send_request)


def test_of_a_long_refusal_the_start_is_shown(tmp_path: Path) -> None:
    endless = f"HTTP/1.1 404 No\r\n{TEXT}\r\n".encode() + b"a" * 5000

    async def send_request(session: HubSession) -> None:
        with pytest.raises(TargetFault, match="^a{2000}$"):
            await session.document("/v1/fleet")

    played(Server(endless), tmp_path, send_request)


def test_nobody_there_is_reported(tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(
            TargetFault, match="cannot connect: No such file or directory"
        ) as caught:
            await HubSession(socket_endpoint(tmp_path / "none", "hub")).document("/v1/fleet")
        assert caught.value.reason is Reason.CONNECT

    asyncio.run(main())


def test_a_request_ends_when_the_session_is_closed(tmp_path: Path) -> None:
    server = Server(KEPT, b"")

    async def send_request(session: HubSession) -> None:
        await session.document("/v1/fleet")
        pending = asyncio.ensure_future(session.document("/v1/nodes"))
        await until(lambda: len(server.heads) == 2)
        await session.close()
        for request in (pending, session.document("/v1/nodes")):
            with pytest.raises(TargetFault) as caught:
                await request
            assert caught.value.reason is Reason.CLOSED

    played(server, tmp_path, send_request)


def test_a_stream_is_taken_until_it_ends(tmp_path: Path) -> None:
    server = Server(b"HTTP/1.1 200 OK\r\nX-Kind: s\r\n\r\nabc", closing=True)
    taken: list[Body] = []

    def take(headers: Mapping[str, str], prolong: Prolong) -> Body:
        assert headers["x-kind"] == "s"
        prolong(60.0)
        taken.append(Body(None, 100))
        return taken[0]

    async def send_request(session: HubSession) -> None:
        await session.stream("/v1/stream", {}, {"Accept": "x"}, take)

    played(server, tmp_path, send_request)
    assert taken[0].read_all() == b"abc"
    assert b"\r\nAccept: x\r\n" in server.heads[0]


@pytest.mark.parametrize(
    ("host", "looked_up", "message"),
    [
        ("[::1]", "::1", "[::1]"),
        ("[fe80::1%25eth0]", "fe80::1%eth0", "[fe80::1]"),
        ("[fe80::1%eth0]", "fe80::1%eth0", "[fe80::1]"),
        ("b\u00fccher.example", "b\u00fccher.example", "xn--bcher-kva.example"),
    ],
)
def test_a_hub_is_addressed_by_its_name_as_servers_know_it(
    monkeypatch: pytest.MonkeyPatch, host: str, looked_up: str, message: str
) -> None:
    server = Server(KEPT)
    connected: list[str] = []

    connect = Connector.connect

    async def noted(connector: Connector, address: Address, ticket: Ticket) -> KeptConnection:
        connected.append(address.host)
        here = msgspec.structs.replace(address, host="127.0.0.1")
        return await connect(connector, here, ticket)

    monkeypatch.setattr(Connector, "connect", noted)

    async def main() -> None:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        async with listening:
            port = listening.sockets[0].getsockname()[1]
            session = HubSession(HubEndpoint(name="hub", base=f"http://{host}:{port}"))
            assert await session.document("/v1/fleet") == b"up 1\n"
            await session.close()
            for writer in server.writers:
                writer.close()

    asyncio.run(main())
    assert connected == [looked_up]
    assert f"Host: {message}:".encode() in server.heads[0]
