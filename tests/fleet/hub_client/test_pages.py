"""Pages of real servers: over one connection, which may be closed at any moment."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import aiohappyeyeballs
import pytest

from accelwatch.fleet.follow.access import BoundAccess
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.http.resolver import Resolver
from accelwatch.fleet.follow.pages import Pages
from accelwatch.fleet.follow.session import Client
from accelwatch.fleet.follow.target_client import TargetClient, target_client
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.target import targets_of
from fleet.hub_client.single_server import KEPT, Server, served

CLOSING = KEPT.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
BUSY = b"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 9999\r\n\r\nnot now"


def exchanged(
    server: Server,
    request: Callable[[Pages], Awaitable[None]],
    host: str = "127.0.0.1",
    timeout_s: float = 5.0,
) -> None:
    """Ask a server for pages below `/base`."""

    async def play(link: TargetClient) -> None:
        await request(Pages(link, "http://n1/base/metrics", Scrape(timeout_s=timeout_s)))

    served(server, play, host)


async def fault(pages: Pages) -> TargetFault:
    with pytest.raises(TargetFault) as caught:
        await pages.next()
    return caught.value


def test_pages_come_over_one_connection() -> None:
    server = Server(KEPT, KEPT, KEPT)

    async def request(pages: Pages) -> None:
        for _ in range(3):
            assert await pages.next() == b"up 1\n"

    exchanged(server, request)
    assert server.connections == 1
    first = server.heads[0].split(b"\r\n")
    assert first[0] == b"GET /base/metrics HTTP/1.1"
    assert b"Accept-Encoding: gzip" in first
    assert b"X-Prometheus-Scrape-Timeout-Seconds: 5" in first
    assert sum(line.startswith(b"Host: 127.0.0.1:") for line in first) == 1


def test_a_server_may_close_it_after_each_page() -> None:
    server = Server(CLOSING, CLOSING)

    async def request(pages: Pages) -> None:
        assert await pages.next() == await pages.next() == b"up 1\n"

    exchanged(server, request)
    assert server.connections == 2


def test_one_that_was_closed_meanwhile_is_made_again_at_once() -> None:
    server = Server(KEPT, None, KEPT)

    async def request(pages: Pages) -> None:
        assert await pages.next() == await pages.next() == b"up 1\n"

    exchanged(server, request)
    assert (server.connections, len(server.heads)) == (2, 3)


def test_a_new_one_that_is_closed_is_not_made_again() -> None:
    server = Server(None)

    async def request(pages: Pages) -> None:
        error = await fault(pages)
        assert (error.reason, "does it expect TLS?" in str(error)) == (Reason.CLOSED, True)

    exchanged(server, request)
    assert server.connections == 1


def test_after_a_refusal_it_is_not_used_again() -> None:
    server = Server(BUSY, KEPT)

    async def request(pages: Pages) -> None:
        error = await fault(pages)
        assert (error.reason, error.code, error.retry_after_s) == (Reason.BUSY, 503, 7.0)
        assert await pages.next() == b"up 1\n"

    exchanged(server, request)
    assert server.connections == 2


def test_after_a_refusal_that_came_whole_it_is_used_again() -> None:
    server = Server(BUSY.replace(b"9999", b"7"), KEPT)

    async def request(pages: Pages) -> None:
        assert (await fault(pages)).code == 503
        assert await pages.next() == b"up 1\n"

    exchanged(server, request)
    assert server.connections == 1


def test_an_unrequested_answer_ends_it() -> None:
    server = Server(KEPT, KEPT)

    async def request(pages: Pages) -> None:
        await pages.next()
        server.writers[0].write(KEPT)
        await server.gone()
        assert await pages.next() == b"up 1\n"

    exchanged(server, request)
    assert server.connections == 2


def test_an_answer_that_does_not_come_is_given_up() -> None:
    server = Server(b"HTTP/1.1 200 OK\r\n", KEPT)

    async def request(pages: Pages) -> None:
        assert (await fault(pages)).reason is Reason.TIMEOUT
        await server.gone()
        assert await pages.next() == b"up 1\n"

    exchanged(server, request, timeout_s=0.2)
    assert server.connections == 2


def test_who_no_longer_waits_lets_go_of_it() -> None:
    server = Server(b"HTTP/1.1 200 OK\r\n")

    async def request(pages: Pages) -> None:
        waiting = asyncio.create_task(pages.next())
        while not server.heads:
            await asyncio.sleep(0.001)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await server.gone()

    exchanged(server, request)


def test_an_address_of_ipv6() -> None:
    server = Server(KEPT)

    async def request(pages: Pages) -> None:
        assert await pages.next() == b"up 1\n"

    exchanged(server, request, host="[::1]")
    assert b"\r\nHost: [::1]:" in server.heads[0]


def test_a_name_is_looked_up_by_our_resolver(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(CLOSING)
    looked_up: list[str] = []

    async def resolve(
        _self: Resolver, host: str, port: int, _family: int
    ) -> list[dict[str, object]]:
        looked_up.append(host)
        if len(looked_up) > 1:
            raise OSError("our resolver")
        return [{"hostname": host, "host": "127.0.0.1", "port": port}]

    monkeypatch.setattr(Resolver, "resolve", resolve)

    async def request(pages: Pages) -> None:
        assert await pages.next() == b"up 1\n"
        error = await fault(pages)
        assert (error.reason, "our resolver" in str(error)) == (Reason.DNS, True)

    exchanged(server, request, host="n001.invalid")
    assert looked_up == ["n001.invalid", "n001.invalid"]
    assert b"\r\nHost: n001.invalid:" in server.heads[0]


@pytest.mark.parametrize("also", [(), ("::1",)])
def test_the_family_that_answered_is_tried_first_the_next_time(
    monkeypatch: pytest.MonkeyPatch, also: tuple[str, ...]
) -> None:
    server = Server(CLOSING, CLOSING)
    tried: list[list[str]] = []
    start = aiohappyeyeballs.start_connection

    async def resolve(_self: Resolver, name: str, port: int, _: int) -> list[dict[str, object]]:
        return [{"hostname": name, "host": host, "port": port} for host in (*also, "127.0.0.1")]

    async def noted(addresses: list[Any], **more: Any) -> socket.socket:
        tried.append([str(address[4][0]) for address in addresses])
        return await start(addresses, **more)

    monkeypatch.setattr(Resolver, "resolve", resolve)
    monkeypatch.setattr(aiohappyeyeballs, "start_connection", noted)

    async def request(pages: Pages) -> None:
        for _ in range(2):
            assert await pages.next() == b"up 1\n"

    exchanged(server, request, host="n001.invalid")
    assert tried == [[*also, "127.0.0.1"], ["127.0.0.1", *also]]


def test_nobody_there() -> None:
    async def main() -> None:
        scrape = Scrape()
        client = Client(scrape, BoundAccess(scrape))
        (target,) = targets_of(["127.0.0.1:1"])
        error = await fault(Pages(target_client(client, target), target.metrics_url, scrape))
        assert (error.reason, str(error)) == (Reason.CONNECT, "cannot connect: Connection refused")

    asyncio.run(main())
