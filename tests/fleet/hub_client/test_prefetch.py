"""First pages of a large fleet are asked for by a process of their own, which may fail in any way."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from accelwatch.fleet.follow import prefetch
from accelwatch.fleet.follow.access import BoundAccess
from accelwatch.fleet.follow.faults import TargetFault
from accelwatch.fleet.follow.follow import Follower, Rounds
from accelwatch.fleet.follow.followers import Followers
from accelwatch.fleet.follow.frames import Received
from accelwatch.fleet.follow.pages import Prefetched
from accelwatch.fleet.follow.poll import Exposed
from accelwatch.fleet.follow.prefetch import LEAST, STARTED_TOGETHER, Outcome, Prefetch
from accelwatch.fleet.follow.session import Client
from accelwatch.fleet.hub.foreign import foreign_reader
from accelwatch.fleet.scrape_settings import BasicAuth, Credentials, Scrape
from accelwatch.fleet.target import Target, targets_of
from support.processes.waiting import wait_until

_PATIENT = Scrape(timeout_s=60.0)
_POLLED = Scrape(mode="poll", interval_s=600.0)


def _page(path: str) -> bytes:
    number = int(path.strip("/").partition("/")[0])
    return b'DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-%d"} %d\n' % (number, number)


class Exporters:
    """Many exporters on one port, told apart by what their paths begin with."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.heads: list[bytes] = []
        self.silent: set[str] = set()
        """Who takes the question and never answers."""
        self.broken: set[str] = set()
        self.writers: list[asyncio.StreamWriter] = []
        self.padding = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split()[1].decode()
                self.asked.append(path)
                self.heads.append(head)
                if path in self.silent:
                    await reader.read()
                status = b"500 Broken" if path in self.broken else b"200 OK"
                body = _page(path) + self.padding
                writer.write(b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n" % (status, len(body)))
                writer.write(body)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def __aenter__(self) -> "Exporters":
        self._server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self.writers:
            writer.close()
        await asyncio.gather(*[one.wait_closed() for one in self.writers], return_exceptions=True)

    def targets(self, count: int, begin: int = 0) -> list[Target]:
        port = self._server.sockets[0].getsockname()[1]
        numbers = range(begin, begin + count)
        return targets_of([f"http://127.0.0.1:{port}/{number}" for number in numbers])


def play(main: Callable[[Exporters], Awaitable[None]]) -> None:
    """Play with exporters that listen."""

    async def played() -> None:
        async with Exporters() as exporters:
            await main(exporters)

    asyncio.run(played())


@pytest.fixture(autouse=True)
def _nobody_is_polled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rounds, "any", lambda _rounds, now, interval_s: now + interval_s)


