"""Reads that several callers share, on an event loop of the test's own."""

import asyncio
from typing import cast

import pytest

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.base.clock import SystemClock
from accelwatch_slurm.commands.commands import Commands
from accelwatch_slurm.commands.options import SlurmOptions
from accelwatch_slurm.commands.reading import Cluster, Reader
from accelwatch_slurm.commands.sharing import Rush, SharedRead
from accelwatch_slurm.observing.observer import Observer
from accelwatch_slurm.texts.reservation_text import SlurmReservation
from support.processes.idle_loop import IdleLoop


def test_who_asks_during_a_read_shares_the_next() -> None:
    async def play() -> None:
        reads: list[asyncio.Event] = []

        async def read() -> int:
            reads.append(asyncio.Event())
            number = len(reads)
            await reads[-1].wait()
            return number

        shared = SharedRead(read, Rush())
        first = asyncio.create_task(shared.get())
        await asyncio.sleep(0)
        others = [asyncio.create_task(shared.get()) for _ in range(5)]
        await asyncio.sleep(0)
        reads[0].set()
        assert await first == 1
        while len(reads) < 2:
            await asyncio.sleep(0)
        late = asyncio.create_task(shared.get())
        await asyncio.sleep(0)
        reads[1].set()
        assert await asyncio.gather(*others) == [2] * 5
        while len(reads) < 3:
            await asyncio.sleep(0)
        reads[2].set()
        assert await late == 3

    asyncio.run(play())


def test_a_failure_is_reported_to_all_who_waited_and_the_next_reads_again() -> None:
    answers: list[Exception | str] = [ActionUnavailableError("away"), "well"]

    async def read() -> str:
        await asyncio.sleep(0)
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def play() -> None:
        shared = SharedRead(read, Rush())
        with pytest.raises(ActionUnavailableError, match="away"):
            await shared.get()
        assert await shared.get() == "well"

    asyncio.run(play())


def test_a_reader_that_is_cancelled_leaves_the_others_theirs() -> None:
    calls: list[int] = []

    async def read() -> int:
        calls.append(1)
        await asyncio.sleep(0 if len(calls) > 1 else 3600)
        return len(calls)

    async def play() -> None:
        shared = SharedRead(read, Rush())
        first = asyncio.create_task(shared.get())
        await asyncio.sleep(0)
        second = asyncio.create_task(shared.get())
        await asyncio.sleep(0)
        first.cancel()
        assert await second == 2

    asyncio.run(play())


def test_in_a_rush_looks_gather() -> None:
    calls: list[int] = []

    async def read() -> int:
        calls.append(1)
        return len(calls)

    async def play() -> None:
        rush = Rush()
        shared = SharedRead(read, rush)
        for _ in range(31):
            rush.note()
        assert not rush.is_on
        rush.note()
        assert rush.is_on

        async def late(turns: int) -> int:
            for _ in range(turns):
                await asyncio.sleep(0)
            return await shared.get()

        assert await asyncio.gather(*(late(turns) for turns in range(20))) == [1] * 20

    with asyncio.Runner(loop_factory=IdleLoop) as runner:
        runner.run(play())


class _Reader:
    """Shows many reservations; it is counted how many of their jobs are asked for together."""

    def __init__(self) -> None:
        self.running = self.most = 0

    async def reservations(self) -> dict[str, SlurmReservation]:
        names = [f"accelwatch-job-{number}" for number in range(8)]
        return {name: SlurmReservation(name=name, nodes=("n1",)) for name in names}

    async def cluster(self) -> Cluster:
        return Cluster(name="lab", version="22.05", message_timeout_s=1.0, kill_wait_s=1.0)

    async def job_line(self, _: str) -> str:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        return ""


def test_the_jobs_of_all_reservations_are_requested_together() -> None:
    """One after the other, those of a hundred moves would take longer than a poll may."""
    reader = _Reader()
    observer = Observer(SlurmOptions(), cast(Commands, None), cast(Reader, reader), SystemClock())
    kept = asyncio.run(observer.reservations())
    assert [one.job.id for one in kept] == [str(number) for number in range(8)]
    assert reader.most == 8
