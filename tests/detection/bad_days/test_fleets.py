"""Fleets that have few peers or none, or too many: no alert of health, and a fault is found."""

import numpy as np
import pytest

from accelwatch.detection.detector import Detector
from accelwatch.detection.findings.finding import Level
from accelwatch.schema.event import Category
from support.detection.cluster import Cluster, Work, alerts, play


def _assert_line_is_found(fleet: Cluster, detector: Detector, row: int) -> None:
    fleet.log("xid_79", Category.BUS, row, "critical")
    (found,) = alerts(play(detector, fleet, 1))
    assert (found.device, found.advice) == (f"gpu{row}", "reboot")
    assert found.node == fleet.names.nodes[fleet.node_of[row]]


@pytest.mark.parametrize("nodes", [1, 2])
def test_one_node_and_two_of_which_neither_is_the_majority(nodes: int) -> None:
    fleet, detector = Cluster(nodes, each=8), Detector()
    assert play(detector, fleet, 200) == []
    _assert_line_is_found(fleet, detector, 5)


def test_of_two_nodes_the_slow_device_is_found() -> None:
    fleet, detector = Cluster(2, each=8), Detector()
    play(detector, fleet, 60)
    fleet.slow(11)
    assert alerts(play(detector, fleet, 20))[0].device == "gpu11"


def test_an_inference_fleet_without_jobs_whose_nodes_are_busy_in_turn() -> None:
    fleet, detector = Cluster(8, each=4), Detector()
    fleet.job[:] = -1
    rng, load = np.random.default_rng(5), np.full(8, 0.5)

    def serve(_tick: int) -> None:
        load[:] = np.clip(load + rng.normal(0, 0.08, 8), 0.05, 1.0)
        fleet.work = [
            Work(share, 0.2 + 0.5 * share, 0.02 * share, 2.0, 0.001, 0.01, 20.0 * share)
            for share in load.tolist()
        ]

    assert alerts(play(detector, fleet, 480, serve)) == []
    _assert_line_is_found(fleet, detector, 17)


def test_an_inference_fleet_of_equal_load_has_peers() -> None:
    fleet, detector = Cluster(8, each=4), Detector()
    fleet.job[:] = -1
    play(detector, fleet, 60)
    fleet.slow(17)
    assert alerts(play(detector, fleet, 20))[0].device == "gpu17"


def test_a_research_cluster_of_small_jobs_that_come_and_go() -> None:
    fleet, detector = Cluster(50, each=8), Detector()
    count = len(fleet.node_of)
    assert count == 400
    fleet.job = np.arange(count)
    jobs = [f"job{row}" for row in range(count)]
    rng = np.random.default_rng(2)
    fleet.strength = rng.uniform(0.3, 1.0, count)

    def submit(tick: int) -> None:
        for row in rng.integers(0, count, 6).tolist():
            jobs[row], fleet.strength[row] = f"job{row}-{tick}", rng.uniform(0.3, 1.0)
        fleet.names = fleet.names._replace(jobs=tuple(jobs))

    assert play(detector, fleet, 160, submit) == []
    _assert_line_is_found(fleet, detector, 201)


def test_four_thousand_nodes_have_a_bounded_state_each() -> None:
    fleet, detector = Cluster(4000, each=1), Detector()
    assert play(detector, fleet, 2) == []
    size = detector.rows.bytes()
    assert play(detector, fleet, 2) == []
    assert detector.rows.bytes() == size
    assert size <= 64 * 1024 * 4000
    fleet.log("xid_79", Category.BUS, 3999, "critical")
    (found,) = play(detector, fleet, 1)
    assert (found.node, found.level) == ("node3999", Level.ALERT)