def _begun(patience_s: float) -> Iterator[Prefetch]:
    """A real one, on whatever machine; gone at the end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefetch, "_PATIENCE_S", patience_s)
        patch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
        begun = prefetch.fork_prefetch()
    assert begun is not None
    yield begun
    begun.close()


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[Prefetch]:
    """One that waits for whoever is slow, as the hub waits for it: on a busy machine all are."""
    monkeypatch.setattr(prefetch, "_SILENCE_S", 1000.0)
    yield from _begun(1000.0)


@pytest.fixture
def hasty_process() -> Iterator[Prefetch]:
    """One that gives up who is silent; whoever answers has time for that on a busy machine, too."""
    yield from _begun(2.0)


async def _gathered(
    process: Prefetch, targets: Sequence[Target], scrape: Scrape = _PATIENT
) -> dict[str, Prefetched | None]:
    async with asyncio.timeout(50):
        return {one.key: page async for one, page in process.outcomes(scrape, targets)}


def test_the_pages_of_all_come_each_with_its_target(process: Prefetch) -> None:
    async def main(exporters: Exporters) -> None:
        targets = exporters.targets(200)
        pages = await _gathered(process, targets)
        assert len(pages) == len(exporters.asked) == 200
        for target in targets:
            page = pages[target.key]
            assert page is not None
            assert page.body == _page(target.base)
            assert 0.0 < page.duration_s < 50.0

    play(main)


def test_who_gives_none_or_is_slow_is_told_and_costs_nobody_else_anything(
    hasty_process: Prefetch,
) -> None:
    async def main(exporters: Exporters) -> None:
        targets = exporters.targets(60)
        exporters.silent = {"/7/metrics"}
        exporters.broken = {"/9/metrics"}
        closed = targets_of(["http://127.0.0.1:1/metrics"])
        pages = await _gathered(hasty_process, [*targets, *closed])
        without = {targets[7].key, targets[9].key, closed[0].key}
        assert {key for key, page in pages.items() if page is None} == without
        assert len(pages) == 61

    play(main)


def test_who_answers_does_not_wait_for_those_who_do_not(process: Prefetch) -> None:
    async def main(exporters: Exporters) -> None:
        targets = exporters.targets(150)
        exporters.silent = {f"/{number}/metrics" for number in range(130)}
        answered: set[str] = set()
        outcomes = process.outcomes(_PATIENT, targets)
        async with asyncio.timeout(50), contextlib.aclosing(outcomes):
            while len(answered) < 20:
                target, page = await anext(outcomes)
                assert page is not None
                answered.add(target.key)
        assert answered == {target.key for target in targets[130:]}

    play(main)


def test_nobody_is_waited_for_longer_than_is_configured(process: Prefetch) -> None:
    async def main(exporters: Exporters) -> None:
        exporters.silent = {"/0/metrics"}
        pages = await _gathered(process, exporters.targets(1), Scrape(timeout_s=0.1))
        assert list(pages.values()) == [None]

    play(main)


def test_no_more_is_asked_for_than_the_hub_takes(process: Prefetch) -> None:
    async def main(exporters: Exporters) -> None:
        exporters.padding = b"# " + b"x" * 200_000 + b"\n"
        outcomes = process.outcomes(_PATIENT, exporters.targets(1000))
        async with contextlib.aclosing(outcomes):
            await anext(outcomes)
            await asyncio.sleep(0.5)
            assert len(exporters.asked) < 1000

    play(main)


def test_a_target_is_told_how_long_it_may_take(process: Prefetch) -> None:
    async def main(exporters: Exporters) -> None:
        await _gathered(process, exporters.targets(1), Scrape(timeout_s=7.0))
        assert b"\r\nX-Prometheus-Scrape-Timeout-Seconds: 7\r\n" in exporters.heads[0]

    play(main)


def test_an_address_that_is_no_unicode_leaves_all_to_the_hub(process: Prefetch) -> None:
    async def main(exporters: Exporters) -> None:
        odd = msgspec.structs.replace(exporters.targets(1)[0], base="/\udcff")
        assert await _gathered(process, [odd]) == {}

    play(main)
    assert process._pid is None


def test_a_target_is_shown_what_is_its_own(process: Prefetch, tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("open sesame\n")
    basic = BasicAuth(username="hub", password_file=str(secret))

    async def main(exporters: Exporters) -> None:
        known, stranger = exporters.targets(2)
        known = msgspec.structs.replace(known, credentials=Credentials(basic_auth=basic))
        await _gathered(process, [known, stranger])
        told = {head.split()[1]: b"\r\nAuthorization: Basic" in head for head in exporters.heads}
        assert told == {b"/0/metrics": True, b"/1/metrics": False}

    play(main)


def test_a_process_that_is_killed_leaves_the_rest(process: Prefetch) -> None:
    async def main(exporters: Exporters) -> None:
        targets = exporters.targets(50)
        exporters.silent = {f"/{number}/metrics" for number in range(3, 50)}
        told = []
        async for outcome in process.outcomes(Scrape(), targets):
            told.append(outcome.target)
            if len(told) == 3:
                assert process._pid is not None
                os.kill(process._pid, signal.SIGKILL)
        assert sorted(told, key=targets.index) == targets[:3]

    play(main)
    process.close()


def test_a_process_that_is_stopped_leaves_the_rest(
    process: Prefetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefetch, "_SILENCE_S", 0.3)
    assert process._pid is not None
    os.kill(process._pid, signal.SIGSTOP)

    async def main(exporters: Exporters) -> None:
        assert await _gathered(process, exporters.targets(LEAST)) == {}

    play(main)


@pytest.mark.parametrize("stopped", [False, True])
def test_it_ends_with_the_hub_that_began_it(*, stopped: bool) -> None:
    program = """
