"""Bringing a backend up, what each way of failing is called, and how a cycle went."""

import threading
from asyncio import CancelledError
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

from accelwatch.backend import Check, Context, Opened, Probe
from accelwatch.clock import ManualClock
from accelwatch.errors import BackendUnavailable, PluginError
from accelwatch.sampler.calls import Calls, CollectorContext
from accelwatch.sampler.collector import Collector
from accelwatch.sampler.contract import ContractError
from accelwatch.sampler.cycle import CycleTracker
from accelwatch.sampler.gate import PATIENCE_S
from accelwatch.sampler.opening import (
    not_there,
    open_backend,
    status_of,
    timed_out,
    unheard,
)
from accelwatch.sampler.settings import CollectSettings, HeldOut
from accelwatch.sampler.worker import Answer, Answers, Inbox, Worker
from accelwatch.schema.absence import Absence
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.snapshot import BackendState, BackendStatus
from accelwatch.store.reports import (
    BackendFound,
    Called,
    Cycle,
    Done,
    Failure,
    Heartbeat,
    Noted,
    Part,
    Returned,
    Written,
)
from sampler.rig import STEPS, Rig, Scripted, waited
from waiting import wait_until

EVENT = ErrorEvent(code="c", category=Category.BUS, time=1.0, text="", source="s")


class Telling(Scripted):
    def wait_events(self, timeout_s: float) -> Sequence[ErrorEvent]:
        assert timeout_s == 0.0
        return [EVENT]


def context(*, one_shot: bool = False) -> Context:
    return Context(
        root=Path("/"), clock=ManualClock(), environ={}, state_dir=None, one_shot=one_shot
    )


def test_a_backend_that_came_up() -> None:
    backend = Scripted(2)
    found = open_backend("x", backend, context())
    assert found.backend is backend
    assert [device.id for device in found.devices] == ["s:0", "s:1"]
    assert found.status == BackendStatus(
        name="x", vendor="scripted", state=BackendState.OK, source="script", devices=2
    )
    assert (backend.opened, backend.closed) == (1, 0)


def test_versions_of_a_driver_are_told() -> None:
    class Versioned(Scripted):
        def open(self) -> Opened:
            return Opened(source="s", versions={"driver": "1"})

    assert open_backend("x", Versioned(), context()).status.versions == {"driver": "1"}


def test_a_backend_that_cannot_look_for_devices_is_closed() -> None:
    backend = Scripted()
    backend.discover_error = OSError("no bus")
    with pytest.raises(OSError, match="no bus"):
        open_backend("x", backend, context())
    assert (backend.opened, backend.closed) == (1, 1)


@pytest.mark.parametrize(
    ("checks", "message", "remedy"),
    [
        ((), "", ""),
        ((Check(subject="lib", ok=True, found="x", remedy="r"),), "", ""),
        (
            (
                Check(subject="lib", ok=False),
                Check(subject="node", ok=False, found="no access", remedy="join the group"),
                Check(subject="bus", ok=False, remedy="later"),
            ),
            "lib: not found; node: no access; bus: not found",
            "join the group",
        ),
    ],
)
def test_a_backend_with_nothing_to_do_here(
    checks: tuple[Check, ...], message: str, remedy: str
) -> None:
    class Away(Scripted):
        def probe(self) -> Probe:
            return Probe(present=False, checks=checks)

    found = open_backend("x", Away(), context())
    assert (found.backend, found.devices) == (None, ())
    assert found.status == BackendStatus(
        name="x",
        vendor="scripted",
        state=BackendState.ABSENT,
        reason="absent",
        message=message,
        remedy=remedy,
    )


@pytest.mark.parametrize(
    ("backend", "one_shot", "events"),
    [
        (Telling(0), True, (EVENT,)),
        (Telling(1), True, ()),
        (Telling(0), False, ()),
        (Scripted(0), True, ()),
    ],
)
def test_a_single_reading_hears_events_of_a_source_without_devices(
    backend: Scripted, one_shot: bool, events: tuple[ErrorEvent, ...]
) -> None:
    assert open_backend("x", backend, context(one_shot=one_shot)).events == events


