"""Nodes that become warmer than their peers, told before anybody knows what each is usually off by."""

import numpy as np
import pytest

from accelwatch.detection.baselines.passes import advance
from accelwatch.detection.baselines.state import DetectorState
from accelwatch.detection.detector import Detector
from accelwatch.detection.tick import Tick
from support.detection.cluster import Cluster, alerts, play

# Hold of a new group, and ten minutes of which the mean before is made.
_SETTLED = 33
_ROW = range(3)


def _ticks(state: DetectorState, fleet: Cluster, count: int) -> Tick:
    for _ in range(count - 1):
        advance(state, fleet.frame())
    return advance(state, fleet.frame())


def _warmed(state: DetectorState, fleet: Cluster, count: int = 1) -> np.ndarray:
    warmed = _ticks(state, fleet, count).warmed
    assert warmed is not None
    return warmed


def _heat(fleet: Cluster, tick: int, degrees_a_minute: float, nodes: range = _ROW) -> None:
    rows = np.isin(fleet.node_of, nodes)
    fleet.hotter[rows] = degrees_a_minute * tick / 2


def test_nothing_is_known_of_who_has_only_started() -> None:
    state, fleet = DetectorState(), Cluster(8)
    assert np.isnan(_warmed(state, fleet, _SETTLED - 4)).all()
    assert np.isfinite(_warmed(state, fleet)).all()


def test_nodes_that_are_well_do_not_become_warmer() -> None:
    state, fleet = DetectorState(), Cluster(16)
    _ticks(state, fleet, _SETTLED)
    assert max(_warmed(state, fleet).max() for _ in range(200)) < 4.0


def test_a_node_rises_although_it_was_always_cooler() -> None:
    state, fleet = DetectorState(), Cluster(8)
    fleet.hotter[:8] = -15.0
    _ticks(state, fleet, _SETTLED)
    fleet.hotter[:8] = -12.0
    warmed = _warmed(state, fleet, 8)
    assert warmed[0] > 8.0
    assert warmed[1:].max() < 4.0


def test_a_node_stays_warmer_for_as_long_as_it_is_warm() -> None:
    state, fleet = DetectorState(), Cluster(8)
    _ticks(state, fleet, _SETTLED)
    fleet.hotter[:8] = 4.0
    assert _warmed(state, fleet, 240)[0] > 4.0
    fleet.hotter[:8] = 0.0
    assert _warmed(state, fleet, 10)[0] < 2.0


def test_three_devices_of_eight_are_no_node() -> None:
    state, fleet = DetectorState(), Cluster(8)
    _ticks(state, fleet, _SETTLED)
    fleet.hotter[:3] = 10.0
    assert _warmed(state, fleet, 8).max() < 4.0


def test_who_draws_more_is_warmer_by_that() -> None:
    state, fleet = DetectorState(), Cluster(8)
    _ticks(state, fleet, 2 * _SETTLED)
    fleet.hotter[:8], fleet.strength[:8] = 5.0, 1.1
    assert _warmed(state, fleet, 8)[0] <= 0.0


def test_a_room_that_gets_warmer_is_no_ones_matter() -> None:
    state, fleet = DetectorState(), Cluster(8)
    _ticks(state, fleet, _SETTLED)
    fleet.hotter[:] = 5.0
    assert _warmed(state, fleet, 8).max() < 4.0


def test_the_scatter_of_the_nodes_counts_where_it_is_greater() -> None:
    state, fleet = DetectorState(), Cluster(8)
    _ticks(state, fleet, _SETTLED)
    fleet.hotter = np.repeat([2.0, -2.0, 1.5, -1.5, 1.0, -1.0, 0.5, 4.0], 8)
    assert _warmed(state, fleet, 8).max() < 4.0


@pytest.mark.parametrize("degrees_a_minute", [0.2, 0.45])
def test_a_row_that_heats_in_a_new_job_is_found_within_ten_minutes(degrees_a_minute: float) -> None:
    fleet, detector = Cluster(16), Detector()
    assert alerts(play(detector, fleet, 2 * _SETTLED)) == []

    found = alerts(play(detector, fleet, 20, lambda tick: _heat(fleet, tick, degrees_a_minute)))
    assert [(each.key, each.advice) for each in found[:1]] == [("group/cooling", "wait")]
    assert set(found[0].nodes) == {"node0", "node1", "node2"}


def test_two_nodes_are_no_row() -> None:
    fleet, detector = Cluster(16), Detector()
    play(detector, fleet, _SETTLED)
    found = play(detector, fleet, 20, lambda tick: _heat(fleet, tick, 0.2, range(2)))
    assert alerts(found) == []