import os, time
from accelwatch.fleet.follow import prefetch
os.sched_getaffinity = lambda _: {0, 1}
begun = prefetch.begin()
print(begun._pid, flush=True)
time.sleep(1000)
"""
    words = [sys.executable, "-c", program]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as hub:
        assert hub.stdout is not None
        pid = int(hub.stdout.readline())
        wait_until(lambda: _waits(pid))
        if stopped:
            os.kill(pid, signal.SIGSTOP)
        hub.kill()
    wait_until(lambda: not _runs(pid))


def _waits(pid: int) -> bool:
    """Whether it has come to its loop."""
    try:
        held = [str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:  # one that was just closed
        return False
    return "anon_inode:[eventpoll]" in held


def test_one_that_nobody_needs_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(prefetch, "_IDLE_S", 0.1)
    begun = prefetch.fork_prefetch()
    assert begun is not None
    pid = begun._pid
    assert pid is not None
    wait_until(lambda: not _runs(pid))
    begun.close()


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_it_is_killed_once(process: Prefetch, monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[int] = []
    kill = os.kill

    def noted(pid: int, number: int) -> None:
        killed.append(pid)
        kill(pid, number)

    monkeypatch.setattr(os, "kill", noted)
    process.close()
    process.close()
    assert len(killed) == 1  # its number may be somebody else's by now
    assert not Path(f"/proc/{killed[0]}").exists()


def test_on_one_processor_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3})
    assert prefetch.fork_prefetch() is None


def test_where_no_process_can_be_begun_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> int:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(os, "fork", refused)
    assert prefetch.fork_prefetch() is None


class Played:
    """What stands for the process: it has pages of these, and none of those, and then it ends."""

    def __init__(self, pages: Sequence[int] = (), none: Sequence[int] = ()) -> None:
        self.asked: list[Target] | None = None
        self.closed = False
        self.given = 0
        self._pages, self._none = pages, none

    async def outcomes(
        self, _scrape: Scrape, targets: Sequence[Target]
    ) -> AsyncGenerator[Outcome, None]:
        self.asked = list(targets)
        for number in self._pages:
            self.given += 1
            yield Outcome(targets[number], Prefetched(_page(targets[number].base), 1000.0))
        for number in self._none:
            yield Outcome(targets[number], None)

    def close(self) -> None:
        self.closed = True


class Heard:
    """Notes what became of whom."""

    def __init__(self) -> None:
        self.pages: dict[str, float] = {}
        self.streamed: set[str] = set()
        self.failures: set[str] = set()

    def started(self, target: Target, mode: str) -> None:
        if mode == "stream":
            self.streamed.add(target.key)

    def message(self, target: Target, message: Received, size: int) -> None:
        raise AssertionError(target)

    def exposed(self, target: Target, exposed: Exposed, duration_s: float) -> None:
        assert len(exposed.devices) == 1
        self.pages[target.key] = duration_s

    def failed(self, target: Target, fault: TargetFault) -> None:
        self.failures.add(target.key)


async def _followed(
    played: Played,
    targets: Sequence[Target],
    scrape: Scrape = _POLLED,
    breathe: Callable[[Client], Awaitable[None]] = lambda _: asyncio.sleep(0.005),
) -> Heard:
    """Follow until all were heard."""
    client = Client(scrape, BoundAccess(scrape))
    heard = Heard()
    followers = Followers(
        client,
        heard,
        foreign_reader,
        prefetch=played,  # type: ignore[arg-type]
        breathe=lambda: breathe(client),
    )
    followers.set_targets({target.key: target for target in targets})
    async with asyncio.timeout(60):
        while len(heard.pages) < len(targets):
            await asyncio.sleep(0.005)
    await followers.close()
    await client.close()
    return heard


def test_whose_page_is_there_is_not_asked_and_the_others_are() -> None:
    async def main(exporters: Exporters) -> None:
        targets = exporters.targets(LEAST)
        played = Played(pages=range(5, 50), none=range(50, 60))
        heard = await _followed(played, targets)
        assert played.closed
        assert played.asked == targets
        asked = {int(path.split("/")[1]) for path in exporters.asked}
        assert asked == set(range(5)) | set(range(50, LEAST))
        assert heard.pages[targets[5].key] >= 1000.0 > heard.pages[targets[0].key]

    play(main)


def test_a_page_that_is_there_is_read_whatever_others_have() -> None:
    async def main(exporters: Exporters) -> None:
        (target,) = exporters.targets(1)
        client, heard = Client(Scrape(), BoundAccess(Scrape())), Heard()
        assert not client.first_request.page
        page = Prefetched(_page(target.base), 7.0)
        follower = Follower(client, target, heard, foreign_reader, Rounds(), prefetched=page)
        following = asyncio.ensure_future(follower.run())
        async with asyncio.timeout(60):
            while not heard.pages:
                await asyncio.sleep(0.005)
        following.cancel()
        await asyncio.wait([following])
        assert not heard.streamed
        assert not exporters.asked

    play(main)


def test_few_targets_are_asked_by_the_hub() -> None:
    async def main(exporters: Exporters) -> None:
        played = Played(pages=[0])
        await _followed(played, exporters.targets(LEAST - 1))
        assert played.asked is None
        assert played.closed
        assert len(set(exporters.asked)) == LEAST - 1

    play(main)


async def _until_pages_are_asked_for(client: Client) -> None:
    while not client.requests_pages:
        await asyncio.sleep(0.001)


def test_only_once_pages_are_what_there_is_are_they_asked_for() -> None:
    async def main(exporters: Exporters) -> None:
        targets = exporters.targets(LEAST + 40)
        played = Played(pages=range(LEAST // 2))
        scrape = Scrape(interval_s=600.0)
        heard = await _followed(played, targets, scrape, _until_pages_are_asked_for)
        # The first few were asked for a stream; of them ten had none.
        assert played.asked == targets[STARTED_TOGETHER:]
        assert heard.streamed == {target.key for target in targets[:STARTED_TOGETHER]}

    play(main)


def test_where_streams_are_wanted_no_page_is_asked_for() -> None:
    async def main() -> None:
        played = Played()
        scrape = Scrape(mode="stream")
        client = Client(scrape, BoundAccess(scrape))
        for _ in range(10):
            client.first_request.record_outcome(streams=False)
        assert client.first_request.page
        assert not client.requests_pages
        followers = Followers(client, Heard(), foreign_reader, prefetch=played)  # type: ignore[arg-type]
        await followers.close()
        await client.close()
        assert played.closed

    asyncio.run(main())


def test_who_is_not_reached_over_plain_http_is_left_to_the_hub() -> None:
    async def main(exporters: Exporters) -> None:
        plain = exporters.targets(LEAST)
        secure = targets_of(["https://127.0.0.1:1"])

        class Never:
            async def run(self) -> None:
                await asyncio.sleep(1000)

        other = plain.pop()
        client = Client(_POLLED, BoundAccess(_POLLED))
        played, heard = Played(), Heard()
        followers = Followers(
            client,
            heard,
            foreign_reader,
            lambda target: Never() if target == other else None,
            prefetch=played,  # type: ignore[arg-type]
        )
        more = exporters.targets(1, begin=500)
        all_of_them = [*plain, other, *secure, *more]
        followers.set_targets({target.key: target for target in all_of_them})
        async with asyncio.timeout(60):
            while len(heard.pages) < LEAST:
                await asyncio.sleep(0.005)
        await followers.close()
        await client.close()
        assert played.asked == [*plain, *more]

    play(main)


def test_pages_that_nobody_has_read_yet_are_few() -> None:
    async def main(exporters: Exporters) -> None:
        client, heard = Client(_POLLED, BoundAccess(_POLLED)), Heard()
        targets = {target.key: target for target in exporters.targets(LEAST)}
        read = asyncio.Event()

        async def long_page() -> None:
            async with client.reading:
                await read.wait()

        others = [asyncio.create_task(long_page()) for _ in range(20)]
        await asyncio.sleep(0)
        played = Played(pages=range(LEAST))
        followers = Followers(client, heard, foreign_reader, prefetch=played)  # type: ignore[arg-type]
        followers.set_targets(targets)
        while played.given == 0:
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.1)
        assert played.given == 1
        assert not heard.pages
        read.set()
        await asyncio.gather(*others)
        async with asyncio.timeout(60):
            while len(heard.pages) < LEAST:
                await asyncio.sleep(0.005)
        await followers.close()
        await client.close()

    play(main)


def test_a_page_for_which_other_credentials_were_shown_is_not_taken() -> None:
    async def main(exporters: Exporters) -> None:
        targets = exporters.targets(LEAST)
        other = Credentials(credentials_over_http=True)
        changed = [msgspec.structs.replace(target, credentials=other) for target in targets]
        client = Client(_POLLED, BoundAccess(_POLLED))
        heard = Heard()

        class Changing(Played):
            async def outcomes(
                self, scrape: Scrape, asked: Sequence[Target]
            ) -> AsyncGenerator[Outcome, None]:
                followers.set_targets({target.key: target for target in changed})
                async for outcome in super().outcomes(scrape, asked):
                    yield outcome

        played = Changing(pages=range(LEAST))
        followers = Followers(client, heard, foreign_reader, prefetch=played)  # type: ignore[arg-type]
        followers.set_targets({target.key: target for target in targets})
        async with asyncio.timeout(60):
            while len(heard.pages) < LEAST:
                await asyncio.sleep(0.005)
        await followers.close()
        await client.close()
        assert len(set(exporters.asked)) == LEAST

    play(main)
