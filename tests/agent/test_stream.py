"""The stream in its three forms, over the wire and tick by tick."""

import asyncio
import json
import socket
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from accelwatch.agent.server import ServerLimits
from accelwatch.agent.stream import Pulse, send_stream
from accelwatch.base.clock import ManualClock
from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.stream.compact import Hello, Layout, Message, Tick
from accelwatch.schema.stream.context import Backends, Event, Processes
from accelwatch.web.http.stream import MSGPACK, NDJSON, SSE, Stalled, framed
from support.fleet.stream_reader import StreamFollower
from support.machines import composed as machines
from support.processes.waiting import GUARD_S
from support.servers.fake_feed import FakeFeed

Serve = Callable[..., Any]


class Lines:
    """Reads a chunked response of a raw socket."""

    def __init__(self, client: socket.socket) -> None:
        self._file = client.makefile("rb")
        self.headers = b""
        while (line := self._file.readline()) not in (b"\r\n", b""):
            self.headers += line

    def chunk(self) -> bytes:
        size = int(self._file.readline() or b"0", 16)
        data = self._file.read(size)
        self._file.readline()
        return data

    def close(self) -> None:
        self._file.close()


def ask(served: Any, accept: str) -> tuple[socket.socket, Lines]:
    client = served.connect()
    client.sendall(
        f"GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n".encode()
    )
    return client, Lines(client)


_msgpack: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)
_json: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)


def parsed(data: bytes, accept: str) -> Message:
    if accept == MSGPACK:
        assert int.from_bytes(data[:4], "big") == len(data) - 4
        return _msgpack.decode(data[4:])
    if accept == SSE:
        name, body = data.removesuffix(b"\n\n").split(b"\n")
        message = _json.decode(body.removeprefix(b"data: "))
        assert name == b"event: " + type(message).__name__.lower().encode()
        return message
    return _json.decode(data)


@pytest.mark.parametrize("accept", [NDJSON, MSGPACK, SSE])
def test_a_client_follows_the_store(serve: Serve, accept: str) -> None:
    served = serve()
    client, lines = ask(served, accept)
    with client:
        assert f"Content-Type: {accept}".encode() in lines.headers
        decoder = StreamFollower()
        seen: list[tuple[DeviceView, ...]] = []
        while len(seen) < 3:
            views = decoder.feed(parsed(lines.chunk(), accept))
            if views is not None:
                seen.append(views)
        assert decoder.hello is not None
        assert decoder.hello.host == "n01"
        assert [view.device.index for view in seen[0]] == list(range(8))
        served.feed.put(machines.snapshot(machines.view(0), machines.lost_view(1)))
        while len(seen[-1]) != 2:
            views = decoder.feed(parsed(lines.chunk(), accept))
            if views is not None:
                seen.append(views)
        assert seen[-1][1].state == "lost"
        assert decoder.gaps == 0
        lines.close()


def test_json_lines_when_nothing_is_requested(serve: Serve) -> None:
    client, lines = ask(serve(), "*/*")
    with client:
        assert b"Content-Type: application/x-ndjson" in lines.headers
        assert json.loads(lines.chunk())["type"] == "hello"
        lines.close()


def test_what_is_not_offered_is_refused(serve: Serve) -> None:
    answer = serve().get("/v1/stream", headers={"Accept": "text/html"})
    assert answer.status == 406
    assert NDJSON in answer.text


def test_streams_are_bounded_and_do_not_count_as_requests(serve: Serve) -> None:
    served = serve(limits=ServerLimits(requests=1, streams=2))
    streams = [ask(served, NDJSON) for _ in range(2)]
    for _, lines in streams:
        lines.chunk()
    assert served.get("/v1/stream").status == 503
    assert served.get().status == 200
    for client, lines in streams:
        lines.close()
        client.close()


