"""A backend's own events on their way, and a backend that hangs while it opens or looks."""

import threading
from asyncio import CancelledError
from collections.abc import Sequence
from contextlib import nullcontext
from queue import Empty

import pytest

from accelwatch.backend import Opened
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.backoff import Backoff
from accelwatch.base.clock import ManualClock, SystemClock
from accelwatch.node.sampler.protocol.settings import QuarantinedComponent
from accelwatch.node.sampler.stack.listener import Listener
from accelwatch.node.sampler.turns.messages import Admit, Batch, Inbox
from accelwatch.node.store.reports import BackendChanged, Called, Component, Cycle, Events, Returned
from accelwatch.schema.device import Device
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.snapshot import BackendState
from node.sampler.rig import Rig, Scripted
from support.processes.waiting import GUARD_S, wait_until


def event(number: int) -> ErrorEvent:
    return ErrorEvent(code=f"c{number}", category=Category.BUS, time=1.0, text="", source="s")


class Telling(Scripted):
    """Tells what a test puts in, once; waits for more without being a busy loop."""

    def __init__(self) -> None:
        super().__init__()
        self.pending: list[ErrorEvent | BaseException] = []
        self.waits: list[float] = []
        self.more = threading.Event()

    def wait_events(self, timeout_s: float) -> Sequence[ErrorEvent]:
        self.waits.append(timeout_s)
        self.more.wait(0.02)
        batch, self.pending = self.pending, []
        if batch and isinstance(batch[0], BaseException):
            raise batch[0]
        return [one for one in batch if isinstance(one, ErrorEvent)]


def events_of(rig: Rig) -> list[str]:
    return [
        one.code for report in rig.reports if isinstance(report, Events) for one in report.events
    ]


def announced(rig: Rig) -> list[Called]:
    return [call for call in rig.reports if isinstance(call, Called) and call.action == "events"]


def test_events_of_a_source_are_reported_and_its_thread_is_named() -> None:
    backend = Telling()
    backend.pending = [event(1), event(2)]
    rig = Rig(backend)
    rig.until(lambda: events_of(rig) == ["c1", "c2"])
    (call,) = announced(rig)
    (thread,) = (one for one in threading.enumerate() if one.ident == call.thread)
    assert (call.backend, call.slot) == ("scripted", "")
    assert (thread.name, thread.daemon) == ("scripted:events", True)
    assert rig.reports.index(call) < next(
        at for at, report in enumerate(rig.reports) if isinstance(report, Events)
    )
    backend.pending = [event(3)]
    rig.until(lambda: events_of(rig) == ["c1", "c2", "c3"])
    assert set(backend.waits) == {1.0}


@pytest.mark.parametrize("error", [SystemExit(3), CancelledError()])
def test_a_source_goes_on_whatever_it_raises(error: BaseException) -> None:
    backend, inbox = Telling(), Inbox()
    backend.pending = [error]
    listener = Listener("scripted", backend, inbox, SystemClock(), nullcontext())
    listener.start()
    wait_until(lambda: not backend.pending)
    backend.pending = [event(1)]
    batch = inbox.get(timeout=GUARD_S)
    assert isinstance(batch, Batch)
    assert batch.events == (event(1),)
    listener.stop()


def test_a_source_that_is_held_out_is_not_listened_to_until_it_is_let_in() -> None:
    part = Component("scripted", events=True)
    backend = Telling()
    rig = Rig(backend, quarantined=(QuarantinedComponent(component=part, reason="it crashed"),))
    rig.first_cycle()
    rig.tick()
    assert (announced(rig), backend.waits) == ([], [])
    rig.collector.inbox.put(Admit(component=part))
    backend.pending = [event(1)]
    rig.until(lambda: events_of(rig) == ["c1"])
    assert len(announced(rig)) == 1


def returned(rig: Rig) -> set[int]:
    return {report.call for report in rig.reports if isinstance(report, Returned)}


def test_a_source_is_out_until_its_wait_is_over_and_each_by_itself() -> None:
    """The thread of a source that is given up may get a number that another has later."""
    backend = Telling()
    rig = Rig(backend)
    rig.until(lambda: announced(rig))
    (before,) = announced(rig)
    rig.tick()
    assert before.call not in returned(rig)
    backend.discover_error = BackendUnavailable("unloaded", reason="driver_gone")
    rig.clock.advance(60.0)
    rig.until(lambda: before.call in returned(rig))
    backend.discover_error = None
    rig.clock.advance(60.0)
    rig.until(lambda: len(announced(rig)) == 2)
    after = announced(rig)[-1]
    assert after.call not in returned(rig)


