"""A night without people: what must be so in the morning is so, whatever the seed has brought."""

from pathlib import Path

import pytest

from night.observer import Property
from night.play import Night
from night.report import broken, report
from night.scenario import COUNTS, make_scenario

SEEDS = (7, 8)
HOLDS = (
    Property.JOBS,
    Property.REASON,
    Property.RESERVATIONS,
    Property.EVIDENCE,
    Property.CONFIDENCE,
    Property.AUDIT,
    Property.INVARIANTS,
    Property.FOR_NOTHING,
    Property.WELL,
    Property.NOTIFIED,
    Property.MESSAGES,
)


def test_forty_faults_of_every_kind_befall_a_night() -> None:
    assert sum(COUNTS.values()) == 40
    faults = make_scenario(SEEDS[0]).faults
    assert {fault.kind for fault in faults} == set(COUNTS)
    assert faults == make_scenario(SEEDS[0]).faults != make_scenario(SEEDS[1]).faults


@pytest.mark.parametrize("seed", SEEDS)
def test_a_night_may_be_left_alone(seed: int, tmp_path: Path) -> None:
    night = Night(make_scenario(seed), tmp_path).play()
    assert all(fault.nodes for fault in night.scenario.faults), report(night)
    for what, texts in broken(night).items():
        assert what not in HOLDS or not texts, report(night)
