"""A trace's outages through the policy: what a longer verification keeps from failing in service."""

from pathlib import Path

import pytest

from accelwatch_lab.recovery.outages import Outage, outages_of
from support.remediation.outage_replay import DAY_S, Replay, replayed

FILE = Path(__file__).resolve().parents[2] / "fixtures/recovery/outages.json"
HOUR_S = 3600.0


def absences(
    outages: list[Outage], days: float, replay: Replay | None = None
) -> list[tuple[float, float]]:
    replay = replay or Replay()
    return [(one.start, one.end) for one in replay.run(outages, days)]


def minutes(days: float) -> float:
    return days * 24 * 60


def test_a_node_is_out_for_its_outage_and_its_verification() -> None:
    ((start, end),) = absences([Outage(1.0, 1.5)], 3.0)
    assert minutes(start) == pytest.approx(minutes(1.0), abs=1)
    assert minutes(end) == pytest.approx(minutes(1.5) + 10, abs=5)


def test_what_fails_again_while_it_is_verified_has_not_been_back() -> None:
    outages = [Outage(1.0, 1.5), Outage(1.6, 2.0)]
    assert len(absences(outages, 4.0)) == 2
    ((start, end),) = absences(outages, 4.0, Replay(passive_s=6 * HOUR_S))
    assert minutes(start) == pytest.approx(minutes(1.0), abs=1)
    assert minutes(end) == pytest.approx(minutes(2.25), abs=40)


def test_what_relapsed_once_is_verified_for_longer() -> None:
    first, second = absences([Outage(1.0, 1.5), Outage(1.52, 2.0)], 4.0)
    assert minutes(first[1]) == pytest.approx(minutes(1.5) + 10, abs=5)
    assert minutes(second[1]) == pytest.approx(minutes(2.0) + 30, abs=5)


def test_after_three_relapses_it_is_out_until_a_person_has_repaired_it() -> None:
    outages = [Outage(at, at + 0.1) for at in (1.0, 1.2, 1.4, 1.6, 1.8)]
    found = absences(outages, 10.0, Replay(relapse_s=DAY_S, repair_s=2 * DAY_S))
    assert len(found) == 4
    # Out from the fourth outage on, of which the fifth is a part.
    assert found[-1][0] == pytest.approx(1.6, abs=0.01)
    assert found[-1][1] == pytest.approx(3.6, abs=0.3)


def test_what_is_out_at_the_end_has_not_been_back() -> None:
    assert absences([Outage(1.0, 2.0)], 2.0)[0][1] == 2.0


def test_longer_verification_has_fewer_relapses_and_holds_more() -> None:
    trace = outages_of(FILE.read_bytes(), FILE.name)
    short = replayed(trace.by_node, trace.days, passive_s=600.0, relapse_s=HOUR_S)
    long = replayed(trace.by_node, trace.days, passive_s=12 * HOUR_S, relapse_s=HOUR_S)
    # What is out at the end of the trace does not count: b and c.
    assert (short.returns, short.relapses) == (3, 2)
    assert (long.returns, long.relapses) == (2, 1)
    assert long.held_days > short.held_days > 0.0
