"""The first passes together: what is left of healthy and of spoiled fleets."""

import numpy as np

from accelwatch.detection.baselines.passes import NOTHING_FLAGGED, Flagged, advance
from accelwatch.detection.baselines.state import DetectorState
from accelwatch.detection.tick import Tick
from support.detection.simulated import HEAT, INTERRUPTS, NVLINK, POWER, Fleet, at, node_at

# Hold of a new group, and some more.
_HOLD = 12


def _run(state: DetectorState, fleet: Fleet, ticks: int) -> Tick:
    for _ in range(ticks - 1):
        advance(state, fleet.frame())
    return advance(state, fleet.frame())


def test_a_healthy_fleet_is_calm() -> None:
    state, fleet = DetectorState(), Fleet()
    _run(state, fleet, _HOLD)
    worst = [np.nanmax(np.abs(advance(state, fleet.frame()).devices.z)) for _ in range(40)]
    assert max(worst) < 8.0


def test_a_device_below_its_peers_stands_out_by_its_sign() -> None:
    state, fleet = DetectorState(), Fleet()
    _run(state, fleet, _HOLD)
    fleet.watts[5] *= 0.9
    z = _run(state, fleet, 2).devices.z[at(POWER)]
    assert z[5] == -12.0
    assert np.abs(np.delete(z, 5)).max() < 8.0


def test_a_new_group_is_on_hold_and_then_is_not() -> None:
    state, fleet = DetectorState(), Fleet()
    tick = advance(state, fleet.frame())
    assert tick.devices.on_hold.all()
    assert np.isnan(tick.devices.z).all()
    assert not _run(state, fleet, _HOLD).devices.on_hold.any()


def test_a_job_that_saves_is_on_hold_for_five_minutes() -> None:
    state, fleet = DetectorState(), Fleet()
    _run(state, fleet, 3 * _HOLD)
    fleet.watts[:] = 300.0
    on_hold = [bool(advance(state, fleet.frame()).devices.on_hold.all()) for _ in range(12)]
    assert on_hold == [True] * 10 + [False] * 2


def test_nodes_are_on_hold_with_their_devices() -> None:
    state, fleet = DetectorState(), Fleet()
    _run(state, fleet, 3 * _HOLD)
    fleet.watts[:] = 300.0
    assert advance(state, fleet.frame()).nodes.on_hold.all()


def test_a_job_whose_devices_save_some_before_others_is_on_hold() -> None:
    state, fleet = DetectorState(), Fleet(16)
    _run(state, fleet, 3 * _HOLD)
    fleet.watts[:16] = 300.0
    assert advance(state, fleet.frame()).devices.on_hold.all()


def test_a_node_that_leaves_the_others_is_no_phase() -> None:
    state, fleet = DetectorState(), Fleet(4)
    _run(state, fleet, 3 * _HOLD)
    fleet.watts[:8] = 300.0
    tick = advance(state, fleet.frame())
    assert not tick.devices.on_hold.any()
    assert (tick.devices.z[at(POWER), :8] == -12.0).all()


def test_few_devices_of_many_are_no_phase() -> None:
    state, fleet = DetectorState(), Fleet(8)
    _run(state, fleet, 3 * _HOLD)
    fleet.watts[[0, 8, 16]] = 300.0
    assert not advance(state, fleet.frame()).devices.on_hold.any()


def test_nodes_in_maintenance_are_no_phase() -> None:
    state, fleet = DetectorState(), Fleet(8)
    _run(state, fleet, 3 * _HOLD)
    fleet.maintenance[:2] = True
    fleet.watts[:16] = 0.0
    assert not advance(state, fleet.frame()).devices.on_hold.any()


