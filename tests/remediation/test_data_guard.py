"""When too little is known of the fleet to begin anything new."""

import msgspec
import pytest

from accelwatch.remediation.policy.guards.data_guard import (
    DataGuardState,
    FleetCoverage,
    may_start,
    most_silent,
    record_tick,
)
from accelwatch.remediation.policy.guards.denial import PERMIT, Answer, Denial, DenialKind
from accelwatch.remediation.settings import DataGuard

LIMITS = DataGuard()


def coverage(at: float, silent: int = 0, late_s: float = 0.0, ahead: float = 0.0) -> FleetCoverage:
    """A fleet of a hundred agents, `at` seconds after the engine began."""
    return FleetCoverage(
        time=1e9 + at + ahead,
        monotonic=500.0 + at,
        late_s=late_s,
        agents=100,
        silent=silent,
    )


def after(*observed: FleetCoverage) -> DataGuardState:
    """An engine that has looked around, and has then seen these; they begin at second 200."""
    state = DataGuardState()
    for at in (0.0, 120.0, 199.0):
        state = record_tick(state, coverage(at), LIMITS)
    assert may_start(state) == PERMIT
    for one in observed:
        state = record_tick(state, one, LIMITS)
    return state


def why(answer: Answer) -> DenialKind | None:
    return answer.why if isinstance(answer, Denial) else None


def test_after_a_start_it_only_looks_around() -> None:
    state = DataGuardState()
    answer = may_start(state)
    assert isinstance(answer, Denial)
    assert answer.text == (
        "the engine has just started and observes until most agents have answered"
    )
    for at in (0.0, 60.0, 119.9):
        state = record_tick(state, coverage(at), LIMITS)
        assert why(may_start(state)) is DenialKind.STARTING
    assert may_start(record_tick(state, coverage(120.0), LIMITS)) == PERMIT


def test_it_looks_around_until_four_fifths_of_the_agents_have_reported() -> None:
    lenient = DataGuard(silent=0.5)
    state = DataGuardState()
    for at in (0.0, 120.0, 500.0):
        state = record_tick(state, coverage(at, silent=21), lenient)
        assert why(may_start(state)) is DenialKind.STARTING
    state = record_tick(state, coverage(501.0, silent=20), lenient)
    assert may_start(state) == PERMIT
    assert may_start(record_tick(state, coverage(502.0, silent=40), lenient)) == PERMIT


@pytest.mark.parametrize(
    ("agents", "silent"), [(0, 0), (1, 0), (2, 1), (3, 1), (4, 1), (10, 2), (14, 2), (100, 20)]
)
def test_a_fifth_may_be_silent_and_one_of_several_always(agents: int, silent: int) -> None:
    assert most_silent(agents, LIMITS) == silent


def test_too_many_silent_agents_freeze_what_is_new() -> None:
    assert may_start(after(coverage(200.0, silent=20))) == PERMIT
    answer = may_start(after(coverage(200.0, silent=21)))
    assert isinstance(answer, Denial)
    assert (answer.why, "21 of 100 agents are silent" in answer.text) == (DenialKind.DATA, True)


@pytest.mark.parametrize(("ahead", "frozen"), [(5.0, False), (5.1, True), (-5.1, True)])
def test_a_clock_that_jumps_freezes(ahead: float, frozen: bool) -> None:
    answer = may_start(after(coverage(200.0, ahead=ahead)))
    assert why(answer) is (DenialKind.DATA if frozen else None)


def test_the_clock_is_held_against_the_tick_before() -> None:
    drifting = [coverage(200.0 + at, ahead=4.0 * at) for at in range(10)]
    assert may_start(after(*drifting)) == PERMIT


def test_the_first_tick_is_no_jump() -> None:
    assert record_tick(DataGuardState(), coverage(0.0), LIMITS).why == ""


def test_three_late_ticks_in_a_row_freeze() -> None:
    late = [coverage(200.0 + at, late_s=1.1) for at in range(3)]
    assert may_start(after(*late[:2])) == PERMIT
    assert why(may_start(after(*late))) is DenialKind.DATA
    between = coverage(202.0, late_s=1.0)
    assert may_start(after(*late[:2], between, coverage(203.0, late_s=1.1))) == PERMIT


def test_it_thaws_when_all_was_well_for_a_minute() -> None:
    state = after(coverage(200.0, silent=50))
    for at in (201.0, 259.9):
        state = record_tick(state, coverage(at), LIMITS)
        assert why(may_start(state)) is DenialKind.DATA
    assert may_start(record_tick(state, coverage(260.0), LIMITS)) == PERMIT


def test_trouble_that_comes_and_goes_keeps_it_frozen() -> None:
    state = after(coverage(200.0, silent=50), coverage(250.0), coverage(251.0, ahead=9.0))
    state = record_tick(state, coverage(270.0, ahead=9.0), LIMITS)
    answer = may_start(state)
    assert isinstance(answer, Denial)
    assert "clock has jumped by +9.0 s" in answer.text
    assert may_start(record_tick(state, coverage(311.0, ahead=9.0), LIMITS)) == PERMIT


def test_trouble_after_the_start_is_not_the_start_again() -> None:
    assert after(coverage(200.0, silent=100)).is_warmed_up


def test_the_state_can_be_written_down() -> None:
    state = after(coverage(200.0, silent=50))
    assert msgspec.json.decode(msgspec.json.encode(state), type=DataGuardState) == state
