"""The first time counts at once, each further time later, and calm makes it the first time again."""

import pytest

from accelwatch.fleet.evidence import damping as damping_module
from accelwatch.fleet.evidence.damping import CALM_S, FIRST_S, LONGEST_S, Damping


def test_what_never_went_counts_at_once() -> None:
    assert Damping().counts("a", 0.0)


@pytest.mark.parametrize(
    ("ends", "wait_s"), [(1, FIRST_S), (2, 2 * FIRST_S), (3, 4 * FIRST_S), (9, LONGEST_S)]
)
def test_each_further_time_has_to_last_twice_as_long(ends: int, wait_s: float) -> None:
    damping = Damping()
    for _ in range(ends):
        damping.resolved("a", 0.0)
    assert not damping.counts("a", 100.0)
    assert not damping.counts("a", 100.0 + wait_s - 0.1)
    assert damping.counts("a", 100.0 + wait_s)
    assert damping.counts("b", 100.0)


def test_what_goes_while_it_waits_starts_to_wait_again() -> None:
    damping = Damping()
    damping.resolved("a", 0.0)
    assert not damping.counts("a", 0.0)
    assert damping.waiting() == ["a"]
    damping.resolved("a", 10.0)
    assert damping.waiting() == []
    assert not damping.counts("a", 20.0)
    assert not damping.counts("a", 20.0 + FIRST_S)
    assert damping.counts("a", 20.0 + 2 * FIRST_S)
    assert (damping.times("a"), damping.flapping) == (2, ["a"])


def test_calm_makes_it_the_first_time_again() -> None:
    damping = Damping()
    damping.resolved("a", 0.0)
    damping.forget_calm(CALM_S - 0.1)
    assert not damping.counts("a", CALM_S)
    damping.forget_calm(CALM_S)
    assert damping.counts("a", CALM_S)
    assert damping.times("a") == 0


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(damping_module, "MOST", 2)
    damping = Damping()
    for key in "abc":
        damping.resolved(key, 0.0)
    assert len(damping) == 2
    damping.resolved("a", 0.0)
    assert damping.times("a") == 2