def test_who_is_new_is_compared_with_how_its_peers_differ() -> None:
    state, fleet = DetectorState(), Fleet(8)
    # 5 degrees between devices (design 5.2), and one that is 2.5 sd above them.
    fleet.heat = fleet.heat + np.random.default_rng(4).normal(0.0, 5.0, len(fleet.node_of))
    fleet.heat[:8] = fleet.heat.mean() + 12.5
    away = np.zeros(8, dtype=np.bool_)
    away[0] = True
    fleet.maintenance = away
    fleet.job[:8] = -1
    _run(state, fleet, 240)
    fleet.job[:8], fleet.maintenance = 0, np.zeros(8, dtype=np.bool_)
    tick = _run(state, fleet, 2)
    z = tick.devices.z[at(HEAT), :8]
    assert np.isfinite(z).all()
    assert z.max() < 5.0
    # The others, whose habits are known, are compared with their own scatter.
    fleet.heat[40] += 25.0
    assert _run(state, fleet, 2).devices.z[at(HEAT), 40] > 8.0


def test_an_own_offset_is_learned() -> None:
    state, fleet = DetectorState(), Fleet()
    fleet.heat[7] = 60.0
    before = _run(state, fleet, _HOLD).devices.z[at(HEAT), 7]
    after = _run(state, fleet, 960).devices.z[at(HEAT), 7]
    assert before > 1.0
    assert abs(after) < before / 2


def test_an_offset_is_not_learned_while_flagged() -> None:
    state, fleet = DetectorState(), Fleet()
    _run(state, fleet, _HOLD)
    fleet.watts[5] *= 0.95
    flagged = Flagged(np.arange(64) == 5, np.zeros(8, dtype=np.bool_))
    for _ in range(300):
        tick = advance(state, fleet.frame(), flagged)
    assert tick.devices.z[at(POWER), 5] < -6.0
    assert tick.devices.usual[at(POWER), 5] > 590.0


def test_who_keeps_a_level_that_most_leave_learns_no_other_habit() -> None:
    state, fleet = DetectorState(), Fleet(8, each=1)
    _run(state, fleet, 1200)
    usual = fleet.interrupts.copy()
    fleet.interrupts[:6] *= 500.0
    _run(state, fleet, 40)
    fleet.interrupts[:] = usual
    # The scatter of a group is what it was after some hours, a habit would last for half a day.
    _run(state, fleet, 600)
    others = [_run(state, fleet, 1).nodes.z[node_at(INTERRUPTS), 6:] for _ in range(20)]
    assert np.abs(others).max() < 4.0


def test_who_has_what_it_always_had_and_its_peers_have_does_not_deviate() -> None:
    state, fleet = DetectorState(), Fleet(8, each=1)
    _run(state, fleet, 40)
    usual = fleet.interrupts.copy()
    # For half an hour most of a young group suffer: what the others are off by then is no habit.
    fleet.interrupts[:5] *= 500.0
    _run(state, fleet, 60)
    fleet.interrupts[:] = usual
    # The scatter of the group is what it was after some hours, a habit would last for half a day.
    _run(state, fleet, 600)
    others = [_run(state, fleet, 1).nodes.z[node_at(INTERRUPTS)] for _ in range(120)]
    assert np.nanmax(np.abs(others)) < 4.0


def test_what_peers_have_is_in_the_unit_of_the_signal() -> None:
    state, fleet = DetectorState(), Fleet()
    tick = _run(state, fleet, _HOLD)
    power, traffic = at(POWER), at(NVLINK)
    assert abs(tick.devices.median[power, 0] - 600.0) < 3.0
    assert (tick.devices.low[power, 0], tick.devices.high[power, 0]) < (600.0, 603.0)
    assert abs(tick.devices.usual[power, 0] - 600.0) < 3.0
    assert abs(tick.devices.value[traffic, 0] - 1e11) < 3e10
    # Half a percent of 600 W is more than the noise of 0.3 %.
    assert tick.devices.scale[power, 0] >= 3.0


def test_four_devices_have_no_peers_but_a_past() -> None:
    state, fleet = DetectorState(), Fleet(2, each=2)
    tick = _run(state, fleet, _HOLD)
    assert np.isnan(tick.devices.median).all()
    assert np.isnan(tick.devices.z).all()
    assert abs(tick.devices.usual[at(POWER), 0] - 600.0) < 6.0
    assert 3.0 <= tick.devices.scale[at(POWER), 0] < 6.0


