"""Medians and counts over groups of every size."""

import numpy as np
import pytest

from accelwatch.fleet.rules.columns.groups import Groups


def groups(*sizes: int, loose: int = 0) -> Groups:
    """Groups one after the other, then rows without one."""
    codes = [number for number, size in enumerate(sizes) for _ in range(size)]
    return Groups(np.array([*codes, *[-1] * loose], dtype=np.intp), len(sizes))


@pytest.mark.parametrize("size", [4, 5, 7])
def test_a_small_group_leaves_the_own_value_out(size: int) -> None:
    values = np.arange(size, dtype=float)
    found = groups(size).median(values)
    assert found.tolist() == [float(np.median(np.delete(values, at))) for at in range(size)]


@pytest.mark.parametrize("size", [8, 9, 16, 17, 64])
def test_a_large_group_has_one_median(size: int) -> None:
    values = np.random.default_rng(size).normal(size=size)
    found = groups(size, size).median(np.concatenate([values, values + 5]))
    assert found[:size] == pytest.approx(float(np.median(values)))
    assert found[size:] == pytest.approx(float(np.median(values)) + 5)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_with_fewer_than_three_others_nothing_is_shown(size: int) -> None:
    assert np.isnan(groups(size).median(np.ones(size))).all()


def test_three_others_must_have_a_value() -> None:
    values = np.full(9, np.nan)
    values[:3] = 1.0
    found = groups(9).median(values)
    assert np.isnan(found[:3]).all()  # two others each
    assert found[3:].tolist() == [1.0] * 6


def test_rows_without_a_group_have_no_peers() -> None:
    found = groups(8, loose=3).z(np.arange(11.0))
    assert np.isnan(found[8:]).all()
    assert not np.isnan(found[:8]).any()
    counts = groups(2, loose=1).set_in(np.array([True, True, True]))
    assert counts[:2].tolist() == [2.0, 2.0]
    assert np.isnan(counts[2])


def test_alike_devices_differ_by_nothing() -> None:
    values = np.full(16, 700.0)
    values[0] = 693.0
    found = groups(16).z(values)
    assert found[0] == pytest.approx(-7 / (700 * 0.005))
    assert found[1:].tolist() == [0.0] * 15
    nothing = np.zeros(16)
    assert groups(16).z(nothing).tolist() == [0.0] * 16
    nothing[0] = 1.0
    assert np.isnan(groups(16).z(nothing)[0])


def test_no_groups_at_all() -> None:
    none = Groups(np.full(5, -1, dtype=np.intp), 0)
    assert np.isnan(none.median(np.ones(5))).all()
    everywhere = np.ones(5, dtype=np.bool_)
    assert not any(one.any() for one in none.folded("any", everywhere, ~everywhere))
    assert np.isnan(none.tallied("count", everywhere, ~everywhere)).all()


def test_of_which_half_is_not_known_is_not_counted() -> None:
    true = np.array([True, True, False, False, False, False])
    false = np.array([False, False, False, False, True, False])
    known_enough = groups(6).tallied("count", true, false)
    assert known_enough.tolist() == [2.0] * 6
    assert groups(6).tallied("share", true, false) == pytest.approx([2 / 3] * 6)
    too_few = groups(6).tallied("count", true, false & False)
    assert np.isnan(too_few).all()


def test_the_meaning_of_any_and_all() -> None:
    three = groups(2, 2, 2)
    true = np.array([True, False, False, False, True, True])
    false = np.array([False, False, True, True, False, False])
    some_true, some_false = three.folded("any", true, false)
    every_true, every_false = three.folded("all", true, false)
    assert some_true.tolist() == [True, True, False, False, True, True]
    assert some_false.tolist() == [False, False, True, True, False, False]
    assert every_true.tolist() == [False, False, False, False, True, True]
    assert every_false.tolist() == [False, False, True, True, False, False]
