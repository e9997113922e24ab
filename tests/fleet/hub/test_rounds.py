from collections import Counter

import pytest

from accelwatch.fleet.follow.follow import Rounds


@pytest.mark.parametrize(("targets", "most"), [(1, 1), (256, 40), (1000, 40), (5000, 40)])
def test_polls_spread_over_the_interval_a_few_at_a_time(targets: int, most: int) -> None:
    rounds = Rounds()
    rounds.targets = targets
    taken = Counter(rounds.any(1000.0, 5.0) for _ in range(targets))
    assert max(taken.values()) <= most
    assert 999.7 < min(taken) <= max(taken) < 1005.3


def test_a_target_keeps_its_round_and_the_interval() -> None:
    rounds = Rounds()
    rounds.targets = 700
    now = first = rounds.any(1000.0, 5.0)
    for turn in range(1, 50):
        now = rounds.nearest(now + 5.0, 5.0)
        assert now == pytest.approx(first + 5.0 * turn)


def test_more_targets_make_more_rounds_without_a_pause() -> None:
    rounds = Rounds()
    rounds.targets = 10
    before = rounds.any(1000.0, 5.0)
    rounds.targets = 5000
    assert rounds.nearest(before + 5.0, 5.0) == pytest.approx(before + 5.0, abs=0.25)
