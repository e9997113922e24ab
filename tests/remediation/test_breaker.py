"""The breaker: what opens it, what it stops, how it closes."""

from collections.abc import Callable

import msgspec
import pytest

from accelwatch.remediation.policy.guards.denial import PERMIT, Denial, DenialKind
from accelwatch.remediation.policy.guards.limits.breaker import (
    BreakerState,
    BreakerStatus,
    advanced,
    breached,
    failed,
    forgotten,
    may_start,
    overridden,
    reset,
    start_trial,
    stormed,
    trial_over,
)
from accelwatch.remediation.policy.guards.order import Waiting, in_order, urgency
from accelwatch.remediation.settings import Breaker

LIMITS = Breaker()
CLOSED, OPEN, HALF_OPEN = BreakerStatus.CLOSED, BreakerStatus.OPEN, BreakerStatus.HALF_OPEN

Event = Callable[[BreakerState, float], BreakerState]


def breach(state: BreakerState, now: float) -> BreakerState:
    return breached(state, f"i{now}", now, now, LIMITS)


def failure(state: BreakerState, now: float) -> BreakerState:
    return failed(state, now, LIMITS)


def override(state: BreakerState, now: float) -> BreakerState:
    return overridden(state, now, LIMITS)


def opened() -> BreakerState:
    return override(override(BreakerState(), 10.0), 20.0)


def half_open() -> BreakerState:
    return advanced(opened(), 20.0 + 1800.0, LIMITS)


@pytest.mark.parametrize(
    ("event", "many", "window"),
    [(breach, 2, 3600.0), (failure, 3, 600.0), (override, 2, 3600.0)],
)
def test_it_opens_by_so_many_within_so_long(event: Event, many: int, window: float) -> None:
    state = BreakerState()
    times = [100.0 + at for at in range(many)]
    for now in times[:-1]:
        state = event(state, now)
        assert state.standing is CLOSED
    just = event(state, 100.0 + window - 0.5)
    assert (just.standing, just.since) == (OPEN, 100.0 + window - 0.5)
    assert just.why
    late = event(state, 100.0 + window)
    assert late.standing is (OPEN if many > 3 else CLOSED)


def test_events_of_other_kinds_do_not_add_up() -> None:
    state = override(breach(failure(failure(BreakerState(), 1.0), 2.0), 3.0), 4.0)
    assert state.standing is CLOSED


def test_an_incident_that_asks_again_and_again_is_one_breach() -> None:
    state = BreakerState()
    for now in (1.0, 2.0, 5000.0, 9000.0):
        state = breached(state, "i1", 0.5, now, LIMITS)
    assert state == BreakerState(breaches={"i1": 1.0})


def test_an_incident_that_is_over_and_comes_again_is_news() -> None:
    state = breached(BreakerState(), "i1", 0.5, 1.0, LIMITS)
    state = breached(forgotten(state, "i1"), "i1", 0.5, 7200.0, LIMITS)
    assert state.breaches == {"i1": 7200.0}
    assert forgotten(state, "i1").breaches == {}


def test_a_storm_opens_it_once() -> None:
    state = stormed(BreakerState(), ("s1",), 5.0)
    assert (state.standing, state.since) == (OPEN, 5.0)
    assert "s1" in state.why
    assert stormed(state, ("s1",), 50.0) == state
    assert stormed(state, ("s1", "s2"), 60.0).since == 60.0
    assert stormed(BreakerState(), (), 5.0).standing is CLOSED


def test_it_stays_open_while_a_storm_goes_on() -> None:
    state = stormed(BreakerState(), ("s1",), 0.0)
    answer = may_start(state, "i1", LIMITS)
    assert isinstance(answer, Denial)
    assert answer.until is None
    assert advanced(state, 9999.0, LIMITS) is state
    over = stormed(state, (), 9999.0)
    assert advanced(over, 9999.0, LIMITS).standing is HALF_OPEN


def test_open_it_denies_and_says_why_and_until_when() -> None:
    answer = may_start(opened(), "i1", LIMITS)
    assert isinstance(answer, Denial)
    assert (answer.why, answer.until) == (DenialKind.BREAKER, 1820.0)
    assert "people undid 2 actions" in answer.text
    assert "breaker reset" in answer.text


def test_closed_it_lets_everything_through() -> None:
    assert may_start(BreakerState(), "i1", LIMITS) == PERMIT
    assert start_trial(BreakerState(), "i1") == BreakerState()
    assert advanced(BreakerState(), 1e9, LIMITS) == BreakerState()


def test_after_half_an_hour_one_incident_is_tried() -> None:
    assert advanced(opened(), 1819.9, LIMITS).standing is OPEN
    state = half_open()
    assert (state.standing, state.since) == (HALF_OPEN, 1820.0)
    assert may_start(state, "i1", LIMITS) == PERMIT
    state = start_trial(state, "i1")
    assert may_start(state, "i1", LIMITS) == PERMIT
    assert start_trial(state, "i2").trial == "i1"
    answer = may_start(state, "i2", LIMITS)
    assert isinstance(answer, Denial)
    assert (answer.why, "i1 is tried first" in answer.text) == (DenialKind.BREAKER, True)