def test_a_client_that_goes_away_is_no_fault(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    served = serve()
    for _ in range(5):
        client, lines = ask(served, NDJSON)
        lines.chunk()
        lines.close()
        client.close()
    served.run(_all_gone(served))
    client, lines = ask(served, NDJSON)
    lines.chunk()
    lines.close()
    client.close()
    served.stop()
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def _all_gone(served: Any) -> None:
    while served.server.streams:
        await asyncio.sleep(0.01)


def test_a_client_that_never_reads_is_let_go(serve: Serve) -> None:
    served = serve(limits=ServerLimits(stall_s=0.3))
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.settimeout(GUARD_S)
        client.connect(("127.0.0.1", served.port))
        client.sendall(b"GET /v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        served.feed.put(machines.snapshot(*(machines.view(index) for index in range(8))))
        ended = served.run(_streams_end(served))
        assert ended
    assert served.get().status == 200


async def _streams_end(served: Any) -> bool:
    """Feed it with ever changing layouts, which are large, until the client has been dropped."""
    for number in range(2000):
        if number > 5 and not served.server.streams:
            return True
        served.feed.put(
            machines.snapshot(
                *(machines.view(0, device=machines.device(i, model=f"{number}")) for i in range(64))
            )
        )
        await asyncio.sleep(0.01)
    return False


class FakeOutlet:
    """A client whose connection is full when the test says so."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.written: list[Message] = []
        self.waiting = 0

    async def write(self, data: bytes) -> None:
        self.written.append(_json.decode(data))

    def backlog(self) -> int:
        return self.waiting

    def sequences(self) -> list[int]:
        return [message.sequence for message in self.written if isinstance(message, Tick)]


def _feed() -> FakeFeed:
    return FakeFeed(machines.snapshot(machines.view(0)))


async def _beat(pulse: Pulse, times: int = 1) -> None:
    for _ in range(times):
        pulse.tick()
        for _ in range(5):
            await asyncio.sleep(0)


def test_a_slow_client_sees_a_gap_and_then_the_present() -> None:
    async def scenario() -> None:
        pulse, outlet, clock = Pulse(_feed(), 1.0), FakeOutlet(), ManualClock()
        sending = asyncio.ensure_future(
            send_stream(_feed(), pulse, NDJSON, outlet, clock=clock, stall_s=10.0)
        )
        await asyncio.sleep(0)
        await _beat(pulse, 2)
        outlet.waiting = 99
        await _beat(pulse, 3)
        outlet.waiting = 0
        await _beat(pulse)
        assert outlet.sequences() == [1, 2, 3, 7]
        kinds = [type(message) for message in outlet.written]
        assert kinds[:6] == [Hello, Layout, Backends, Processes, Event, Tick]
        assert set(kinds[6:]) == {Tick}
        pulse.close()
        await sending

    asyncio.run(scenario())


def test_a_client_that_takes_nothing_is_given_up() -> None:
    async def scenario() -> None:
        pulse, outlet, clock = Pulse(_feed(), 1.0), FakeOutlet(), ManualClock()
        sending = asyncio.ensure_future(
            send_stream(_feed(), pulse, NDJSON, outlet, clock=clock, stall_s=10.0)
        )
        await asyncio.sleep(0)
        outlet.waiting = 99
        clock.advance(9)
        await _beat(pulse)
        assert not sending.done()
        clock.advance(2)
        await _beat(pulse)
        with pytest.raises(Stalled):
            await sending

    asyncio.run(scenario())


def test_a_pulse_beats_without_changes() -> None:
    async def scenario() -> None:
        pulse = Pulse(_feed(), 0.02)
        beating = asyncio.ensure_future(pulse.run())
        assert await pulse.next(0) == 1
        assert await pulse.next(1) == 2
        pulse.close()
        assert await pulse.next(2) is None
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)

    asyncio.run(scenario())


def test_msgpack_is_prefixed_with_its_length() -> None:
    data = framed(Hello(version="1", host="h"), MSGPACK)
    assert _msgpack.decode(data[4:]) == Hello(version="1", host="h")