@pytest.mark.parametrize(
    ("error", "state", "reason", "message", "remedy"),
    [
        (
            BackendUnavailable("unloaded", reason="driver_gone", remedy="modprobe"),
            BackendState.UNAVAILABLE,
            "driver_gone",
            "unloaded",
            "modprobe",
        ),
        (PluginError("no such"), BackendState.FAILED, "plugin", "no such", ""),
        (ContractError("nothing"), BackendState.FAILED, "contract", "nothing", ""),
        (KeyError("k"), BackendState.FAILED, "error", "KeyError('k')", ""),
        (ValueError("x" * 999), BackendState.FAILED, "error", f"ValueError('{'x' * 488}", ""),
    ],
)
def test_the_status_of_a_backend_that_raised(
    error: Exception, state: BackendState, reason: str, message: str, remedy: str
) -> None:
    assert status_of("x", "v", error) == BackendStatus(
        name="x", vendor="v", state=state, reason=reason, message=message, remedy=remedy
    )


def test_the_status_of_a_backend_that_hangs_or_is_not_there_or_was_not_heard() -> None:
    assert timed_out("x", "v", 2.5) == BackendStatus(
        name="x",
        vendor="v",
        state=BackendState.UNAVAILABLE,
        reason="timeout",
        message="opening did not come back within 2.5 s",
        remedy="give it more time (--timeout), or look for a driver that hangs in the kernel log",
    )
    assert not_there("x", "no PCI function") == BackendStatus(
        name="x", vendor="", state=BackendState.ABSENT, reason="absent", message="no PCI function"
    )
    late = Failure(absence=Absence.TIMEOUT, code="timeout", message="m")
    assert unheard("x", late, 5.0) == BackendStatus(
        name="x",
        vendor="",
        state=BackendState.UNAVAILABLE,
        reason="timeout",
        message="nothing answered within 5 s",
        remedy="give it more time (--timeout)",
    )
    died = Failure(absence=Absence.ERROR, code="SIGSEGV", message="died")
    assert unheard("x", died, 5.0) == BackendStatus(
        name="x", vendor="", state=BackendState.FAILED, reason="SIGSEGV", message="died"
    )


class Tracked:
    def __init__(self) -> None:
        self.told: list[Written] = []
        self.clock = ManualClock()
        self.cycle = CycleTracker(
            "x",
            CollectorContext(
                settings=CollectSettings(),
                clock=self.clock,
                calls=Calls(lambda _: None, self.clock, Inbox()),
                emit=self.told.append,
                inbox=Inbox(),
            ),
        )
        self.cycle.begin(self.clock.monotonic())


def failure(absence: Absence, message: str = "") -> Failure:
    return Failure(absence=absence, code="c", message=message)


def test_a_cycle_is_over_when_nobody_is_waited_for() -> None:
    rig = Tracked()
    for turn in "ab":
        rig.cycle.wait_for(turn)
    rig.clock.advance(0.25)
    rig.cycle.ended("a", None)
    assert (rig.cycle.close_if_over(), rig.cycle.open, rig.told) == (False, True, [])
    rig.cycle.ended("b", None)
    assert (rig.cycle.close_if_over(), rig.cycle.open) == (True, False)
    expected = Cycle(backend="x", result="ok", duration_s=0.25, wall=rig.clock.wall(), message="")
    assert rig.told == [expected]
    assert rig.cycle.close_if_over()
    assert rig.told == [expected]


@pytest.mark.parametrize(
    ("failures", "result", "message"),
    [
        ([Absence.LOST, Absence.PERMISSION, Absence.SUSPENDED, Absence.NOT_COLLECTED], "ok", ""),
        ([Absence.ERROR, Absence.ERROR], "error", "0"),
        ([Absence.ERROR, Absence.TIMEOUT, Absence.ERROR], "timeout", "1"),
        ([Absence.TIMEOUT, Absence.TIMEOUT], "timeout", "0"),
    ],
)
def test_the_worst_failure_is_the_result_of_a_cycle(
    failures: list[Absence], result: str, message: str
) -> None:
    rig = Tracked()
    for number, absence in enumerate(failures):
        rig.cycle.note(failure(absence, str(number)))
    rig.cycle.close_if_over()
    (cycle,) = rig.told
    assert isinstance(cycle, Cycle)
    assert (cycle.result, cycle.message) == (result, message)


