"""Calls are noted before they are made and after; turns are made one after another."""

import threading
from collections.abc import Iterator

import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.node.sampler.turns.calls import Calls
from accelwatch.node.sampler.turns.gate import PATIENCE_S
from accelwatch.node.sampler.turns.messages import Answers, CallResult, Inbox
from accelwatch.node.sampler.turns.worker import Worker
from accelwatch.node.store.reports import (
    Called,
    Noted,
    Returned,
)
from support.processes.waiting import GUARD_S, wait_until


def test_calls_are_numbered_and_reported_before_and_after() -> None:
    notes: list[Noted] = []
    inbox = Inbox()
    calls = Calls(notes.append, ManualClock(), inbox)
    worker = Worker("w", ManualClock(), inbox)
    answered: list[CallResult] = []
    number = calls.start(worker, lambda: 7, answered.append, backend="x", action="read", slot="s:0")
    ident = worker.ident
    answer = inbox.get(timeout=GUARD_S)
    assert isinstance(answer, CallResult)
    calls.deliver(answer)
    worker.stop()
    assert [one.result for one in answered] == [7]
    assert notes == [
        Called(call=number, backend="x", action="read", slot="s:0", thread=ident),
        Returned(call=number),
    ]
    assert calls.start(worker, lambda: 8, answered.append, backend="x", action="open") == number + 1
    assert notes[-1] == Called(call=number + 1, backend="x", action="open", slot="", thread=ident)


