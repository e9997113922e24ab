"""A slow source: one answer for all, its age, its pace, and what its failures cost."""

import contextlib
import threading

import pytest

from accelwatch.backend.kit.polled import Polled
from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import AccelwatchError, DeviceTimeout, ReadError

WAIT_S = 30.0


class Source:
    """Answers with the number of the call; may fail, be slow by the clock, or be held."""

    def __init__(self, clock: ManualClock) -> None:
        self.calls = 0
        self.takes_s = 0.0
        self.error: Exception | None = None
        self.free = threading.Event()
        self.free.set()
        self._clock = clock

    def __call__(self) -> int:
        self.calls += 1
        self.free.wait(WAIT_S)
        self._clock.advance(self.takes_s)
        if self.error is not None:
            raise self.error
        return self.calls


class Bench:
    """A source asked every 2 s."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.source = Source(self.clock)
        self.polled = Polled(self.source, self.clock, pace_s=2.0, patience_s=WAIT_S)

    def document(self) -> int:
        return self.polled.answer(WAIT_S).document


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_an_answer_serves_until_the_next_one_is_due(bench: Bench) -> None:
    assert bench.document() == 1
    bench.clock.advance(1.9)
    assert bench.document() == 1
    assert bench.polled.answer(WAIT_S).age_s == pytest.approx(1.9)
    bench.clock.advance(0.1)
    assert bench.document() == 2


def test_a_source_that_is_slow_is_queried_less_often(bench: Bench) -> None:
    bench.source.takes_s = 1.5
    bench.document()
    assert bench.polled.answer(WAIT_S).pace_s == 3.0
    bench.clock.advance(2.9)
    assert bench.document() == 1
    bench.clock.advance(0.1)
    assert bench.document() == 2


def test_while_it_is_queried_the_answer_before_is_given_with_its_age() -> None:
    clock = ManualClock()
    source = Source(clock)
    polled = Polled(source, clock, pace_s=2.0, patience_s=0.0)
    polled.answer(WAIT_S)
    clock.advance(2.5)
    source.free.clear()
    answers = [polled.answer(WAIT_S) for _ in range(3)]
    assert [(answer.document, answer.age_s) for answer in answers] == [(1, 2.5)] * 3
    assert source.calls == 2
    source.free.set()


def test_before_the_first_answer_it_is_waited_for_and_queried_once() -> None:
    clock = ManualClock()
    source = Source(clock)
    source.free.clear()
    polled = Polled(source, clock)
    for _ in range(2):
        with pytest.raises(DeviceTimeout, match="not answered yet"):
            polled.answer(0.0)
    source.free.set()
    assert polled.answer(WAIT_S).document == 1
    assert source.calls == 1


def test_one_failure_is_bridged_and_the_second_is_reported(bench: Bench) -> None:
    bench.document()
    bench.source.error = ReadError("the daemon is away")
    bench.clock.advance(2.0)
    assert bench.document() == 1
    assert bench.source.calls == 2
    with pytest.raises(ReadError, match="the daemon is away"):
        bench.document()
    assert bench.source.calls == 3


def test_a_first_failure_without_an_answer_is_reported(bench: Bench) -> None:
    bench.source.error = ReadError("the daemon is away")
    with pytest.raises(ReadError, match="the daemon is away"):
        bench.document()


def test_who_fails_is_queried_again_at_once_and_then_at_growing_intervals(bench: Bench) -> None:
    bench.source.error = ReadError("away")
    calls = []
    for seconds in (0.0, 0.0, 1.9, 0.1, 3.9, 0.1):
        bench.clock.advance(seconds)
        with pytest.raises(ReadError):
            bench.document()
        calls.append(bench.source.calls)
    assert calls == [1, 2, 2, 3, 3, 4]


def test_a_success_ends_the_growing_of_intervals(bench: Bench) -> None:
    away = ReadError("away")
    calls = []
    for seconds, error in (
        (0, away),
        (0, away),
        (2, None),
        (2, away),
        (0, away),
        (1.9, away),
        (0.1, None),
    ):
        bench.clock.advance(seconds)
        bench.source.error = error
        with contextlib.suppress(ReadError):
            bench.document()
        calls.append(bench.source.calls)
    assert calls == [1, 2, 3, 4, 5, 5, 6]


def test_a_bug_in_a_parser_is_an_error_of_the_source(bench: Bench) -> None:
    bench.source.error = ValueError("no such column")
    with pytest.raises(AccelwatchError, match="ValueError: no such column"):
        bench.document()


def test_a_closed_one_is_queried_no_more(bench: Bench) -> None:
    bench.document()
    bench.polled.close()
    bench.clock.advance(10.0)
    assert bench.document() == 1
    assert bench.source.calls == 1
