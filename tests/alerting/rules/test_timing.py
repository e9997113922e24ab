"""A rule fires on True only, clears on False only, and stands still while nothing can be told."""

from collections.abc import Sequence

import pytest

from accelwatch.alerting.rules.timing import AlertState, Phase, Timing, Transition, Truths, advance
from accelwatch.expr.vocabulary.kleene import UNKNOWN, Truth

TIMING = Timing(for_s=20.0, keep_s=30.0, unknown_after_s=60.0)


def played(
    ticks: Sequence[Truth | Truths], timing: Timing = TIMING, every_s: float = 10.0
) -> tuple[list[tuple[int, Transition]], AlertState | None]:
    """What came of a row of ticks: the transitions with their tick, and the spell at the end."""
    episode: AlertState | None = None
    transitions: list[tuple[int, Transition]] = []
    for at, tick in enumerate(ticks):
        truths = tick if isinstance(tick, Truths) else Truths(when=tick)
        episode, transition = advance(episode, truths, 1000.0 + at * every_s, timing)
        if transition is not None:
            transitions.append((at, transition))
    return transitions, episode


def test_it_fires_when_the_condition_has_held_for_long_enough() -> None:
    transitions, episode = played([True, True, True])
    assert transitions == [(2, Transition.FIRED)]
    assert episode is not None
    assert (episode.phase, episode.since) == (Phase.FIRING, 1000.0)


def test_without_a_duration_it_fires_at_once() -> None:
    assert played([True], Timing(for_s=0.0))[0] == [(0, Transition.FIRED)]


def test_one_false_tick_starts_the_wait_anew() -> None:
    assert played([True, True, False, True, True])[0] == []
    assert played([True, True, False, True, True, True])[0] == [(5, Transition.FIRED)]


def test_unknown_alone_starts_nothing() -> None:
    assert played([UNKNOWN] * 20) == ([], None)


def test_unknown_neither_counts_nor_starts_the_wait_anew() -> None:
    assert played([True, True, UNKNOWN, UNKNOWN, True])[0] == []
    assert played([True, True, UNKNOWN, UNKNOWN, True, True])[0] == [(5, Transition.FIRED)]


def test_it_waits_for_a_second_reading() -> None:
    unconfirmed = Truths(when=True, confirm=False)
    unclear = Truths(when=True, confirm=UNKNOWN)
    assert played([unconfirmed] * 5)[0] == []
    assert played([unclear] * 5)[0] == []
    confirmed = Truths(when=True, confirm=True)
    assert played([unconfirmed, unclear, unconfirmed, confirmed])[0] == [(3, Transition.FIRED)]


def test_a_confirmation_without_the_condition_fires_nothing() -> None:
    assert played([Truths(when=False, confirm=True)] * 5, Timing(for_s=0.0)) == ([], None)


def test_it_clears_when_it_has_been_over_for_long_enough() -> None:
    transitions, episode = played([True] * 3 + [False] * 4)
    assert transitions == [(2, Transition.FIRED), (6, Transition.CLEARED)]
    assert episode is None


def test_without_a_keep_it_clears_at_once() -> None:
    assert played([True, False], Timing(for_s=0.0, keep_s=0.0))[0] == [
        (0, Transition.FIRED),
        (1, Transition.CLEARED),
    ]


def test_a_relapse_while_it_clears_is_the_same_episode() -> None:
    transitions, episode = played([True] * 3 + [False] * 3 + [True] + [False] * 3)
    assert transitions == [(2, Transition.FIRED)]
    assert episode is not None
    assert (episode.phase, episode.since) == (Phase.CLEARING, 1000.0)


def test_unknown_never_clears() -> None:
    transitions, episode = played([True] * 3 + [UNKNOWN] * 6)
    assert transitions == [(2, Transition.FIRED)]
    assert episode is not None
    assert episode.phase is Phase.FIRING


def test_unknown_holds_up_the_clearing() -> None:
    held_up = [True] * 3 + [False, False] + [UNKNOWN] * 3 + [False, False]
    assert played(held_up)[0] == [(2, Transition.FIRED)]
    assert played([*held_up, False])[0][-1] == (10, Transition.CLEARED)


@pytest.mark.parametrize("clear", [False, UNKNOWN])
def test_a_clear_of_its_own_decides(clear: Truth) -> None:
    gone = Truths(when=False, clear=clear)
    assert played([True] * 3 + [gone] * 8)[0] == [(2, Transition.FIRED)] + (
        [(9, Transition.BLIND)] if clear is UNKNOWN else []
    )
    over = Truths(when=False, clear=True)
    assert played([True] * 3 + [over] * 4)[0][-1] == (6, Transition.CLEARED)


