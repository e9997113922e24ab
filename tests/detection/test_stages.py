"""Stages that nobody states."""

import numpy as np

from accelwatch.detection.baselines.passes import advance
from accelwatch.detection.baselines.stages import stages_of
from accelwatch.detection.baselines.state import DetectorState
from accelwatch.detection.frame import Frame
from support.detection.simulated import NVLINK, POWER, Fleet, at

# Four looks, ten minutes apart.
_CHECKS = 90


def _sizes(fleet: Fleet, ticks: int = _CHECKS, state: DetectorState | None = None) -> list[int]:
    state = state or DetectorState()
    for _ in range(ticks):
        tick = advance(state, fleet.frame())
    return sorted(tick.devices.groups.size.tolist())


def test_a_job_without_a_gap_has_no_stages() -> None:
    for seed in range(5):
        assert _sizes(Fleet(12, seed=seed)) == [96]


def test_nodes_that_draw_less_are_another_stage() -> None:
    fleet = Fleet(12)
    fleet.watts[48:] *= 0.87
    assert _sizes(fleet) == [48, 48]


def test_nodes_that_send_more_are_another_stage() -> None:
    fleet = Fleet(12)
    fleet.traffic[:32] *= 1.5
    assert _sizes(fleet) == [32, 64]


def test_four_stages_are_four() -> None:
    fleet = Fleet(16)
    fleet.watts *= np.repeat([0.85, 0.95, 1.05, 1.15], 32)
    assert _sizes(fleet) == [32] * 4


def test_a_few_nodes_of_the_same_power_that_send_less_are_a_stage() -> None:
    fleet = Fleet(16)
    fleet.watts *= np.repeat([0.8, 1.0], 64)
    fleet.traffic[64:88] *= 0.6
    # Sent by those that draw less as well, so that only within a power there is a gap.
    fleet.traffic[:64] *= np.repeat(np.linspace(0.55, 1.1, 8), 8)
    assert _sizes(fleet) == [24, 40, 64]


def test_stages_are_found_one_in_the_other() -> None:
    fleet, state = Fleet(16), DetectorState()
    fleet.watts[64:] *= 0.87
    assert _sizes(fleet, _CHECKS, state) == [64, 64]
    before = stages_of(state, fleet.frame())
    for _ in range(20):
        fleet.traffic[:24] *= 0.98
        advance(state, fleet.frame())
    assert _sizes(fleet, _CHECKS, state) == [24, 40, 64]
    after = stages_of(state, fleet.frame())
    assert (after[64:] == before[64:]).all()
    assert len({*after.tolist()} & {*before.tolist()}) == 2


def test_a_node_that_is_not_read_at_present_is_in_no_stage() -> None:
    fleet, state = Fleet(12), DetectorState()
    _sizes(fleet, 20, state)
    fleet.watts[48:] *= 0.87
    for _ in range(_CHECKS):
        frame = fleet.frame()
        frame.device_sampled[88:] = fleet.now - 600.0
        tick = advance(state, frame)
    assert sorted(tick.devices.groups.size.tolist()) == [8, 40, 48]


def test_a_node_that_is_read_late_comes_to_the_stage_that_is_like_it() -> None:
    fleet, state = Fleet(12), DetectorState()
    fleet.watts[48:] *= 0.87
    usual = fleet.watts[88:].copy()
    fleet.watts[88:] = np.nan
    assert _sizes(fleet, _CHECKS, state) == [8, 40, 48]
    fleet.watts[88:] = usual
    assert _sizes(fleet, 25, state) == [48, 48]
    code = advance(state, fleet.frame()).devices.groups.code
    assert code[95] == code[48]


def test_who_comes_late_is_not_like_a_node_that_is_not_read() -> None:
    fleet, state = Fleet(12), DetectorState()
    fleet.watts[48:] *= 0.87
    usual = fleet.watts[88:].copy()
    fleet.watts[88:] = np.nan
    assert _sizes(fleet, _CHECKS, state) == [8, 40, 48]
    # One of the other stage is lost meanwhile, and says nothing of what its stage draws.
    fleet.watts[88:] = usual
    for _ in range(25):
        frame = fleet.frame()
        frame.device_sampled[:8] = fleet.now - 600.0
        code = advance(state, frame).devices.groups.code
    assert code[95] == code[48]