def test_a_failure_does_not_outlast_its_cycle() -> None:
    rig = Tracked()
    rig.cycle.note(failure(Absence.TIMEOUT, "late"))
    rig.cycle.close_if_over()
    rig.clock.advance(1.0)
    rig.cycle.begin(rig.clock.monotonic())
    rig.clock.advance(0.5)
    rig.cycle.close_if_over()
    last = rig.told[-1]
    assert isinstance(last, Cycle)
    assert (last.result, last.message, last.duration_s) == ("ok", "", 0.5)


def test_a_tick_that_came_too_early_is_told_as_skipped() -> None:
    rig = Tracked()
    rig.cycle.skipped()
    assert rig.told == [
        Cycle(
            backend="x",
            result="skipped",
            duration_s=0.0,
            wall=rig.clock.wall(),
            message="a device is still being read",
        )
    ]
    assert rig.cycle.open


def test_an_answer_tells_what_came_and_when() -> None:
    clock, inbox = ManualClock(), Inbox()
    worker = Worker("w", clock, inbox)

    def job() -> str:
        clock.advance(0.5)
        return "done"

    def fail() -> None:
        raise OSError("lost")

    def leave() -> None:
        raise SystemExit(3)

    def cancel() -> None:
        raise CancelledError

    for number, work in enumerate((job, fail, leave, cancel)):
        worker.submit(number, work)
    answers = [inbox.get(timeout=10) for _ in range(4)]
    worker.stop()
    first, second, third, fourth = (answer for answer in answers if isinstance(answer, Answer))
    assert first == Answer(
        call=0, result="done", moment=clock.monotonic(), wall=clock.wall(), duration_s=0.5
    )
    assert (second.call, second.result, repr(second.error)) == (1, None, "OSError('lost')")
    assert str(third.error) == "the backend tried to end the process: SystemExit(3)"
    assert str(fourth.error) == "the backend raised CancelledError()"
    (thread,) = (thread for thread in threading.enumerate() if thread.ident == worker.ident)
    assert (thread.name, thread.daemon) == ("w", True)
    thread.join(10)
    assert not thread.is_alive()


def test_a_worker_that_rests_has_no_thread_until_the_next_call() -> None:
    inbox = Inbox()
    worker = Worker("resting", ManualClock(), inbox)
    worker.submit(0, threading.current_thread)
    first = inbox.get(timeout=10)
    assert isinstance(first, Answer)
    assert isinstance(first.result, threading.Thread)
    worker.rest()
    first.result.join(10)
    assert not first.result.is_alive()
    worker.submit(1, threading.current_thread)
    second = inbox.get(timeout=10)
    assert isinstance(second, Answer)
    assert isinstance(second.result, threading.Thread)
    assert (second.call, second.result.ident) == (1, worker.ident)
    worker.stop()
    second.result.join(10)
    assert not second.result.is_alive()


def test_a_worker_that_rests_in_a_call_tells_its_answer_all_the_same() -> None:
    inbox, go_on = Inbox(), threading.Event()
    worker = Worker("resting", ManualClock(), inbox)
    worker.submit(0, lambda: go_on.wait(10))
    worker.rest()
    worker.submit(1, lambda: "next")
    assert _answered(inbox) == (1, "next")
    go_on.set()
    assert _answered(inbox) == (0, True)
    worker.stop()


def _answered(inbox: Inbox) -> tuple[int, object]:
    answer = inbox.get(timeout=10)
    assert isinstance(answer, Answer)
    return answer.call, answer.result


def test_calls_are_numbered_and_told_before_and_after() -> None:
    told: list[Noted] = []
    inbox = Inbox()
    calls = Calls(told.append, ManualClock(), inbox)
    worker = Worker("w", ManualClock(), inbox)
    answered: list[Answer] = []
    number = calls.begin(worker, lambda: 7, answered.append, backend="x", action="read", slot="s:0")
    ident = worker.ident
    answer = inbox.get(timeout=10)
    assert isinstance(answer, Answer)
    calls.deliver(answer)
    worker.stop()
    assert [one.result for one in answered] == [7]
    assert told == [
        Called(call=number, backend="x", action="read", slot="s:0", thread=ident),
        Returned(call=number),
    ]
    assert calls.begin(worker, lambda: 8, answered.append, backend="x", action="open") == number + 1
    assert told[-1] == Called(call=number + 1, backend="x", action="open", slot="", thread=ident)