def test_devices_of_a_single_node_have_no_peers() -> None:
    state, fleet = DetectorState(), Fleet(1)
    assert np.isnan(_run(state, fleet, _HOLD).devices.z).all()


def test_a_node_stands_out_among_the_nodes_of_its_job() -> None:
    state, fleet = DetectorState(), Fleet()
    _run(state, fleet, 3 * _HOLD)
    frame = fleet.frame()
    frame.nodes[node_at(INTERRUPTS), 3] -= 0.7 * 300_000.0
    z = advance(state, frame).nodes.z[node_at(INTERRUPTS)]
    assert z[3] == -12.0
    assert np.abs(np.delete(z, 3)).max() < 8.0


def test_a_value_whose_sample_is_old_is_unknown() -> None:
    state, fleet = DetectorState(), Fleet()
    _run(state, fleet, _HOLD)
    frame = fleet.frame()
    frame.device_sampled[4] -= 100.0
    tick = advance(state, frame)
    assert np.isnan(tick.devices.value[:, 4]).all()
    assert np.isfinite(tick.devices.value[at(POWER), 5])


def test_a_device_never_read_is_unknown() -> None:
    state, fleet = DetectorState(), Fleet()
    frame = fleet.frame()
    frame.device_sampled[4] = -np.inf
    assert np.isnan(advance(state, frame).devices.value[:, 4]).all()


def test_another_device_in_a_row_has_no_past() -> None:
    state, fleet = DetectorState(), Fleet()
    _run(state, fleet, _HOLD)
    fleet.generation[9] += 1
    tick = advance(state, fleet.frame())
    assert np.isnan(tick.devices.usual[:, 9]).all()
    assert np.isnan(tick.device_increase[at(NVLINK), 9])
    assert np.isfinite(tick.device_increase[at(NVLINK), 8])


def test_the_same_frames_give_the_same() -> None:
    ticks = [_run(DetectorState(), Fleet(seed=4), 30) for _ in range(2)]
    np.testing.assert_array_equal(ticks[0].devices.z, ticks[1].devices.z)


def test_flags_of_fewer_rows_are_those_of_the_first() -> None:
    state, fleet = DetectorState(), Fleet(3)
    assert len(advance(state, fleet.frame(), NOTHING_FLAGGED).devices.on_hold) == 24


def test_an_offset_outlives_the_restart_of_a_job() -> None:
    state, fleet = DetectorState(), Fleet()
    fleet.heat[7] = 60.0
    before = _run(state, fleet, 960).devices.z[at(HEAT), 7]
    fleet.names = fleet.names._replace(jobs=("again",))
    assert advance(state, fleet.frame()).devices.on_hold.all()
    after = _run(state, fleet, _HOLD).devices.z[at(HEAT), 7]
    assert abs(after - before) < 3.0


def test_after_a_pause_of_hours_habits_are_those_of_before() -> None:
    state, fleet = DetectorState(), Fleet()
    _run(state, fleet, _HOLD)
    fleet.now += 6 * 3600.0
    fleet.watts[5] *= 0.97
    assert advance(state, fleet.frame()).step_s == 6 * 3600.0 + 30.0
    usual = advance(state, fleet.frame()).devices.usual[at(POWER), 5]
    assert usual > 595.0


def test_a_frame_twice_changes_nothing() -> None:
    state, fleet = DetectorState(), Fleet()
    _run(state, fleet, _HOLD)
    frame = fleet.frame()
    before = advance(state, frame).devices
    again = advance(state, frame)
    assert again.step_s == 0.0
    np.testing.assert_array_equal(again.devices.value, before.value)
    assert np.isnan(again.device_increase).all()


def test_a_fleet_without_devices_is_no_trouble() -> None:
    tick = advance(DetectorState(), Fleet(3, each=0).frame())
    assert tick.devices.z.shape[1] == 0
    assert tick.nodes.z.shape[1] == 3


