"""The pieces of the simulated time to recover, one by one: our engine, a person, a fixed retry."""

import random
from pathlib import Path

import pytest

from support.remediation.recovery_engine import NAMES, SPARES, Recovery
from support.remediation.recovery_faults import HARDWARE, SOFTWARE, Fault
from support.remediation.recovery_people import People, by_hand, fixed, manual

MINUTE = 60.0
HANGS = Fault("hangs", 1, dies=0.0, again=1.0, seen_s=(1.0, 1.0))
EXACT = People(
    response_s=600.0, response_sigma=0.0, triage_s=1200.0, triage_sigma=0.0, right=1.0, attempts=2
)


class Drawn(random.Random):
    """Draws what it is told to, between 0 and 1; then it is the generator of a seed."""

    def __init__(self, *draws: float) -> None:
        super().__init__(7)
        self.draws = list(draws)

    def random(self) -> float:
        return self.draws.pop(0) if getattr(self, "draws", None) else super().random()


def recovery(tmp_path: Path, fault: Fault, localised: float, *draws: float) -> Recovery:
    return Recovery(tmp_path, fault, localised, Drawn(*draws), EXACT)


def test_a_job_runs_on_without_the_node_that_was_named(tmp_path: Path) -> None:
    played = recovery(tmp_path, HANGS, 1.0)
    result = played.run()
    assert (result.runs, played.by_person) == (1, False)
    assert 1.0 + 2.0 < result.seconds < 1.0 + 20.0
    assert NAMES[0] not in played.job.nodes
    assert len(set(played.job.nodes) & set(SPARES)) == 1


def test_a_node_that_hangs_is_fenced_before_its_job_runs_on(tmp_path: Path) -> None:
    played = recovery(tmp_path, HARDWARE[-1], 1.0)
    result = played.run()
    done = [one.kind for one in played.world.effects]
    assert done.index("power_off") < done.index("requeue")
    assert MINUTE < result.seconds < 2 * MINUTE


def test_the_wrong_node_costs_a_second_run_and_the_right_one_follows(tmp_path: Path) -> None:
    drawn = (1.0, 0.5, 0.9, 0.1)  # hangs; seen; not the right one; another one
    played = recovery(tmp_path, HANGS, 0.5, *drawn, 0.3, 0.0, 0.5, 1.0, 0.5, 0.1)
    result = played.run()
    assert (result.runs, played.by_person) == (2, False)
    assert MINUTE < result.seconds < 20 * MINUTE
    assert len(set(played.job.nodes) & set(SPARES)) == 2


def test_where_no_node_is_named_a_person_finds_it(tmp_path: Path) -> None:
    played = recovery(tmp_path, HANGS, 0.0, 1.0, 0.5, 0.9, 0.9)
    result = played.run()
    assert (played.by_person, played.world.effects) == (True, [])
    assert result.seconds == pytest.approx(1.0 + 1800.0, abs=0.1)


def test_a_job_that_has_died_before_is_restarted_without_the_node(tmp_path: Path) -> None:
    dies = Fault("dies", 1, dies=1.0, again=1.0, seen_s=(61.0, 61.0))
    played = recovery(tmp_path, dies, 1.0)
    result = played.run()
    assert (played.by_person, result.runs) == (False, 1)
    assert NAMES[0] not in played.job.nodes
    assert 61.0 < result.seconds < 90.0


def test_a_job_that_died_long_before_is_left_to_a_person(tmp_path: Path) -> None:
    dies = Fault("dies", 1, dies=1.0, again=1.0, seen_s=(600.0, 600.0))
    played = recovery(tmp_path, dies, 1.0)
    assert (played.run().runs, played.by_person) == (1, True)
    assert "requeue" not in [one.kind for one in played.world.effects]


def test_a_person_comes_looks_and_restarts_it() -> None:
    assert by_hand(random.Random(1), EXACT) == by_hand(random.Random(2), EXACT)
    result = by_hand(random.Random(1), EXACT)
    assert (result.seconds, result.runs) == (1800.0, 1)
    died = manual(Drawn(0.0, 0.5), Fault("dies", 1, dies=1.0, again=1.0), EXACT)
    assert died.seconds == pytest.approx(30.0 + 1800.0)
    hung = manual(Drawn(0.5, 0.5), HANGS, EXACT)
    assert hung.seconds == pytest.approx(20 * MINUTE + 1800.0)


def test_a_fixed_retry_succeeds_when_what_is_broken_is_not_in_the_way() -> None:
    result = fixed(Drawn(0.0, 0.5, 0.9), SOFTWARE, EXACT)
    assert result.runs == 1
    assert result.seconds == pytest.approx(30.0 + 660.0)
    gone = fixed(Drawn(0.5, 0.5), HARDWARE[-1], EXACT)
    assert gone.runs == 1
    assert gone.seconds == pytest.approx(20 * MINUTE + 660.0)


def test_a_fixed_retry_on_the_same_nodes_ends_with_a_person() -> None:
    result = fixed(random.Random(5), HANGS, EXACT)
    assert result.runs == EXACT.attempts + 1
    assert result.seconds > 2 * 660.0 + 3 * 600.0 + 1800.0


def test_the_same_seed_is_the_same_recovery(tmp_path: Path) -> None:
    first, second = (Recovery(tmp_path, HARDWARE[0], 0.7, random.Random(11)) for _ in range(2))
    assert first.run() == second.run()