class Turns:
    """Turns that wait for each other, each held back until it may return, and what was told of them."""

    def __init__(self) -> None:
        self.told: list[Noted] = []
        self.answered: list[int] = []
        self.clock, self.inbox = ManualClock(), Inbox()
        self.calls = Calls(self._tell, self.clock, self.inbox)
        self.telling = threading.Event()
        """Cleared: the next to tell of a call that has come back is held until this is set."""
        self.telling.set()
        self.workers: list[Worker] = []
        self.held: dict[int, threading.Event] = {}

    def _tell(self, report: Noted) -> None:
        self.told.append(report)
        if isinstance(report, Returned):
            self.telling.wait(30.0)

    def begin(self, *, in_turn: bool = True, held: bool = True) -> int:
        go = threading.Event()
        worker = Worker("w", self.clock, self.inbox)
        self.workers.append(worker)
        number = self.calls.begin(
            worker,
            lambda: go.wait(30.0),
            lambda answer: self.answered.append(answer.call),
            backend="x",
            action="read",
            in_turn=in_turn,
        )
        self.held[number] = go
        if not held:
            go.set()
        return number

    @property
    def made(self) -> list[int]:
        return [report.call for report in self.told if isinstance(report, Called)]

    def threads(self) -> list[int]:
        return [report.thread for report in self.told if isinstance(report, Called)]

    def deliver(self) -> None:
        answer = self.inbox.get(timeout=10)
        if isinstance(answer, Answers):
            self.calls.come(answer.of)
        else:
            assert isinstance(answer, Answer)
            self.calls.deliver(answer)

    def until(self, *made: int) -> None:
        wait_until(lambda: self.made == [*made])

    def end(self) -> None:
        self.telling.set()
        self.calls.hurry()
        for go in self.held.values():
            go.set()
        for worker in self.workers:
            worker.stop()
        self.calls.close()


@pytest.fixture
def turns() -> Iterator[Turns]:
    given = Turns()
    yield given
    given.end()


def test_a_turn_is_made_when_the_one_before_has_come_back(turns: Turns) -> None:
    first, second = turns.begin(), turns.begin()
    turns.until(first)
    assert turns.calls.waiting
    turns.held[first].set()
    turns.until(first, second)
    assert (turns.answered, turns.calls.waiting) == ([], False)
    turns.held[second].set()
    turns.deliver()
    assert turns.answered == [first, second]
    third = turns.begin(held=False)
    turns.deliver()
    assert (turns.made, turns.answered) == ([first, second, third], [first, second, third])
    assert len(set(turns.threads())) == 1


def test_each_turn_is_told_before_and_after_it_is_made(turns: Turns) -> None:
    first, second = turns.begin(held=False), turns.begin(held=False)
    wait_until(lambda: len(turns.told) == 4)
    assert [(type(report), report.call) for report in turns.told if hasattr(report, "call")] == [
        (Called, first),
        (Returned, first),
        (Called, second),
        (Returned, second),
    ]


def test_other_calls_wait_for_no_turn_and_no_turn_for_them(turns: Turns) -> None:
    first = turns.begin()
    turns.until(first)
    other, second = turns.begin(in_turn=False), turns.begin()
    assert turns.made == [first, other]
    turns.held[first].set()
    turns.until(first, other, second)
    turns.held[second].set()
    turns.deliver()
    assert turns.answered == [first, second]
    turns.held[other].set()
    turns.deliver()
    assert turns.answered == [first, second, other]


def test_turns_are_held_up_by_one_that_takes_long(turns: Turns) -> None:
    first = turns.begin()
    turns.until(first)
    turns.clock.advance(1.0)
    assert not turns.calls.held_up
    turns.held[first].set()
    turns.deliver()
    second = turns.begin()
    turns.until(first, second)
    turns.begin()
    turns.clock.advance(PATIENCE_S / 2)
    assert not turns.calls.held_up
    turns.clock.advance(PATIENCE_S)
    assert turns.calls.held_up
    turns.calls.look()
    assert not turns.calls.held_up


