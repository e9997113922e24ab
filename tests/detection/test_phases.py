"""The gate, and what a group does."""

import numpy as np
import pytest

from accelwatch.detection.baselines.medians import Quartiles
from accelwatch.detection.baselines.passes import advance
from accelwatch.detection.baselines.phases import phase_of
from accelwatch.detection.baselines.state import DetectorState
from accelwatch.detection.signals.device_signals import DEVICE_SIGNALS
from support.detection.simulated import LOAD, NVLINK, POWER, Fleet, at, node_at

_LIMIT = ("power_limit_watts", "enforced")
_WARM = 40


def _on_hold(state: DetectorState, fleet: Fleet) -> bool:
    return bool(advance(state, fleet.frame()).devices.on_hold.any())


def _warm(fleet: Fleet, ticks: int = _WARM) -> DetectorState:
    state = DetectorState()
    for _ in range(ticks):
        advance(state, fleet.frame())
    return state


def test_noise_of_a_job_in_common_is_no_phase() -> None:
    state, fleet = DetectorState(), Fleet(8)
    drift = np.random.default_rng(3).normal(1.0, 0.02, 200)
    on_hold = []
    for tick, factor in enumerate(drift):
        # The steps of training, and what a whole job has in common.
        fleet.watts[:] = 600.0 * factor * (1 + 0.03 * np.sin(tick * 14.5))
        on_hold.append(_on_hold(state, fleet))
    assert not any(on_hold[15:])


@pytest.mark.parametrize("what", ["watts", "load", "traffic"])
def test_each_of_power_load_and_traffic_shows_a_phase(what: str) -> None:
    fleet = Fleet(8)
    state = _warm(fleet)
    getattr(fleet, what)[:] *= 0.3
    assert _on_hold(state, fleet)


@pytest.mark.parametrize(("left", "expected"), [(0.85, False), (0.75, True)])
def test_all_that_wait_for_a_slower_device_are_no_phase(left: float, expected: bool) -> None:
    fleet = Fleet(8)
    state = _warm(fleet)
    fleet.watts[:] *= left
    assert _on_hold(state, fleet) is expected


def test_a_step_of_the_median_is_a_phase_though_each_member_is_noisy() -> None:
    fleet = Fleet(16)
    fleet.noise = 0.1
    state = _warm(fleet, 60)
    fleet.watts[:] *= 0.5
    # Five sd of a member, and far more of the median.
    assert _on_hold(state, fleet)


def test_what_is_just_watched_is_not_compared_with_itself() -> None:
    fleet = Fleet(8)
    state = _warm(fleet)
    fleet.generation[:24] += 1
    advance(state, fleet.frame())
    fleet.watts[:24] *= 0.3
    assert not _on_hold(state, fleet)


@pytest.mark.parametrize(("moved", "expected"), [(0, False), (1, False), (2, True)])
def test_peers_of_one_node_are_on_hold_when_most_of_them_move(moved: int, expected: bool) -> None:
    fleet, state = Fleet(1), DetectorState()
    for _ in range(_WARM):
        advance(state, fleet.frame()._replace(single_node=True))
    # Three fall, and as many as make it most of them rise: the median stays.
    fleet.watts[:3], fleet.watts[3 : 3 + moved] = 300.0, 900.0
    tick = advance(state, fleet.frame()._replace(single_node=True))
    assert tick.devices.groups.comparable.all()
    assert bool(tick.devices.on_hold.any()) is expected


def test_a_group_without_peers_is_on_hold_when_most_of_it_moves() -> None:
    fleet = Fleet(1)
    state = _warm(fleet)
    fleet.watts[:5] = 300.0
    assert _on_hold(state, fleet)


def test_a_group_without_peers_is_not_on_hold_for_a_single_member() -> None:
    fleet = Fleet(1)
    state = _warm(fleet)
    fleet.watts[:1] = 300.0
    assert not _on_hold(state, fleet)


def test_a_stage_that_changes_leaves_the_other_devices_alone() -> None:
    fleet = Fleet(8)
    fleet.stage[:] = np.repeat([0, 1], 32)
    fleet.names = fleet.names._replace(stages=("first", "second"))
    state = _warm(fleet)
    fleet.watts[:32] = 300.0
    tick = advance(state, fleet.frame())
    assert tick.devices.on_hold.tolist() == [True] * 32 + [False] * 32
    assert tick.nodes.on_hold.all()


def test_nodes_that_stop_sending_are_a_phase_of_nodes() -> None:
    fabric = node_at(("host_rdma_bytes_total", "*", "*", "receive"))
    state, fleet, sent = DetectorState(), Fleet(8), 0.0
    for tick in range(_WARM):
        frame = fleet.frame()
        sent += 3e11 if tick < _WARM - 1 else 3e10
        frame.nodes[fabric] = sent
        on_hold = advance(state, frame).nodes.on_hold
    assert on_hold.all()


def test_a_phase_that_goes_on_for_longer_is_learned() -> None:
    fleet = Fleet(8)
    state = _warm(fleet)
    fleet.watts[:], fleet.noise = 300.0, 0.05
    on_hold = [_on_hold(state, fleet) for _ in range(60)]
    assert sum(on_hold) <= 20
    assert not any(on_hold[30:])


def _median(load: float, watts: float, limit: float) -> Quartiles:
    median = np.full((len(DEVICE_SIGNALS), 1), np.nan)
    median[at(LOAD)], median[at(POWER)], median[at(_LIMIT)] = load, watts, limit
    return Quartiles(median, median, median, np.ones_like(median, dtype=np.intp))


@pytest.mark.parametrize(
    ("load", "watts", "limit", "phase"),
    [
        (0.0, 900.0, 1000.0, 0),
        (0.3, 900.0, 1000.0, 1),
        (1.0, 90.0, 1000.0, 2),
        (np.nan, 90.0, 1000.0, 0),
        (np.nan, 900.0, 1000.0, 2),
        (np.nan, np.nan, 1000.0, 1),
        (np.nan, 900.0, np.nan, 1),
    ],
)
def test_what_a_group_does(load: float, watts: float, limit: float, phase: int) -> None:
    before = np.ones(1, dtype=np.int16)
    assert phase_of(before, _median(load, watts, limit)).tolist() == [phase]


def test_traffic_is_a_phase_signal() -> None:
    assert DEVICE_SIGNALS[at(NVLINK)].phase
