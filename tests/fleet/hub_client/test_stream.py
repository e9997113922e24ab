"""The stream of one target: on the connection of its pages, for as long as it ticks."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import pytest

from accelwatch.fleet.follow.failures.faults import NotOurs, Reason, TargetFault
from accelwatch.fleet.follow.frames import RawTick, Received
from accelwatch.fleet.follow.http.body import OpenBody
from accelwatch.fleet.follow.http.kept import KeptConnection
from accelwatch.fleet.follow.http.request import Request
from accelwatch.fleet.follow.pages import Pages
from accelwatch.fleet.follow.stream import Stream
from accelwatch.fleet.follow.target_client import TargetClient
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.schema.stream.frames import frame
from accelwatch.web.http.stream import MSGPACK
from fleet.hub_client.single_server import KEPT, Server, Silent, served
from remediation.virtual_time import VirtualLoop, run
from support.fleet.hub_peers import stream_bytes
from support.machines import composed as machines

NONE = b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot found"
MESSAGES = stream_bytes(machines.snapshot(machines.view(0)))


def head(kind: str = MSGPACK, fields: str = "") -> bytes:
    """That of a stream until the end of its connection."""
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{fields}\r\n".encode()


async def followed(
    client: TargetClient, receive: Callable[[Received, int], None] = lambda *_: None
) -> TargetFault:
    """How a stream ended."""
    stream = Stream(client, "http://n1/v1/stream", Scrape(timeout_s=5.0), {"X-Hub": "h1"})
    with pytest.raises(TargetFault) as caught:
        await stream.follow(receive)
    return caught.value


def test_every_message_is_handed_over_until_it_ends() -> None:
    server = Server(head() + MESSAGES, closing=True)
    received: list[Received] = []

    async def request(client: TargetClient) -> None:
        fault = await followed(client, lambda message, _: received.append(message))
        assert (fault.reason, str(fault)) == (Reason.CLOSED, "the target ended the stream")

    served(server, request)
    assert isinstance(received[-1], RawTick)
    assert server.heads[0].startswith(b"GET /v1/stream HTTP/1.1\r\n")
    assert b"\r\nX-Hub: h1\r\n" in server.heads[0]
    assert b"\r\nAccept-Encoding: identity\r\n" in server.heads[0]


def test_who_has_no_stream_is_polled_on_the_same_connection() -> None:
    server = Server(NONE, KEPT)

    async def request(client: TargetClient) -> None:
        assert isinstance(await followed(client), NotOurs)
        pages = Pages(client, "http://n1/metrics", Scrape())
        assert await pages.next() == b"up 1\n"

    served(server, request)
    assert server.connections == 1


@pytest.mark.parametrize(
    ("answer", "not_ours", "words"),
    [
        (head("text/plain; charset=utf-8"), True, "answers, but with no stream"),
        (b"HTTP/1.1 200 OK\r\n\r\n", True, "answers, but with no stream"),
        (head(fields="Content-Encoding: gzip\r\n"), False, "compressed"),
        (NONE.replace(b"404", b"500"), False, "answered 500"),
        (NONE.replace(b"404", b"405"), True, "answered 405"),
    ],
)
def test_what_answers_without_a_stream(answer: bytes, not_ours: bool, words: str) -> None:
    async def request(client: TargetClient) -> None:
        fault = await followed(client)
        assert (isinstance(fault, NotOurs), words in str(fault)) == (not_ours, True)

    served(Server(answer), request)


@pytest.mark.parametrize("kind", [f"{MSGPACK}; version=1", MSGPACK.upper()])
def test_parameters_and_case_of_a_type_do_not_matter(kind: str) -> None:
    async def request(client: TargetClient) -> None:
        assert (await followed(client)).reason is Reason.CLOSED

    served(Server(head(kind) + MESSAGES, closing=True), request)


def test_whatever_a_message_breaks_reaches_who_follows() -> None:
    def breaks(*_: object) -> None:
        raise ZeroDivisionError

    async def request(client: TargetClient) -> None:
        with pytest.raises(ZeroDivisionError):
            await followed(client, breaks)

    served(Server(head() + MESSAGES), request)


class Ticking:
    """A connection on which bytes come when the test says so."""

    def __init__(self) -> None:
        self.buffer = bytearray(64 << 10)
        self.connection = KeptConnection(memoryview(self.buffer))
        self.transport = Silent()
        self.connection.connection_made(self.transport)

    def arrive(self, data: bytes) -> None:
        self.buffer[: len(data)] = data
        self.connection.buffer_updated(len(data))

    async def get(
        self, _url: str, _headers: Mapping[str, str], open_body: OpenBody, timeout_s: float
    ) -> bytes:
        until = asyncio.get_running_loop().time() + timeout_s
        request = Request("GET", "/v1/stream", "n1:9400", {})
        exchange = await self.connection.fetch(
            request, lambda _, answered: open_body(answered), until
        )
        return exchange.body()

    def prolong(self, timeout_s: float) -> None:
        self.connection.prolong(asyncio.get_running_loop().time() + timeout_s)

    def close(self) -> None:
        self.connection.close()


def silent_after(play: Callable[[Ticking], Awaitable[None]]) -> tuple[TargetFault, float, bool]:
    """How a stream ends, the seconds after which, and whether its connection was given up."""

    async def main() -> tuple[TargetFault, float, bool]:
        loop, ticking = asyncio.get_running_loop(), Ticking()
        started = loop.time()
        following = asyncio.create_task(followed(ticking))
        await asyncio.sleep(0)
        await play(ticking)
        fault = await following
        return fault, loop.time() - started, ticking.transport.aborted

    return run(VirtualLoop(), main())


def test_a_stream_may_be_silent_for_so_long_after_each_tick() -> None:
    async def play(ticking: Ticking) -> None:
        ticking.arrive(head() + MESSAGES)
        for _ in range(9):
            await asyncio.sleep(4.0)
            ticking.arrive(MESSAGES)

    fault, after_s, aborted = silent_after(play)
    assert (fault.reason, str(fault), aborted) == (Reason.TIMEOUT, "no answer in time", True)
    assert after_s == pytest.approx(9 * 4.0 + 5.0)


def test_what_is_no_tick_gives_it_no_more_time() -> None:
    async def play(ticking: Ticking) -> None:
        ticking.arrive(head())
        hello = MESSAGES[: 4 + int.from_bytes(MESSAGES[:4], "big")]
        await asyncio.sleep(4.0)
        ticking.arrive(hello)

    fault, after_s, _ = silent_after(play)
    assert fault.reason is Reason.TIMEOUT
    assert after_s == pytest.approx(5.0)


def test_a_frame_that_nobody_may_send_ends_it() -> None:
    async def play(ticking: Ticking) -> None:
        ticking.arrive(head() + (1 << 31).to_bytes(4, "big"))

    fault, _, aborted = silent_after(play)
    assert (fault.reason, aborted) == (Reason.TOO_LARGE, True)


def test_a_message_that_is_none_ends_it() -> None:
    async def play(ticking: Ticking) -> None:
        ticking.arrive(head() + frame(b"\xc1"))

    fault, _, aborted = silent_after(play)
    assert (fault.reason, aborted) == (Reason.GARBAGE, True)