def test_turns_that_must_not_wait_any_longer_are_begun_together(turns: Turns) -> None:
    numbers = [turns.begin() for _ in range(3)]
    turns.until(numbers[0])
    turns.calls.hurry()
    assert (turns.made, turns.calls.waiting) == (numbers, False)
    assert len(set(turns.threads())) == 3
    for number in numbers[1:]:
        turns.held[number].set()
        turns.deliver()
    assert turns.answered == numbers[1:]
    turns.held[numbers[0]].set()
    turns.deliver()
    assert turns.answered == [*numbers[1:], numbers[0]]


def test_who_does_not_get_on_between_two_looks_is_waited_for_no_longer(turns: Turns) -> None:
    first, second = turns.begin(), turns.begin()
    turns.until(first)
    turns.calls.look()
    assert turns.made == [first]
    turns.calls.look()
    assert turns.made == [first, second]


def test_each_turn_may_take_as_long_as_the_one_before(turns: Turns) -> None:
    first, second, _ = turns.begin(), turns.begin(), turns.begin()
    turns.until(first)
    turns.clock.advance(PATIENCE_S * 0.75)
    turns.held[first].set()
    turns.until(first, second)
    turns.clock.advance(PATIENCE_S * 0.75)
    assert not turns.calls.held_up


def test_who_gets_on_between_two_looks_is_waited_for(turns: Turns) -> None:
    first, second, _ = turns.begin(), turns.begin(), turns.begin()
    turns.until(first)
    turns.calls.look()
    turns.held[first].set()
    turns.until(first, second)
    turns.calls.look()
    assert turns.calls.waiting


def test_between_two_turns_nobody_takes_long(turns: Turns) -> None:
    turns.telling.clear()
    first = turns.begin(held=False)
    wait_until(lambda: Returned(call=first) in turns.told)
    second = turns.begin(held=False)
    turns.calls.look()
    turns.calls.look()
    assert (turns.made, turns.calls.waiting) == ([first], True)
    turns.telling.set()
    turns.until(first, second)


def test_the_thread_is_kept_when_its_turns_are_taken_back_between_two(turns: Turns) -> None:
    turns.telling.clear()
    first = turns.begin(held=False)
    wait_until(lambda: Returned(call=first) in turns.told)
    turns.begin(held=False)
    turns.calls.hurry()
    third = turns.begin(held=False)
    turns.telling.set()
    wait_until(lambda: third in turns.made)
    assert turns.threads()[turns.made.index(third)] == turns.threads()[0]


def test_the_thread_is_kept_that_nobody_waits_for(turns: Turns) -> None:
    first = turns.begin()
    turns.until(first)
    turns.calls.hurry()
    turns.held[first].set()
    turns.deliver()
    second = turns.begin(held=False)
    turns.until(first, second)
    assert len(set(turns.threads())) == 1


def test_what_took_long_is_taken_in_as_soon_as_it_has_come(turns: Turns) -> None:
    slow, _ = turns.begin(), turns.begin()
    turns.until(slow)
    turns.calls.hurry()
    turns.held[slow].set()

    def taken_in() -> bool:
        turns.calls.take_in()
        return turns.answered == [slow]

    wait_until(taken_in)
    turns.deliver()
    thread = turns.threads()[0]
    wait_until(lambda: thread not in {one.ident for one in threading.enumerate()})


def test_what_has_come_is_taken_in_while_another_turn_is_made(turns: Turns) -> None:
    first, second = turns.begin(held=False), turns.begin()
    turns.until(first, second)
    turns.calls.look()
    assert turns.answered == [first]


def test_turns_do_not_wait_for_one_that_never_comes_back(turns: Turns) -> None:
    hung = turns.begin()
    turns.until(hung)
    turns.begin(held=False)
    turns.calls.hurry()
    turns.deliver()
    third, fourth = turns.begin(held=False), turns.begin(held=False)
    turns.deliver()
    assert turns.answered[1:] == [third, fourth]
    assert turns.threads()[2] == turns.threads()[3] != turns.threads()[0]


def test_a_thread_ends_whose_turn_took_long_once_it_has_come_back(turns: Turns) -> None:
    slow, other = turns.begin(), turns.begin(held=False)
    turns.until(slow)
    turns.calls.hurry()
    turns.deliver()
    turns.held[slow].set()
    turns.deliver()
    assert turns.answered == [other, slow]
    thread = turns.threads()[0]
    wait_until(lambda: thread not in {one.ident for one in threading.enumerate()})


