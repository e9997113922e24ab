"""What is remembered grows with rows, and is void for another device."""

import numpy as np

from accelwatch.detection.baselines.passes import advance
from accelwatch.detection.baselines.state import DetectorState, LevelState
from accelwatch.detection.signals.layout import DEVICE_LAYOUT
from support.detection.simulated import Fleet

_KEYS = (("a", "", "x"), ("b", "", "x"))


def test_a_node_of_eight_devices_has_at_most_64_kib() -> None:
    state = DetectorState()
    advance(state, Fleet(63).frame())
    assert state.bytes() <= 63 * 64 * 1024


def test_memory_grows_with_rows_only() -> None:
    state, twice = DetectorState(), DetectorState()
    advance(state, Fleet(10).frame())
    advance(twice, Fleet(20).frame())
    assert twice.bytes() == 2 * state.bytes()


def test_rows_that_come_leave_the_others_as_they_are() -> None:
    level = LevelState.empty(DEVICE_LAYOUT)
    level.fit(np.zeros(2, dtype=np.intp))
    level.rows.recent[:] = 5.0
    level.fit(np.zeros(3, dtype=np.intp))
    assert (level.rows.recent[:, :2] == 5.0).all()
    assert np.isnan(level.rows.recent[:, 2]).all()


def test_rows_that_go_leave_the_others_as_they_are() -> None:
    level = LevelState.empty(DEVICE_LAYOUT)
    level.fit(np.zeros(3, dtype=np.intp))
    level.rows.recent[:] = 5.0
    level.fit(np.zeros(2, dtype=np.intp))
    assert level.rows.recent.shape[1] == 2
    assert (level.rows.recent == 5.0).all()


def test_a_row_of_another_generation_is_void() -> None:
    level = LevelState.empty(DEVICE_LAYOUT)
    level.fit(np.array([0, 7], dtype=np.intp))
    level.rows.recent[:] = 5.0
    level.fit(np.array([0, 8], dtype=np.intp))
    assert (level.rows.recent[:, 0] == 5.0).all()
    assert np.isnan(level.rows.recent[:, 1]).all()


def test_a_group_keeps_its_memory_by_its_name() -> None:
    level = LevelState.empty(DEVICE_LAYOUT)
    level.fit(np.zeros(2, dtype=np.intp))
    level.regroup(_KEYS, np.array([0, 1], dtype=np.intp))
    level.groups.hold_until[:] = (1.0, 2.0)
    level.regroup((_KEYS[1], ("c", "", "x")), np.array([1, 0], dtype=np.intp))
    assert level.groups.hold_until[0] == 2.0
    assert np.isnan(level.groups.hold_until[1])


def test_rows_whose_group_is_another_are_named() -> None:
    level = LevelState.empty(DEVICE_LAYOUT)
    level.fit(np.zeros(2, dtype=np.intp))
    assert level.regroup(_KEYS, np.array([0, 1], dtype=np.intp)).tolist() == [True, True]
    assert level.regroup(_KEYS, np.array([0, 1], dtype=np.intp)).tolist() == [False, False]
    assert level.regroup(_KEYS[::-1], np.array([1, 0], dtype=np.intp)).tolist() == [False, False]
    assert level.regroup(_KEYS, np.array([0, 0], dtype=np.intp)).tolist() == [False, True]