class Turns:
    """Turns that wait for each other, each held back until it may return, and what was told of them."""

    def __init__(self) -> None:
        self.notes: list[Noted] = []
        self.answered: list[int] = []
        self.clock, self.inbox = ManualClock(), Inbox()
        self.calls = Calls(self._note, self.clock, self.inbox)
        # Cleared: the next to tell of a call that has come back is held until this is set.
        self.telling = threading.Event()
        self.telling.set()
        self.workers: list[Worker] = []
        self.held: dict[int, threading.Event] = {}

    def _note(self, report: Noted) -> None:
        self.notes.append(report)
        if isinstance(report, Returned):
            self.telling.wait(GUARD_S)

    def start_turn(self, *, in_turn: bool = True, held: bool = True) -> int:
        go = threading.Event()
        worker = Worker("w", self.clock, self.inbox)
        self.workers.append(worker)
        number = self.calls.start(
            worker,
            lambda: go.wait(GUARD_S),
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
        return [report.call for report in self.notes if isinstance(report, Called)]

    def threads(self) -> list[int]:
        return [report.thread for report in self.notes if isinstance(report, Called)]

    def deliver(self) -> None:
        answer = self.inbox.get(timeout=GUARD_S)
        if isinstance(answer, Answers):
            self.calls.finish_turns(answer.of)
        else:
            assert isinstance(answer, CallResult)
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
    first, second = turns.start_turn(), turns.start_turn()
    turns.until(first)
    assert turns.calls.waiting
    turns.held[first].set()
    turns.until(first, second)
    assert (turns.answered, turns.calls.waiting) == ([], False)
    turns.held[second].set()
    turns.deliver()
    assert turns.answered == [first, second]
    third = turns.start_turn(held=False)
    turns.deliver()
    assert (turns.made, turns.answered) == ([first, second, third], [first, second, third])
    assert len(set(turns.threads())) == 1


def test_each_turn_is_reported_before_and_after_it_is_made(turns: Turns) -> None:
    first, second = turns.start_turn(held=False), turns.start_turn(held=False)
    wait_until(lambda: len(turns.notes) == 4)
    assert [(type(report), report.call) for report in turns.notes if hasattr(report, "call")] == [
        (Called, first),
        (Returned, first),
        (Called, second),
        (Returned, second),
    ]


def test_other_calls_wait_for_no_turn_and_no_turn_for_them(turns: Turns) -> None:
    first = turns.start_turn()
    turns.until(first)
    other, second = turns.start_turn(in_turn=False), turns.start_turn()
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
    first = turns.start_turn()
    turns.until(first)
    turns.clock.advance(1.0)
    assert not turns.calls.is_stalled
    turns.held[first].set()
    turns.deliver()
    second = turns.start_turn()
    turns.until(first, second)
    turns.start_turn()
    turns.clock.advance(PATIENCE_S / 2)
    assert not turns.calls.is_stalled
    turns.clock.advance(PATIENCE_S)
    assert turns.calls.is_stalled
    turns.calls.poll()
    assert not turns.calls.is_stalled


def test_turns_that_must_not_wait_any_longer_are_started_together(turns: Turns) -> None:
    numbers = [turns.start_turn() for _ in range(3)]
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
    first, second = turns.start_turn(), turns.start_turn()
    turns.until(first)
    turns.calls.poll()
    assert turns.made == [first]
    turns.calls.poll()
    assert turns.made == [first, second]


def test_each_turn_may_take_as_long_as_the_one_before(turns: Turns) -> None:
    first, second, _ = turns.start_turn(), turns.start_turn(), turns.start_turn()
    turns.until(first)
    turns.clock.advance(PATIENCE_S * 0.75)
    turns.held[first].set()
    turns.until(first, second)
    turns.clock.advance(PATIENCE_S * 0.75)
    assert not turns.calls.is_stalled


def test_who_gets_on_between_two_looks_is_waited_for(turns: Turns) -> None:
    first, second, _ = turns.start_turn(), turns.start_turn(), turns.start_turn()
    turns.until(first)
    turns.calls.poll()
    turns.held[first].set()
    turns.until(first, second)
    turns.calls.poll()
    assert turns.calls.waiting


def test_between_two_turns_nobody_takes_long(turns: Turns) -> None:
    turns.telling.clear()
    first = turns.start_turn(held=False)
    wait_until(lambda: Returned(call=first) in turns.notes)
    second = turns.start_turn(held=False)
    turns.calls.poll()
    turns.calls.poll()
    assert (turns.made, turns.calls.waiting) == ([first], True)
    turns.telling.set()
    turns.until(first, second)


def test_the_thread_is_kept_when_its_turns_are_taken_back_between_two(turns: Turns) -> None:
    turns.telling.clear()
    first = turns.start_turn(held=False)
    wait_until(lambda: Returned(call=first) in turns.notes)
    turns.start_turn(held=False)
    turns.calls.hurry()
    third = turns.start_turn(held=False)
    turns.telling.set()
    wait_until(lambda: third in turns.made)
    assert turns.threads()[turns.made.index(third)] == turns.threads()[0]


def test_the_thread_is_kept_that_nobody_waits_for(turns: Turns) -> None:
    first = turns.start_turn()
    turns.until(first)
    turns.calls.hurry()
    turns.held[first].set()
    turns.deliver()
    second = turns.start_turn(held=False)
    turns.until(first, second)
    assert len(set(turns.threads())) == 1


def test_what_took_long_is_taken_in_as_soon_as_it_has_come(turns: Turns) -> None:
    slow, _ = turns.start_turn(), turns.start_turn()
    turns.until(slow)
    turns.calls.hurry()
    turns.held[slow].set()

    def taken_in() -> bool:
        turns.calls.collect_answers()
        return turns.answered == [slow]

    wait_until(taken_in)
    turns.deliver()
    thread = turns.threads()[0]
    wait_until(lambda: thread not in {one.ident for one in threading.enumerate()})


def test_what_has_come_is_taken_in_while_another_turn_is_made(turns: Turns) -> None:
    first, second = turns.start_turn(held=False), turns.start_turn()
    turns.until(first, second)
    turns.calls.poll()
    assert turns.answered == [first]


def test_turns_do_not_wait_for_one_that_never_comes_back(turns: Turns) -> None:
    hung = turns.start_turn()
    turns.until(hung)
    turns.start_turn(held=False)
    turns.calls.hurry()
    turns.deliver()
    third, fourth = turns.start_turn(), turns.start_turn(held=False)
    turns.held[third].set()  # not before: alone it would be all that there is to deliver
    turns.deliver()
    assert turns.answered[1:] == [third, fourth]
    assert turns.threads()[2] == turns.threads()[3] != turns.threads()[0]


def test_a_thread_ends_whose_turn_took_long_once_it_has_come_back(turns: Turns) -> None:
    slow, other = turns.start_turn(), turns.start_turn(held=False)
    turns.until(slow)
    turns.calls.hurry()
    turns.deliver()
    turns.held[slow].set()
    turns.deliver()
    assert turns.answered == [other, slow]
    thread = turns.threads()[0]
    wait_until(lambda: thread not in {one.ident for one in threading.enumerate()})


def test_what_is_known_is_reported_before_what_waits_is_started_all_at_once() -> None:
    turns = Turns()
    flushed: list[int] = []
    turns.calls._flush = lambda: flushed.append(len(turns.made))
    first, _ = turns.start_turn(), turns.start_turn()
    turns.until(first)
    flushed.clear()
    turns.calls.hurry()
    turns.calls.hurry()
    assert flushed == [1]
    turns.end()


def test_what_is_known_is_reported_before_a_call_is_made() -> None:
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
        calls.start(
            worker, lambda: None, lambda _: None, backend="x", action="read", in_turn=in_turn
        )
        inbox.get(timeout=GUARD_S)
    calls.close()
    worker.stop()
    assert order == ["flush", "Called", "flush", "Called", "Returned"]