def test_a_single_reading_does_not_listen() -> None:
    backend = Telling()
    rig = Rig(backend, one_shot=True)
    rig.first_cycle()
    assert (announced(rig), backend.waits) == ([], [])


def test_a_backend_without_a_source_is_not_listened_to() -> None:
    rig = Rig(Scripted())
    rig.first_cycle()
    assert announced(rig) == []


def test_a_flood_comes_in_batches_each_after_the_one_before_was_taken() -> None:
    backend, inbox = Telling(), Inbox()
    backend.pending = [event(number) for number in range(600)]
    listener = Listener("scripted", backend, inbox, SystemClock(), nullcontext())
    listener.start()
    sizes = []
    for _ in range(3):
        batch = inbox.get(timeout=GUARD_S)
        assert isinstance(batch, Batch)
        with pytest.raises(Empty):
            inbox.get_nowait()
        sizes.append((batch.backend, len(batch.events), batch.events[0].code))
        batch.accepted()
    listener.stop()
    assert sizes == [("scripted", 256, "c0"), ("scripted", 256, "c256"), ("scripted", 88, "c512")]


class Pauses(threading.Event):
    """Notes how long is waited for it, and does not wait."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.given.append(timeout)
        return self.is_set()


@pytest.mark.parametrize(("takes_s", "pauses"), [(0.0, [0.05] * 3), (1.0, [])])
def test_only_a_source_that_has_not_waited_is_paused(takes_s: float, pauses: list[float]) -> None:
    clock, stop, ended = ManualClock(), Pauses(), threading.Event()
    calls: list[float] = []

    class Source(Telling):
        def wait_events(self, timeout_s: float) -> Sequence[ErrorEvent]:
            calls.append(timeout_s)
            clock.advance(takes_s)
            if len(calls) == 3:
                stop.set()
                ended.set()
            return []

    listener = Listener("scripted", Source(), Inbox(), clock, nullcontext())
    listener._stop = stop
    listener.start()
    assert ended.wait(GUARD_S)
    wait_until(lambda: stop.given == pauses)


def test_a_source_that_fails_is_reported_once_and_queried_again(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accelwatch.node.sampler.stack.listener.Backoff", lambda: Backoff(0.01))
    backend, inbox = Telling(), Inbox()
    backend.pending = [OSError("lost")]
    listener = Listener("scripted", backend, inbox, SystemClock(), nullcontext())
    listener.start()
    wait_until(lambda: len(backend.waits) > 1)
    backend.pending = [event(1)]
    batch = inbox.get(timeout=GUARD_S)
    assert isinstance(batch, Batch)
    batch.accepted()
    listener.stop()
    assert [record.getMessage() for record in caplog.records] == [
        "event source fails error=OSError('lost') backend=scripted"
    ]


def statuses(rig: Rig) -> list[tuple[BackendState, str, str]]:
    return [
        (report.status.state, report.status.reason, report.status.message)
        for report in rig.reports
        if isinstance(report, BackendChanged)
    ]


class Hanging(Scripted):
    """Hangs where a test says."""

    def __init__(self) -> None:
        super().__init__()
        self.gates["open"] = threading.Event()
        self.gates["discover"] = threading.Event()
        self.gates["discover"].set()

    def open(self) -> Opened:
        self.gates["open"].wait(GUARD_S)
        return super().open()

    def discover(self) -> Sequence[Device]:
        self.gates["discover"].wait(GUARD_S)
        return super().discover()


def test_a_backend_whose_opening_hangs_is_reported_once_and_used_when_it_is_open() -> None:
    backend = Hanging()
    rig = Rig(backend, open_timeout_s=2.0)
    rig.collector.step(0.01)
    rig.clock.advance(2.5)
    rig.until(lambda: statuses(rig))
    rig.clock.advance(5.0)
    rig.collector.step(0.01)
    assert statuses(rig) == [
        (BackendState.UNAVAILABLE, "timeout", "opening did not come back within 2.5 s")
    ]
    backend.gates["open"].set()
    rig.first_cycle()
    assert statuses(rig)[-1][0] is BackendState.OK
    assert backend.opened == 1


def test_a_look_for_devices_that_hangs_is_in_the_result_of_a_cycle() -> None:
    backend = Hanging()
    backend.gates["open"].set()
    rig = Rig(backend, open_timeout_s=2.0)
    rig.first_cycle()
    backend.gates["discover"].clear()
    for _ in range(5):
        rig.tick(3.0)
    rig.until(lambda: "timeout" in rig.cycles())
    (message, *_) = (
        report.message
        for report in rig.reports
        if isinstance(report, Cycle) and report.result == "timeout"
    )
    assert message == "looking for devices does not come back"
    backend.gates["discover"].set()
