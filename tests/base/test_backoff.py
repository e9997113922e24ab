"""Pauses between attempts: exact ones for this machine, spread ones for clients of a server."""

import random

import pytest

from accelwatch.base.backoff import Backoff, SpreadBackoff, doubled


@pytest.mark.parametrize(
    ("failures", "pause"), [(1, 0.5), (2, 1.0), (5, 8.0), (6, 9.0), (10**6, 9.0)]
)
def test_a_pause_doubles_with_each_failure_up_to_its_limit(failures: int, pause: float) -> None:
    assert doubled(0.5, failures, 9.0) == pause


def test_pauses_double_up_to_the_limit() -> None:
    backoff = Backoff(1.0, 60.0)
    assert [backoff.failed(0.0) for _ in range(8)] == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]


def test_free_failures_cost_no_pause() -> None:
    backoff = Backoff(5.0, 300.0, free=1)
    assert backoff.failed(10.0) == 0.0
    assert backoff.ready(10.0)
    assert backoff.failed(11.0) == 5.0
    assert not backoff.ready(15.9)
    assert backoff.ready(16.0)


def test_a_success_forgets_the_failures() -> None:
    backoff = Backoff()
    backoff.failed(0.0)
    backoff.failed(0.0)
    backoff.succeeded()
    assert backoff.ready(0.0)
    assert backoff.failed(0.0) == 1.0


def test_thousands_of_failures_do_not_overflow() -> None:
    backoff = Backoff()
    for _ in range(5000):
        pause = backoff.failed(0.0)
    assert pause == 60.0


class Edge(random.Random):
    """Draws an edge of what is asked for."""

    def __init__(self, *, upper: bool) -> None:
        super().__init__()
        self._upper = upper

    def uniform(self, a: float, b: float) -> float:
        return b if self._upper else a


@pytest.mark.parametrize(("upper", "share"), [(False, 0.5), (True, 1.0)])
def test_spread_waits_are_between_half_and_all_of_the_pause(upper: bool, share: float) -> None:
    backoff = SpreadBackoff(8.0, Edge(upper=upper))
    waits = [backoff.next() for _ in range(7)]
    assert waits == [share * whole for whole in (0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0)]


def test_spread_waits_are_drawn_anew() -> None:
    backoff = SpreadBackoff(0.5)
    assert len({backoff.next() for _ in range(20)}) > 1


def test_a_spread_wait_starts_over_after_a_success() -> None:
    backoff = SpreadBackoff(8.0, Edge(upper=True))
    assert [backoff.next(), backoff.next()] == [0.5, 1.0]
    backoff.succeeded()
    assert backoff.next() == 0.5


@pytest.mark.parametrize(("upper", "wait"), [(False, 60.0), (True, 61.0)])
def test_what_the_server_requests_is_the_least(upper: bool, wait: float) -> None:
    assert SpreadBackoff(8.0, Edge(upper=upper)).next(60.0) == wait


def test_a_server_cannot_shorten_the_wait() -> None:
    backoff = SpreadBackoff(8.0, Edge(upper=True))
    waits = [backoff.next(0.0) for _ in range(5)]
    assert waits[1:] == [1.0, 2.0, 4.0, 8.0]
