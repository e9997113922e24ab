"""The owner of a collector on an event loop."""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.node.sampler import supervising
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.node.sampler.supervising import supervise
from accelwatch.node.sampler.supervisor import Limits
from accelwatch.node.store.reports import (
    CollectorExited,
    Report,
)
from node.sampler.fakes import FAKE
from support.processes.waiting import GUARD_S


class NotingLoop(asyncio.SelectorEventLoop):
    """Which descriptors are watched, and which ever were."""

    def __init__(self) -> None:
        super().__init__()
        self.watched: list[int] = []
        self.unwatched: list[int] = []

    def add_reader(self, fd: Any, *callback: Any) -> None:  # type: ignore[override]
        self.watched.append(fd)
        super().add_reader(fd, *callback)

    def remove_reader(self, fd: Any) -> bool:
        self.unwatched.append(fd)
        return super().remove_reader(fd)


def test_on_an_event_loop_it_keeps_to_its_clock_and_limits() -> None:
    """A real child, which is too big at once; what it takes is read when it comes."""
    settings = CollectSettings(backends=(FAKE,), options={FAKE: {}}, root="/nonexistent")
    clock, limits = ManualClock(), Limits(resident_bytes=1)
    ended: list[CollectorExited] = []

    async def run() -> None:
        done = asyncio.Event()

        def sink(report: Report) -> None:
            if isinstance(report, CollectorExited):
                ended.append(report)
                done.set()

        task = asyncio.create_task(supervise(settings, sink, clock=clock, limits=limits))
        async with asyncio.timeout(GUARD_S):
            await done.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with asyncio.Runner(loop_factory=NotingLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, NotingLoop)
        own_pipes = len(loop.watched)
        runner.run(run())
        assert len(loop.watched) > own_pipes
        assert loop.watched[own_pipes:] == loop.unwatched
    assert [(end.code, end.wall) for end in ended[:1]] == [("memory", clock.wall())]


class Patient:
    """A supervisor that tells what a test has it tell, and would wait so long between two checks."""

    stopped = True

    def __init__(
        self, *_: object, watch: Callable[[int], None], patience_s: float, **__: object
    ) -> None:
        self.patience_s = patience_s
        self.descriptor: int | None
        self.descriptor, self._report_pipe = os.pipe()
        os.set_blocking(self.descriptor, False)
        self._watch = watch
        self.checked = 0
        self.ended = False

    def check(self) -> None:
        self.checked += 1
        assert self.checked < 100, "it is looked at without end"
        if self.checked == 1 and self.descriptor is not None:
            self._watch(self.descriptor)
        elif self.descriptor is not None:
            with contextlib.suppress(BlockingIOError):
                os.read(self.descriptor, 1)
        if self.ended:
            self.descriptor = None

    def send(self) -> None:
        os.write(self._report_pipe, b"x")

    def request_stop(self) -> None:
        pass

    def receive(self) -> None:
        pass

    def stop(self) -> None:
        os.close(self._report_pipe)


Watch = Callable[[Patient], Awaitable[None]]


def watched(monkeypatch: pytest.MonkeyPatch, watch: Watch, patience_s: float = 3600.0) -> None:
    """Have a patient supervisor looked after on an event loop while a test watches it."""
    built: list[Patient] = []

    def build(*words: Any, **more: Any) -> Patient:
        built.append(Patient(*words, patience_s=patience_s, **more))
        return built[0]

    monkeypatch.setattr(supervising, "Supervisor", build)

    async def run() -> None:
        task = asyncio.create_task(supervise(CollectSettings(), lambda _: None))
        async with asyncio.timeout(GUARD_S):
            while not built:
                await asyncio.sleep(0)
            reading = built[0].descriptor
            assert reading is not None
            await watch(built[0])
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        asyncio.get_running_loop().remove_reader(reading)
        os.close(reading)

    asyncio.run(run())


async def until_checked(patient: Patient, times: int) -> None:
    while patient.checked < times:
        await asyncio.sleep(0)


def test_on_an_event_loop_a_report_is_looked_at_when_it_comes_and_an_end_without_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def watch(patient: Patient) -> None:
        await until_checked(patient, 1)
        for checks in (2, 3):
            patient.send()
            await until_checked(patient, checks)
        patient.ended = True
        patient.send()
        await until_checked(patient, 5)

    watched(monkeypatch, watch)


def test_on_an_event_loop_what_is_silent_is_looked_at_when_the_patience_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watched(monkeypatch, lambda patient: until_checked(patient, 4), patience_s=0.001)