def test_what_is_known_is_told_before_what_waits_is_begun_all_at_once() -> None:
    turns = Turns()
    flushed: list[int] = []
    turns.calls._flush = lambda: flushed.append(len(turns.made))
    first, _ = turns.begin(), turns.begin()
    turns.until(first)
    flushed.clear()
    turns.calls.hurry()
    turns.calls.hurry()
    assert flushed == [1]
    turns.end()


def test_what_is_known_is_told_before_a_call_is_made() -> None:
    """A driver that holds the interpreter for ever leaves no time for it."""
    order: list[str] = []
    inbox = Inbox()
    calls = Calls(
        lambda report: order.append(type(report).__name__),
        ManualClock(),
        inbox,
        lambda: order.append("flush"),
    )
    worker = Worker("w", ManualClock(), inbox)
    for in_turn in (False, True):
        calls.begin(
            worker, lambda: None, lambda _: None, backend="x", action="read", in_turn=in_turn
        )
        inbox.get(timeout=10)
    calls.close()
    worker.stop()
    assert order == ["flush", "Called", "flush", "Called", "Returned"]


def opened_with(**settings: Any) -> Context:
    """What a backend is given by a collector of these settings."""
    seen: list[Context] = []

    class Seeing(Rig):
        def _build(self, context: Context) -> Scripted:
            seen.append(context)
            return super()._build(context)

    Seeing(Scripted(), **settings).until(lambda: seen)
    return seen[0]


def test_a_backend_gets_what_the_settings_say() -> None:
    options = {"scripted": {"a": 1}, "other": {"b": 2}}
    kept = opened_with(root="/somewhere", state_dir="/state", wake_suspended=True, options=options)
    assert (kept.root, kept.state_dir) == (Path("/somewhere"), Path("/state"))
    assert (kept.wake_suspended, kept.one_shot, kept.options) == (True, False, {"a": 1})
    plain = opened_with(state_dir=None)
    assert (plain.state_dir, plain.wake_suspended, plain.options) == (None, False, {})


def test_a_single_reading_keeps_nothing() -> None:
    single = opened_with(state_dir="/state", one_shot=True)
    assert (single.state_dir, single.one_shot) == (None, True)


class Absent(Rig):
    """A collector that knows before that its backend has nothing to do."""

    absent: ClassVar[Mapping[str, str]] = {"scripted": "no PCI function"}

    def __init__(self, backend: Scripted) -> None:
        super().__init__(backend, held_out=(HeldOut(part=Part("scripted"), reason="crashed"),))
        self.told.clear()
        self.collector.start(absent=self.absent)


def test_a_backend_known_to_be_absent_is_told_and_not_opened() -> None:
    rig = Absent(Scripted())
    assert rig.told == [BackendFound(status=not_there("scripted", "no PCI function"))]
    for _ in range(3):
        rig.collector.step(0.0)
    assert rig.backend.opened == 0


class NotYet(Rig):
    """A collector that goes on, told before that its backend has nothing to do yet."""

    def __init__(self, backend: Scripted, **more: Any) -> None:
        self.why = {"scripted": "no PCI function"}
        super().__init__(backend, absent=lambda name: self.why.get(name, ""), **more)

    def _start(self, held_out: tuple[HeldOut, ...]) -> None:
        self.collector.start(held_out, absent=dict(self.why))


def test_what_was_absent_at_the_start_is_looked_for_a_little_later() -> None:
    rig = NotYet(Scripted())
    assert rig.told == [BackendFound(status=not_there("scripted", "no PCI function"))]
    rig.why.clear()
    rig.clock.advance(1.9)
    rig.collector.step(0.0)
    assert rig.loaded == 0
    rig.clock.advance(0.2)
    rig.until(rig.outcomes)
    assert rig.loaded == 1


def test_what_was_absent_and_is_held_out_is_left_alone() -> None:
    rig = NotYet(Scripted(), held_out=(HeldOut(part=Part("scripted"), reason="crashed"),))
    rig.why.clear()
    rig.clock.advance(3.0)
    for _ in range(3):
        rig.collector.step(0.0)
    assert rig.loaded == 0


