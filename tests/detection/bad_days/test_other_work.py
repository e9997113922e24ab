"""Nodes of a job that do another part of its work: no alert of them, and a fault of theirs is found."""

import pytest

from accelwatch.detection.detector import Detector
from support.detection.cluster import REST, TRAIN, Cluster, alerts, play

# Of three nodes one is no majority and no stage.
_NODES, _EACH, _HOUR = 3, 8, 120
_OTHER = slice(16, 24)


def _fleet_with_other_work(seed: int) -> Cluster:
    """The third node draws and sends less than the others from the beginning of its job on."""
    fleet = Cluster(_NODES, each=_EACH, seed=seed)
    fleet.strength[_OTHER] = 0.75
    return fleet


@pytest.mark.parametrize("seed", [1, 2])
def test_a_node_that_does_other_work_from_the_start_wakes_nobody(seed: int) -> None:
    fleet, detector = _fleet_with_other_work(seed), Detector()
    assert alerts(play(detector, fleet, 2 * _HOUR)) == []

    fleet.clock[17], fleet.strength[17] = 0.8, 0.6
    assert alerts(play(detector, fleet, 20))[0].device == "gpu17"


def test_nor_does_it_after_a_rest() -> None:
    fleet, detector = _fleet_with_other_work(3), Detector()
    fleet.work = [REST] * _NODES
    assert alerts(play(detector, fleet, 60)) == []
    fleet.work = [TRAIN] * _NODES
    assert alerts(play(detector, fleet, _HOUR)) == []


def test_a_node_that_did_as_its_peers_and_does_less_is_found() -> None:
    fleet, detector = Cluster(8, each=_EACH), Detector()
    assert alerts(play(detector, fleet, 60)) == []

    fleet.strength[_OTHER] = 0.75
    assert alerts(play(detector, fleet, 40))[0].node == "node2"


def test_one_device_that_is_slow_from_the_start_is_found() -> None:
    fleet, detector = Cluster(8, each=_EACH), Detector()
    fleet.strength[17] = 0.75
    assert alerts(play(detector, fleet, 60))[0].device == "gpu17"