def test_a_clear_of_its_own_may_say_so_while_the_condition_is_unknown() -> None:
    over = Truths(when=UNKNOWN, clear=True)
    assert played([True] * 3 + [over] * 4)[0][-1] == (6, Transition.CLEARED)


def test_what_is_still_true_is_not_over() -> None:
    contradictory = Truths(when=True, clear=True)
    assert played([True] * 3 + [contradictory] * 8)[0] == [(2, Transition.FIRED)]


def test_being_blind_is_reported_once_and_ends() -> None:
    ticks = [True] * 3 + [UNKNOWN] * 12 + [True]
    assert played(ticks)[0] == [
        (2, Transition.FIRED),
        (9, Transition.BLIND),
        (15, Transition.SEEING),
    ]


def test_what_was_not_yet_firing_is_blind_too() -> None:
    assert played([True] + [UNKNOWN] * 7 + [False]) == (
        [(7, Transition.BLIND), (8, Transition.SEEING)],
        None,
    )


def test_a_short_time_without_data_is_not_reported() -> None:
    assert played([True] * 3 + [UNKNOWN] * 6 + [True])[0] == [(2, Transition.FIRED)]


def test_data_that_come_at_every_other_tick_only_hold_for_half_of_the_time() -> None:
    timing = Timing(for_s=60.0, unknown_after_s=60.0)
    assert played([True, UNKNOWN] * 6, timing)[0] == []
    assert played([True, UNKNOWN] * 30, timing)[0] == [(12, Transition.FIRED)]
    half: list[Truth] = [True, UNKNOWN]
    broken: list[Truth] = [*half * 5, False, *half * 6]
    assert played(broken, timing)[0] == []


def test_data_that_come_more_seldom_hold_for_nothing_and_that_is_reported() -> None:
    timing = Timing(for_s=60.0, unknown_after_s=60.0)
    transitions, episode = played([True, UNKNOWN, UNKNOWN] * 30, timing)
    assert transitions == [(10, Transition.BLIND)]
    assert episode is not None
    assert (episode.phase, episode.phase_s) == (Phase.PENDING, 0.0)


def test_it_sees_again_when_it_was_known_for_as_long_as_it_must_hold() -> None:
    blind: list[Truth | Truths] = [True, *[UNKNOWN] * 7]
    waiting = Timing(for_s=40.0, unknown_after_s=60.0)
    held = [Truths(when=True, confirm=False)] * 5
    assert played([*blind, *held[:4]], waiting)[0] == [(7, Transition.BLIND)]
    assert played([*blind, *held], waiting)[0] == [(7, Transition.BLIND), (12, Transition.SEEING)]
    blind_again = played([*blind, *held, *[UNKNOWN] * 7], waiting)[0]
    assert blind_again[2:] == [(19, Transition.BLIND)]


def test_of_what_must_hold_for_long_gaps_add_up_only_where_they_are_close() -> None:
    timing = Timing(for_s=7200.0, unknown_after_s=60.0)
    assert played(([UNKNOWN] * 3 + [True] * 7) * 10, timing)[0] == []
    assert played(([UNKNOWN] * 3 + [True] * 6) * 10, timing)[0] == [(27, Transition.BLIND)]


def test_what_fires_is_not_in_doubt_where_every_other_tick_says_so() -> None:
    assert played([True] * 3 + [UNKNOWN, True] * 30)[0] == [(2, Transition.FIRED)]


def test_a_clearing_of_which_most_ticks_are_missing_is_reported() -> None:
    transitions, episode = played([True] * 3 + [False, UNKNOWN, UNKNOWN] * 30)
    assert transitions == [(2, Transition.FIRED), (13, Transition.BLIND)]
    assert episode is not None
    assert episode.phase is Phase.CLEARING


def test_it_sees_again_when_it_clears_or_relapses() -> None:
    blind: list[Truth | Truths] = [True, True, True, False, *[UNKNOWN] * 7]
    assert played([*blind, *[False] * 4])[0][1:] == [
        (10, Transition.BLIND),
        (14, Transition.CLEARED),
    ]
    assert played([*blind, True])[0][1:] == [(10, Transition.BLIND), (11, Transition.SEEING)]


def test_a_clock_that_goes_back_counts_nothing() -> None:
    episode, _ = advance(None, Truths(when=True), 1000.0, TIMING)
    episode, transition = advance(episode, Truths(when=True), 400.0, TIMING)
    assert transition is None
    assert episode is not None
    assert episode.phase_s == 0.0
