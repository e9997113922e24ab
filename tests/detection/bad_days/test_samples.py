"""Days on which samples are bad: none of it is a fault, and a fault after it is found."""

from collections.abc import Callable

import numpy as np
import pytest

from accelwatch.detection.detector import Detector
from accelwatch.detection.findings.finding import Level
from accelwatch.detection.frame import Frame
from accelwatch.schema.event import Category
from support.detection.cluster import (
    ACTIVE,
    EXECUTION,
    RDMA,
    REPLAYS,
    REQUESTS,
    REST,
    ROUND_TRIP,
    TRAIN,
    Cluster,
    Work,
    alerts,
    play,
)
from support.detection.simulated import NVLINK, at, node_at

_WARM = 60
_DAY_S = 86400.0


@pytest.fixture
def fleet() -> Cluster:
    return Cluster(8, each=4)


@pytest.fixture
def detector(fleet: Cluster) -> Detector:
    detector = Detector()
    play(detector, fleet, _WARM)
    return detector


def _spoil(fleet: Cluster, spoiled: Callable[[Frame], None]) -> None:
    """Have each frame from now on changed in place."""
    frame = fleet.frame

    def changed() -> Frame:
        made = frame()
        spoiled(made)
        return made

    fleet.frame = changed  # type: ignore[method-assign]


def _assert_slow_device_is_found(fleet: Cluster, detector: Detector) -> None:
    fleet.slow(17)
    found = alerts(play(detector, fleet, 20))
    assert (found[0].node, found[0].device, found[0].advice) == ("node4", "gpu17", "exclude")
    assert {finding.node for finding in found} == {"node4"}


def test_nodes_whose_samples_are_missing_in_bursts(fleet: Cluster, detector: Detector) -> None:
    rng, left = np.random.default_rng(3), np.zeros(8, dtype=int)

    def lose(_tick: int) -> None:
        left[:] -= 1
        starts = (left < 0) & (rng.random(8) < 0.06)
        left[starts] = rng.integers(1, 4, starts.sum())
        fleet.silent[:] = left > 0

    assert alerts(play(detector, fleet, 240, lose)) == []
    fleet.silent[:] = False
    _assert_slow_device_is_found(fleet, detector)


def test_values_that_are_missing_in_bursts(fleet: Cluster, detector: Detector) -> None:
    rng, left = np.random.default_rng(3), np.zeros((2, 32), dtype=int)

    def lose(frame: Frame) -> None:
        left[:] -= 1
        starts = (left < 0) & (rng.random(left.shape) < 0.06)
        left[starts] = rng.integers(1, 4, starts.sum())
        frame.devices[::2, left[0] > 0] = np.nan
        frame.devices[1::2, left[1] > 0] = np.nan

    _spoil(fleet, lose)
    assert alerts(play(detector, fleet, 240)) == []
    _assert_slow_device_is_found(fleet, detector)


def test_exporters_that_are_restarted_in_turn(fleet: Cluster, detector: Detector) -> None:
    def restart(tick: int) -> None:
        node, since = divmod(tick, 10)
        fleet.silent[:] = False
        fleet.silent[node] = since < 3
        if since == 3:
            fleet.reset_counters(slice(node, node + 1))

    assert alerts(play(detector, fleet, 80, restart)) == []
    fleet.silent[:] = False
    _assert_slow_device_is_found(fleet, detector)


@pytest.mark.parametrize("hosts", [True, False])
def test_a_node_with_frozen_values_is_watched_as_its_exporters_matter(
    fleet: Cluster, detector: Detector, hosts: bool
) -> None:
    rows, last, frozen = fleet.node_of == 3, list[Frame](), [True]

    def freeze(frame: Frame) -> None:
        last.append(frame)
        if frozen[0]:
            frame.devices[:, rows] = last[0].devices[:, rows]
            if hosts:
                frame.nodes[:, 3] = last[0].nodes[:, 3]

    _spoil(fleet, freeze)
    (found,) = play(detector, fleet, 60)
    assert (found.node, found.level, found.family) == ("node3", Level.WATCH, "scrape")
    assert found.advice == "none"
    frozen[0] = False
    assert alerts(play(detector, fleet, 20)) == []
    assert not detector.findings
    fleet.slow(13)
    assert alerts(play(detector, fleet, 20))[0].device == "gpu13"