def test_a_trial_that_goes_well_closes_it() -> None:
    state = trial_over(start_trial(half_open(), "i1"), "i1", well=True, now=2000.0)
    assert (state.standing, state.since, state.overrides) == (CLOSED, 2000.0, ())


def test_a_trial_that_does_not_opens_it_again() -> None:
    state = trial_over(start_trial(half_open(), "i1"), "i1", well=False, now=2000.0)
    assert (state.standing, state.since, state.trial) == (OPEN, 2000.0, "")


@pytest.mark.parametrize("state", [BreakerState(), opened(), start_trial(half_open(), "i1")])
def test_the_end_of_anything_else_is_no_trial(state: BreakerState) -> None:
    for well in (True, False):
        assert trial_over(state, "i2", well=well, now=2000.0) == state


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (breach, "there was no budget for i9000.0 either"),
        (failure, "the action that was tried failed"),
        (override, "a person undid the trial"),
    ],
)
def test_half_open_one_thing_that_goes_wrong_is_enough(event: Event, why: str) -> None:
    state = event(half_open(), 9000.0)
    assert (state.standing, state.since, state.why) == (OPEN, 9000.0, why)


def test_half_open_an_incident_that_was_known_to_wait_is_nothing_new() -> None:
    waiting = breached(BreakerState(), "old", 0.0, 1.0, LIMITS)
    assert waiting.breaches == {"old": 1.0}
    state = advanced(override(override(waiting, 10.0), 20.0), 1820.0, LIMITS)
    assert breached(state, "old", 1821.0, 1900.0, LIMITS).standing is HALF_OPEN
    assert breached(state, "unheard", 1820.0, 1900.0, LIMITS).standing is HALF_OPEN
    assert breached(state, "unheard", 1820.5, 1900.0, LIMITS).standing is OPEN


def test_open_it_counts_whoever_is_without_budget_then() -> None:
    state = breached(opened(), "old", 5.0, 400.0, LIMITS)
    assert (state.breaches, state.standing) == ({"old": 400.0}, OPEN)


def test_a_person_closes_it_and_what_waited_does_not_open_it_again() -> None:
    state = reset(stormed(opened(), ("s1",), 30.0), 100.0, "ada")
    assert (state.standing, state.why) == (CLOSED, "closed by ada")
    assert stormed(state, ("s1",), 101.0).standing is CLOSED
    for at in range(50):
        state = breached(state, f"i{at}", 99.0, 101.0, LIMITS)
    assert (state.standing, state.breaches) == (CLOSED, {})
    for at in range(2):
        state = breached(state, f"new{at}", 100.5, 101.0, LIMITS)
    assert state.standing is OPEN


def test_overrides_before_a_reset_count_no_more() -> None:
    state = reset(opened(), 100.0, "ada")
    assert override(state, 101.0).standing is CLOSED
    assert override(override(state, 101.0), 102.0).standing is OPEN


def test_what_goes_on_wrong_while_it_is_open_keeps_it_open_longer() -> None:
    assert override(opened(), 500.0).since == 500.0


def test_the_state_can_be_written_down() -> None:
    state = start_trial(half_open(), "i1")
    assert msgspec.json.decode(msgspec.json.encode(state), type=BreakerState) == state


def test_the_worst_come_first_and_nobody_waits_for_ever() -> None:
    old = Waiting(incident="old", rank=1.0, since=0.0)
    worse = Waiting(incident="worse", rank=2.0, since=3000.0)
    hopeless = Waiting(incident="hopeless", rank=2.0, since=0.0, attempts=2)
    assert [one.incident for one in in_order((hopeless, old, worse), 3000.0)] == [
        "worse",
        "old",
        "hopeless",
    ]
    patient = Waiting(incident="patient", rank=1.0, since=-599.0)
    assert in_order((worse, patient), 3000.0)[0] is worse
    assert in_order((worse, patient), 3001.0)[0] is worse
    longer = Waiting(incident="longer", rank=1.0, since=-601.0)
    assert in_order((worse, longer), 3000.0)[0] is longer


def test_of_equal_ones_the_order_is_always_the_same() -> None:
    first = Waiting(incident="a", rank=1.0, since=5.0)
    second = Waiting(incident="b", rank=1.0, since=5.0)
    assert in_order((second, first), 2.0) == [first, second]
    earlier = Waiting(incident="c", rank=1.0, since=4.0)
    assert in_order((second, earlier), 2.0) == [earlier, second]
    assert urgency(first, 2.0) == 1.0
    assert urgency(first, 5.0 + 1800.0) == 1.5
    assert urgency(msgspec.structs.replace(first, attempts=1), 5.0 + 3600.0) == 1.0