def test_no_fleet_is_no_trouble() -> None:
    assert advance(DetectorState(), Fleet(0).frame()).nodes.z.shape[1] == 0


def test_devices_of_unknown_jobs_and_models_are_peers() -> None:
    state, fleet = DetectorState(), Fleet()
    fleet.job[:], fleet.model[:] = -1, -1
    _run(state, fleet, _HOLD)
    fleet.watts[5] *= 0.9
    assert advance(state, fleet.frame()).devices.z[at(POWER), 5] == -12.0


def test_nodes_that_come_and_go_leave_the_others_as_they_are() -> None:
    state = DetectorState()
    for nodes in (8, 9, 7):
        tick = _run(state, Fleet(nodes), 1)
        assert len(tick.devices.on_hold) == 8 * nodes
        assert len(tick.nodes.on_hold) == nodes


def test_a_phase_whose_offsets_are_not_learned_is_calm() -> None:
    state, fleet = DetectorState(), Fleet()
    _run(state, fleet, 960)
    fleet.load[:], fleet.watts[:] = 0.0, 100.0
    fleet.heat = 30.0 + fleet.rng.normal(0, 4.0, 64)
    for _ in range(40):
        z = advance(state, fleet.frame()).devices.z[at(HEAT)]
        assert not (np.abs(z) >= 8.0).any()


def test_devices_of_no_job_are_compared_at_equal_load_only() -> None:
    state, fleet = DetectorState(), Fleet()
    fleet.job[:] = -1
    _run(state, fleet, _HOLD)
    fleet.load[5], fleet.watts[5] = 0.85, 500.0
    fleet.load[6], fleet.watts[6] = 0.95, 500.0
    z = _run(state, fleet, 2).devices.z[at(POWER)]
    assert np.isnan(z[5])
    assert z[6] == -12.0


def test_nodes_of_no_job_are_compared_at_equal_load_only() -> None:
    state, fleet = DetectorState(), Fleet()
    fleet.job[:] = -1
    _run(state, fleet, _HOLD)
    fleet.load[24:32] = 0.8
    z = _run(state, fleet, 2).nodes.z[node_at(INTERRUPTS)]
    assert np.isnan(z[3])
    assert np.isfinite(np.delete(z, 3)).all()


def test_devices_of_a_job_are_compared_whatever_their_load() -> None:
    state, fleet = DetectorState(), Fleet()
    _run(state, fleet, _HOLD)
    fleet.load[5], fleet.watts[5] = 0.5, 400.0
    assert _run(state, fleet, 2).devices.z[at(POWER), 5] == -12.0


def test_what_a_device_alone_is_off_by_outlives_the_job_it_was_alone_in() -> None:
    state, fleet = DetectorState(), Fleet()
    fleet.names = fleet.names._replace(jobs=("train", "own"))
    fleet.heat[:] = 50.0
    fleet.heat[7] = 65.0
    _run(state, fleet, 960)
    # Nobody does the same work for an hour.
    fleet.job[7] = 1
    _run(state, fleet, 120)
    fleet.job[7] = 0
    heat = [advance(state, fleet.frame()).devices.z[at(HEAT), 7] for _ in range(40)]
    assert np.isfinite(heat).any()
    assert np.nanmax(heat) < 5.0


def test_time_alone_is_not_time_beside_peers() -> None:
    state, fleet = DetectorState(), Fleet()
    fleet.names = fleet.names._replace(jobs=("train", "own"))
    # Devices of this fleet differ by 4 degrees, and this one is by nature 15 above most of them.
    fleet.heat[7] = np.median(fleet.heat) + 15.0
    fleet.job[7] = 1
    _run(state, fleet, 240)
    fleet.job[7] = 0
    heat = [advance(state, fleet.frame()).devices.z[at(HEAT), 7] for _ in range(240)]
    assert np.isfinite(heat).any()
    assert np.nanmax(heat) < 6.0