def test_an_alert_does_not_end_because_values_are_frozen(
    fleet: Cluster, detector: Detector
) -> None:
    fleet.slow(13)
    play(detector, fleet, 20)
    rows, last = fleet.node_of == 3, list[Frame]()

    def freeze(frame: Frame) -> None:
        last.append(frame)
        frame.devices[:, rows], frame.nodes[:, 3] = last[0].devices[:, rows], last[0].nodes[:, 3]

    _spoil(fleet, freeze)
    play(detector, fleet, 40)
    assert detector.findings["node/node3"].level is Level.ALERT


def test_counters_that_are_reset(fleet: Cluster, detector: Detector) -> None:
    fleet.replays_s[:] = 1 / 3600

    def reset(tick: int) -> None:
        if tick % 40 == 10:
            fleet.reset_counters(slice(0, 8))
        if tick % 40 == 30:
            fleet.reset_counters(slice(2, 5))

    assert alerts(play(detector, fleet, 160, reset)) == []
    _assert_slow_device_is_found(fleet, detector)


@pytest.mark.parametrize("off_s", [-1200.0, 1200.0])
def test_clocks_that_are_off_by_minutes(fleet: Cluster, detector: Detector, off_s: float) -> None:
    skew = np.linspace(-off_s, off_s, 8)

    def report(frame: Frame) -> None:
        frame.nodes[node_at(("fleet_target_clock_skew_seconds",))] = skew

    _spoil(fleet, report)
    assert alerts(play(detector, fleet, 100)) == []
    fleet.log("xid_79", Category.BUS, 17, "critical", ago_s=5.0 - off_s)
    (found,) = alerts(play(detector, fleet, 1))
    assert (found.device, found.advice) == ("gpu17", "reboot")
    assert found.onset <= fleet.now
    # It ends as it would by a right clock: 13 min after the line, and 5 min of calm.
    play(detector, fleet, 40)
    assert not detector.findings
    fleet.slow(9)
    assert alerts(play(detector, fleet, 20))[0].device == "gpu9"


@pytest.mark.parametrize("meanwhile", [TRAIN, REST])
def test_a_missing_day(fleet: Cluster, detector: Detector, meanwhile: Work) -> None:
    fleet.now += _DAY_S
    fleet.work = [meanwhile] * 8
    assert alerts(play(detector, fleet, 30)) == []
    fleet.work = [TRAIN] * 8
    assert alerts(play(detector, fleet, 30)) == []
    _assert_slow_device_is_found(fleet, detector)


def test_an_alert_outlives_a_missing_day(fleet: Cluster, detector: Detector) -> None:
    fleet.slow(17)
    (opened,) = alerts(play(detector, fleet, 20))
    fleet.now += _DAY_S
    play(detector, fleet, 20)
    assert detector.findings["node/node4"].opened == opened.opened


def test_labelled_series_that_first_appear_later() -> None:
    fleet, detector = Cluster(8, each=4), Detector()
    fleet.replays_s[:] = 1 / 7200
    ticks = [0]

    def hide(frame: Frame) -> None:
        ticks[0] += 1
        for node in range(8):
            if ticks[0] < 60 + 5 * node:
                rows = fleet.node_of == node
                for series in (REQUESTS, ROUND_TRIP, EXECUTION, RDMA):
                    frame.nodes[node_at(series), node] = np.nan
                for series in (NVLINK, REPLAYS, ACTIVE):
                    frame.devices[at(series), rows] = np.nan

    _spoil(fleet, hide)
    assert alerts(play(detector, fleet, 200)) == []
    _assert_slow_device_is_found(fleet, detector)
