"""Whether a new target is asked for a stream or for a page first, and what comes of a wrong guess."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from accelwatch.fleet.dialects import ForeignReader
from accelwatch.fleet.follow.access import BoundAccess
from accelwatch.fleet.follow.failures.faults import TargetFault
from accelwatch.fleet.follow.follow import Follower, Rounds
from accelwatch.fleet.follow.frames import Received
from accelwatch.fleet.follow.poll import Exposed
from accelwatch.fleet.follow.session import Client, FirstRequest
from accelwatch.fleet.hub.foreign import foreign_reader
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.target import Target, targets_of
from support.fleet.hub_peers import STREAM_HEAD, stream_bytes
from support.machines.composed import snapshot, view

STREAM = "/v1/stream"
PAGE = "/metrics"
FOREIGN = b'DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-1"} 61\n'
OURS = (
    b'accel_device_info{vendor="nvidia",device="nvidia0",uuid="GPU-1"} 1\n'
    b'accel_power_watts{vendor="nvidia",device="nvidia0",uuid="GPU-1"} 300\n'
)
ROOMLESS = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
NONE = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
TICKS = STREAM_HEAD + stream_bytes(snapshot(view(0)))


def page(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


class Noted:
    """A sink that notes how a target was asked."""

    def __init__(self) -> None:
        self.modes: list[str] = []
        self.pages = self.messages = self.faults = 0

    def started(self, _target: Target, mode: str) -> None:
        self.modes.append(mode)

    def message(self, _target: Target, _message: Received, _size: int) -> None:
        self.messages += 1

    def exposed(self, _target: Target, _exposed: Exposed, _duration_s: float) -> None:
        self.pages += 1

    def failed(self, _target: Target, _fault: TargetFault) -> None:
        self.faults += 1


def followed(
    answers: dict[str, bytes],
    enough: Callable[[Noted], bool],
    *,
    mode: str = "auto",
    others_stream: bool = False,
) -> tuple[Noted, list[str], Client]:
    """Follow a server until it is enough: what was noted, the paths asked for, and the client."""
    noted, requested = Noted(), list[str]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split()[1].decode()
                requested.append(path)
                writer.write(answers[path])
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def main() -> Client:
        scrape = Scrape(mode=mode, interval_s=0.1, max_backoff_s=0.05)  # type: ignore[arg-type]
        client = Client(scrape, BoundAccess(scrape))
        for _ in range(10):
            client.first_request.record_outcome(streams=others_stream)
        listening = await asyncio.start_server(serve, "127.0.0.1", 0)
        (target,) = targets_of([f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"])
        follower = Follower(client, target, noted, foreign_reader, Rounds())
        following: Awaitable[None] = asyncio.ensure_future(follower.run())
        async with asyncio.timeout(60):
            while not enough(noted):
                await asyncio.sleep(0.005)
        assert isinstance(following, asyncio.Future)
        following.cancel()
        await asyncio.wait([following])
        listening.close()
        return client

    client = asyncio.run(main())
    return noted, requested, client


def test_where_hardly_anybody_streams_a_page_is_requested_first() -> None:
    answers = {PAGE: page(FOREIGN), STREAM: NONE}
    noted, requested, _ = followed(answers, lambda noted: noted.pages > 2)
    assert noted.modes == ["poll"]
    assert set(requested) == {PAGE}


def test_where_others_stream_a_stream_is_requested_first() -> None:
    answers = {PAGE: page(FOREIGN), STREAM: NONE}
    noted, requested, _ = followed(answers, lambda noted: noted.pages > 2, others_stream=True)
    assert noted.modes == ["stream", "poll"]
    assert requested[:2] == [STREAM, PAGE]


def test_an_agent_among_exporters_is_followed_by_its_stream() -> None:
    answers = {PAGE: page(OURS), STREAM: TICKS}
    noted, requested, _ = followed(answers, lambda noted: noted.messages > 0)
    assert noted.modes == ["poll", "stream"]
    assert requested[:2] == [PAGE, STREAM]
    assert noted.faults == 0


def test_who_has_no_page_may_have_a_stream() -> None:
    answers = {PAGE: NONE, STREAM: TICKS}
    noted, requested, _ = followed(answers, lambda noted: noted.messages > 0)
    assert noted.modes[:2] == ["poll", "stream"]
    assert requested[:2] == [PAGE, STREAM]


@pytest.mark.parametrize("others_stream", [False, True])
def test_an_agent_without_room_is_polled_and_its_stream_not_requested_at_once(
    others_stream: bool,
) -> None:
    answers = {PAGE: page(OURS), STREAM: ROOMLESS}
    noted, requested, _ = followed(
        answers, lambda noted: noted.pages > 4, others_stream=others_stream
    )
    assert requested.count(STREAM) == 1
    assert noted.modes[-2:] == ["stream", "poll"]
    assert noted.faults == 0


def test_an_agent_that_is_only_to_be_polled_is_polled() -> None:
    answers = {PAGE: page(OURS), STREAM: TICKS}
    noted, requested, client = followed(answers, lambda noted: noted.pages > 2, mode="poll")
    assert (noted.modes, set(requested)) == (["poll"], {PAGE})
    assert client.first_request.page


def test_an_agent_that_is_only_to_be_streamed_is_streamed() -> None:
    answers = {PAGE: page(OURS), STREAM: TICKS}
    noted, requested, _ = followed(answers, lambda noted: noted.messages > 0, mode="stream")
    assert noted.modes[0] == requested[0].removeprefix("/v1/") == "stream"


def test_an_exporter_whose_page_fails_later_gets_no_request_for_a_stream() -> None:
    answers = {PAGE: page(FOREIGN), STREAM: NONE}

    def broken_and_well_again(noted: Noted) -> bool:
        answers[PAGE] = NONE if noted.pages in (2, 3) and noted.faults < 3 else page(FOREIGN)
        return noted.pages > 4

    noted, requested, _ = followed(answers, broken_and_well_again)
    assert noted.faults > 0
    assert set(requested) == {PAGE}


def test_a_stream_counts_as_one() -> None:
    answers = {PAGE: page(OURS), STREAM: TICKS}
    _, _, client = followed(answers, lambda noted: noted.messages > 2)
    client.first_request.record_outcome(streams=True)
    assert not client.first_request.page  # two streams beside ten pages


def test_what_a_new_target_turned_out_to_be_counts_once() -> None:
    answers = {PAGE: page(FOREIGN), STREAM: NONE}
    _, _, client = followed(answers, lambda noted: noted.pages > 20, others_stream=True)
    # One page beside ten streams: twenty of its pages would be more than enough otherwise.
    for _ in range(88):
        client.first_request.record_outcome(streams=False)
    assert not client.first_request.page
    client.first_request.record_outcome(streams=False)
    assert client.first_request.page


@pytest.mark.parametrize(
    ("streams", "pages", "page_first"),
    [(0, 0, False), (0, 9, False), (0, 10, True), (1, 10, True), (2, 17, False), (2, 18, True)],
)
def test_a_page_comes_first_beside_ten_pages_and_nine_a_stream(
    streams: int, pages: int, page_first: bool
) -> None:
    first = FirstRequest()
    for at in range(streams + pages):
        first.record_outcome(streams=at < streams)
    assert first.page == page_first


def test_a_reader_says_who_has_a_stream() -> None:
    (target,) = targets_of(["127.0.0.1:9877"])
    assert ForeignReader().read(OURS, 0.0).dialects == ("accelwatch",)
    assert foreign_reader(target)(OURS).streams
    assert not foreign_reader(target)(FOREIGN).streams