def test_who_comes_late_waits_until_its_traffic_is_known() -> None:
    fleet, state = Fleet(12), DetectorState()
    fleet.traffic[:32] *= 1.5

    def frame_without_traffic() -> Frame:
        frame = fleet.frame()
        frame.devices[at(NVLINK), 88:] = np.nan
        return frame

    for _ in range(_CHECKS):
        tick = advance(state, frame_without_traffic())
    # Its power is that of both stages.
    assert sorted(tick.devices.groups.size.tolist()) == [8, 32, 56]
    assert _sizes(fleet, 25, state) == [32, 64]
    code = advance(state, fleet.frame()).devices.groups.code
    assert code[95] == code[64]


def test_two_slow_nodes_are_no_stage() -> None:
    fleet = Fleet(12)
    fleet.watts[:16] *= 0.7
    assert _sizes(fleet) == [96]


def test_a_gap_is_believed_after_half_an_hour_of_it() -> None:
    fleet, state = Fleet(12), DetectorState()
    assert _sizes(fleet, 20, state) == [96]
    # Slowly, so that it is no phase.
    for _ in range(20):
        fleet.watts[48:] *= 0.993
        advance(state, fleet.frame())
    assert _sizes(fleet, 20, state) == [96]
    assert _sizes(fleet, 60, state) == [48, 48]


def test_a_gap_that_comes_with_a_phase_is_believed_before_its_hold_ends() -> None:
    fleet, state = Fleet(12), DetectorState()
    fleet.load[:], fleet.watts[:] = 0.0, 150.0
    assert _sizes(fleet, 60, state) == [96]
    fleet.load[:], fleet.watts[:48], fleet.watts[48:] = 1.0, 600.0, 520.0
    for _ in range(10):
        tick = advance(state, fleet.frame())
        assert tick.devices.on_hold.all()
    assert sorted(tick.devices.groups.size.tolist()) == [48, 48]


def test_stages_hold_when_the_gap_closes() -> None:
    fleet, state = Fleet(12), DetectorState()
    fleet.watts[48:] *= 0.87
    _sizes(fleet, _CHECKS, state)
    fleet.watts[:] = 600.0
    assert _sizes(fleet, _CHECKS, state) == [48, 48]


def test_another_job_has_no_stages_yet() -> None:
    fleet, state = Fleet(12), DetectorState()
    fleet.watts[48:] *= 0.87
    _sizes(fleet, _CHECKS, state)
    fleet.names = fleet.names._replace(jobs=("again",))
    assert _sizes(fleet, 1, state) == [96]


def test_stages_hold_when_another_job_starts() -> None:
    fleet, state = Fleet(16), DetectorState()
    fleet.job[96:] = -1
    fleet.watts[48:] *= 0.87
    assert _sizes(fleet, _CHECKS, state) == [32, 48, 48]
    fleet.names = fleet.names._replace(jobs=("train", "other"))
    fleet.job[96:] = 1
    assert _sizes(fleet, 1, state) == [32, 48, 48]


def test_a_job_that_rests_has_no_stages() -> None:
    fleet = Fleet(12)
    fleet.load[:] = 0.0
    fleet.watts[48:] *= 0.87
    assert _sizes(fleet) == [96]


def test_stated_stages_stay_as_they_are() -> None:
    fleet = Fleet(12)
    fleet.names = fleet.names._replace(stages=("first", "second"))
    fleet.stage[:] = np.repeat([0, 1], 48)
    fleet.watts[:24] *= 0.7
    assert _sizes(fleet) == [48, 48]


def test_devices_of_no_job_are_peers_of_those_that_rest_or_work_as_they_do() -> None:
    fleet = Fleet(6)
    fleet.job[:] = -1
    fleet.load[:16] = 0.0
    assert _sizes(fleet, 3) == [16, 32]


def test_a_load_in_between_is_what_it_was() -> None:
    fleet, state = Fleet(6), DetectorState()
    fleet.job[:] = -1
    fleet.load[:16] = 0.0
    _sizes(fleet, 3, state)
    fleet.load[:] = 0.3
    assert _sizes(fleet, 60, state) == [16, 32]


def test_a_new_stage_is_not_blind() -> None:
    fleet, state = Fleet(12), DetectorState()
    fleet.watts[48:] *= 0.87
    assert _sizes(fleet, _CHECKS, state) == [48, 48]
    fleet.watts[50] *= 0.95
    z = advance(state, fleet.frame()).devices.z[at(POWER)]
    assert z[50] < -7.0
    assert abs(np.delete(z, 50)).max() < 7.0


def test_models_of_a_job_have_their_own_stages() -> None:
    fleet = Fleet(16)
    fleet.names = fleet.names._replace(models=("B200", "H200"))
    fleet.model[64:] = 1
    # The first stage of the lesser model draws what the second of the other does.
    fleet.watts *= np.repeat([1.0, 0.9, 0.9, 0.8], 32)
    assert _sizes(fleet) == [32] * 4