def test_a_single_reading_does_not_wait_for_what_is_absent() -> None:
    rig = NotYet(Scripted(), one_shot=True)
    rig.until(lambda: rig.of(Done))
    rig.clock.advance(3.0)
    rig.collector.step(0.0)
    assert rig.loaded == 0


@pytest.mark.parametrize(
    "names", [("host", "kernel_log", "nvidia"), ("nvidia", "host", "kernel_log")]
)
def test_accelerators_are_brought_up_first(names: tuple[str, ...]) -> None:
    order = Order(names, one_shot=True)
    order.collector.start()
    assert order.begun == ["nvidia", "host", "kernel_log"]
    order.go.set()
    order.collector.close()


class Order:
    """In which order backends are begun; an accelerator's reading waits until it is let go."""

    def __init__(self, names: tuple[str, ...], *, one_shot: bool = False) -> None:
        self.begun: list[str] = []
        self.told: list[str] = []
        self.clock = ManualClock()
        self.slow = Scripted()
        self.go = self.slow.gates["s:0"] = threading.Event()
        built = {name: self.slow if name == "nvidia" else Scripted() for name in names}
        self.collector = Collector(
            CollectSettings(backends=names, one_shot=one_shot, timeout_s=60.0),
            {name: partial(_always, backend) for name, backend in built.items()},
            self._hear,
            self.clock,
            note=self._hear,
            environ={},
        )

    def _hear(self, report: Written | Noted) -> None:
        if isinstance(report, Called) and report.action == "open":
            self.begun.append(report.backend)
        elif isinstance(report, Cycle):
            self.told.append(report.backend)

    def until(self, condition: Callable[[], object]) -> None:
        for _ in range(STEPS):
            if condition():
                return
            self.collector.step(0.01)
        raise AssertionError(f"did not come true; begun: {self.begun}, told: {self.told}")


def _always(backend: Scripted) -> Callable[[Context], Scripted]:
    return lambda _: backend


@pytest.fixture
def order() -> Iterator[Order]:
    given = Order(("host", "kernel_log", "nvidia"))
    given.collector.start()
    yield given
    given.go.set()
    given.collector.close()


def test_the_rest_is_begun_when_the_accelerators_have_been_told(order: Order) -> None:
    order.until(lambda: order.slow.reads)
    assert order.begun == ["nvidia"]
    order.go.set()
    order.until(lambda: len(order.told) == 3)
    assert order.begun == ["nvidia", "host", "kernel_log"]
    assert order.told[0] == "nvidia"


def test_the_rest_does_not_stand_back_for_long(order: Order) -> None:
    order.until(lambda: order.slow.reads)
    order.clock.advance(0.24)
    order.collector.step(0.0)
    assert order.begun == ["nvidia"]
    order.clock.advance(0.02)
    order.until(lambda: len(order.told) == 2)
    assert order.begun == ["nvidia", "host", "kernel_log"]


def test_the_loop_wakes_for_the_rest(order: Order) -> None:
    order.until(lambda: order.slow.reads)
    order.clock.advance(0.1)
    assert waited(order.collector) == [pytest.approx(0.15)]


def test_without_an_accelerator_the_rest_is_begun_at_once() -> None:
    order = Order(("host", "kernel_log"))
    order.collector.start()
    assert order.begun == ["host", "kernel_log"]
    order.collector.close()


def test_of_the_rest_what_is_held_out_is_left_alone() -> None:
    order = Order(("host", "kernel_log"))
    order.collector.start((HeldOut(part=Part("host")),))
    assert order.begun == ["kernel_log"]
    order.collector.close()


def test_a_heartbeat_comes_every_two_seconds_but_not_in_a_single_reading() -> None:
    rig = Rig(Scripted())
    rig.first_cycle()
    beats = len(rig.of(Heartbeat))
    for _ in range(8):
        rig.clock.advance(0.5)
        rig.collector.step(0.0)
    assert len(rig.of(Heartbeat)) == beats + 2
    beat = rig.of(Heartbeat)[-1]
    assert isinstance(beat, Heartbeat)
    assert beat.cpu_s > 0
    assert beat.resident_bytes > 1 << 20
    single = Rig(Scripted(), one_shot=True)
    single.until(lambda: single.of(Done))
    assert single.of(Heartbeat) == []
    assert single.told[-1] == Done()
