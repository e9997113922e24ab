"""Many targets that fail are one line of the log."""

import logging
from collections.abc import Callable

import pytest

from accelwatch.fleet.follow.failures.failure_log import FIRST_S, LONGEST_S, FailureLog
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.target import Target

REFUSED = TargetFault(Reason.CONNECT, "cannot connect: Connection refused")
LATE = TargetFault(Reason.TIMEOUT, "no answer in time")


class Bench:
    """A log whose waits end when the test ends them."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        self._caplog = caplog
        self.waits: list[float] = []
        self._due: list[Callable[[], None]] = []
        self.log = FailureLog(self._call_later)

    def _call_later(self, delay_s: float, action: Callable[[], None]) -> None:
        self.waits.append(delay_s)
        self._due.append(action)

    def fail(self, first: int, count: int, fault: TargetFault = REFUSED) -> "Bench":
        for number in range(first, first + count):
            self.log.failed(target(number), fault)
        return self

    def recover(self, first: int, count: int) -> "Bench":
        for number in range(first, first + count):
            self.log.recovered(target(number))
        return self

    def lines(self) -> list[str]:
        """What is logged when the waits are over."""
        self._caplog.clear()
        due, self._due = self._due, []
        for action in due:
            action()
        return [record.getMessage() for record in self._caplog.records]


@pytest.fixture
def bench(caplog: pytest.LogCaptureFixture) -> Bench:
    return Bench(caplog)


def target(number: int) -> Target:
    return Target(node=f"n{number:03d}", address=f"n{number:03d}:9877", scheme="http")


def test_800_targets_that_fail_are_one_line(bench: Bench) -> None:
    bench.fail(1, 798).fail(799, 2, LATE)
    assert bench.lines() == [
        "targets fail count=800 nodes=n001,n002,n003,n004,n005,n006,n007,n008,... 792 more:"
        " cannot connect: Connection refused (798), no answer in time (2)"
    ]


@pytest.mark.parametrize(("count", "lines"), [(3, 3), (4, 1)])
def test_a_few_have_a_line_each(bench: Bench, count: int, lines: int) -> None:
    assert len(bench.fail(1, count).lines()) == lines
    assert len(bench.recover(1, count).lines()) == lines


def test_one_target_is_logged_with_its_address_and_reason(bench: Bench) -> None:
    assert bench.fail(7, 1).lines() == [
        "a target fails node=n007 target=n007:9877 reason=connect: cannot connect: Connection refused"
    ]
    assert bench.recover(7, 1).lines() == ["a target is back node=n007"]


def test_it_is_logged_once_for_each_reason(bench: Bench) -> None:
    assert len(bench.fail(1, 1).fail(1, 1).lines()) == 1
    assert bench.fail(1, 1).lines() == []
    assert len(bench.fail(1, 1, LATE).lines()) == 1


def test_the_last_reason_within_a_wait_counts(bench: Bench) -> None:
    (line,) = bench.fail(1, 5, LATE).fail(1, 5).lines()
    assert line.endswith(": cannot connect: Connection refused (5)")


def test_another_reason_of_one_of_many_is_no_line(bench: Bench) -> None:
    bench.fail(1, 800).lines()
    assert bench.fail(1, 800, LATE).lines() == []


def test_that_many_are_back_is_one_line(bench: Bench) -> None:
    bench.fail(1, 800).lines()
    (line,) = bench.recover(1, 800).lines()
    assert line.startswith("targets are back count=800 nodes=n001,")
    assert len(bench.fail(1, 800).lines()) == 1


def test_what_was_back_before_it_was_logged_is_not_logged(bench: Bench) -> None:
    assert bench.fail(1, 5).recover(1, 5).lines() == []


def test_what_fails_again_before_it_was_logged_to_be_back_is_not_back(bench: Bench) -> None:
    bench.fail(1, 1).lines()
    assert bench.recover(1, 1).fail(1, 1).lines() == []


def test_while_many_fail_lines_become_rare(bench: Bench) -> None:
    for at in range(7):
        bench.fail(100 * at, 100).lines()
    assert bench.waits == [FIRST_S, 10.0, 20.0, 40.0, LONGEST_S, LONGEST_S, LONGEST_S]
    bench.fail(900, 1).lines()
    bench.fail(901, 1).lines()
    assert bench.waits[-1] == FIRST_S


def test_who_is_no_target_any_more_is_not_logged(bench: Bench) -> None:
    bench.fail(1, 1)
    bench.log.forget(target(1))
    assert bench.lines() == []
    bench.fail(2, 1).lines()
    bench.log.forget(target(2))
    assert bench.recover(2, 1).lines() == []
    assert len(bench.fail(2, 1).lines()) == 1
