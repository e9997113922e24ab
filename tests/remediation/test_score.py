"""Scores of devices, slots and nodes: what adds, how they halve, what they ask for."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.base.names.hardware_keys import keys_of
from accelwatch.remediation.policy.state.score import (
    HALF_LIFE_S,
    WEIGHTS,
    Failing,
    ScoreState,
    Verdict,
    added,
    score,
    tidied,
    verdict,
    worst,
)
from support.remediation.small_fleet import Ground

DAY = 86_400.0
NODE = ("node:n1",)


def failures(*kinds: Failing, now: float = 0.0) -> ScoreState:
    state = ScoreState()
    for kind in kinds:
        state = added(state, NODE, kind, now)
    return state


def test_the_weights_are_those_of_the_documentation() -> None:
    assert {kind.value: weight for kind, weight in WEIGHTS.items()} == {
        "app": 0.2,
        "reset": 1.0,
        "reboot": 1.5,
        "relapse": 3.0,
    }
    assert set(WEIGHTS) == set(Failing)


def test_a_score_halves_in_seven_days() -> None:
    state = failures(Failing.RESET)
    assert score(state, "node:n1", 0.0) == 1.0
    assert score(state, "node:n1", HALF_LIFE_S) == 0.5
    assert score(state, "node:n1", 7 * DAY * 3) == 0.125


def test_failures_add_up_each_with_its_own_age() -> None:
    state = failures(Failing.REBOOT)
    state = added(state, NODE, Failing.RESET, HALF_LIFE_S)
    state = added(state, NODE, Failing.APP, 2 * HALF_LIFE_S)
    expected = 1.5 / 4 + 1.0 / 2 + 0.2
    assert score(state, "node:n1", 2 * HALF_LIFE_S) == pytest.approx(expected)


def test_what_never_failed_has_no_score() -> None:
    assert score(ScoreState(), "node:n9", 5.0) == 0.0
    assert worst(ScoreState(), ("node:n9",), 5.0) == 0.0
    assert worst(ScoreState(), (), 5.0) == 0.0


def test_a_clock_that_went_back_makes_no_score_grow() -> None:
    state = failures(Failing.RESET, now=1000.0)
    assert score(state, "node:n1", 0.0) == 1.0
    state = added(state, NODE, Failing.RESET, 0.0)
    assert score(state, "node:n1", 1000.0) == 2.0


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ((), Verdict.USUAL),
        ((Failing.REBOOT,), Verdict.USUAL),
        ((Failing.RESET, Failing.RESET), Verdict.LONG_VERIFY),
        ((Failing.REBOOT, Failing.APP, Failing.APP), Verdict.USUAL),
        ((Failing.APP,) * 9, Verdict.USUAL),
        ((Failing.APP,) * 10, Verdict.LONG_VERIFY),
        ((Failing.APP,) * 14, Verdict.LONG_VERIFY),
        ((Failing.APP,) * 15, Verdict.SERVICE),
        ((Failing.REBOOT, Failing.REBOOT), Verdict.SERVICE),
        ((Failing.RELAPSE,), Verdict.SERVICE),
    ],
)
def test_from_two_on_long_verification_from_three_on_service(
    kinds: tuple[Failing, ...], expected: Verdict
) -> None:
    assert verdict(failures(*kinds), NODE, 0.0) is expected


def test_a_bound_is_left_as_time_goes_by() -> None:
    state = failures(Failing.RELAPSE)
    assert verdict(state, NODE, 60.0) is Verdict.LONG_VERIFY
    assert verdict(state, NODE, HALF_LIFE_S) is Verdict.USUAL


def test_a_board_that_is_swapped_takes_its_record_along_and_the_slot_keeps_its_own() -> None:
    state = ScoreState()
    for _ in range(2):
        state = added(state, keys_of("n1", slot="3", serial="S1"), Failing.REBOOT, 0.0)
    new_board = keys_of("n1", slot="3", serial="S2")
    elsewhere = keys_of("n2", slot="0", serial="S1")
    assert worst(state, new_board, 0.0) == 3.0
    assert worst(state, elsewhere, 0.0) == 3.0
    assert worst(state, keys_of("n2", slot="0", serial="S2"), 0.0) == 0.0
    assert worst(state, keys_of("n1", slot="4", serial="S9"), 0.0) == 3.0


def test_what_is_not_known_is_not_counted_by() -> None:
    assert keys_of("n1") == ("node:n1",)
    assert keys_of("n1", slot="0") == ("node:n1", "slot:n1/0")
    assert keys_of("n1", serial="S") == ("node:n1", "serial:S")


def test_the_worst_of_several_scores_counts() -> None:
    state = added(failures(Failing.APP), ("serial:S",), Failing.RELAPSE, 0.0)
    assert worst(state, (*NODE, "serial:S"), 0.0) == 3.0
    assert verdict(state, ("serial:S", *NODE), 0.0) is Verdict.SERVICE


def test_what_is_as_good_as_nothing_is_forgotten() -> None:
    state = added(failures(Failing.RELAPSE), ("node:n2",), Failing.APP, 0.0)
    later = tidied(state, 5 * HALF_LIFE_S)
    assert set(later.levels) == {"node:n1"}
    assert later.levels["node:n1"] == state.levels["node:n1"]


def test_the_state_can_be_written_down() -> None:
    state = failures(Failing.RELAPSE)
    assert msgspec.json.decode(msgspec.json.encode(state), type=ScoreState) == state


def test_a_remedy_is_counted_by_node_slot_and_serial() -> None:
    ground = Ground()
    ground.fault("n03")
    ground.end("n03")
    assert ground.kinds("n03")[-1] is IntentKind.REBOOT
    levels = ground.state.scores.levels
    assert {key: one.value for key, one in levels.items()} == dict.fromkeys(
        ("node:n03", "slot:n03/0", "serial:board-3"), WEIGHTS[Failing.REBOOT]
    )
