"""Quartiles of many at each step, and steps made longer."""

import numpy as np
import pytest

from accelwatch.fleet.graphs import quartiles as module
from accelwatch.fleet.graphs.quartiles import Quartiles, folded, quartiles, steps_together

nan = np.nan


def whole(values: list[list[float]]) -> Quartiles:
    parts = list(quartiles(np.array(values)))
    return Quartiles(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def test_they_are_those_of_numpy_over_the_values_that_there_are() -> None:
    random = np.random.default_rng(31)
    values = random.normal(size=(40, 17))
    values[random.random(values.shape) < 0.4] = nan
    expected = np.nanpercentile(values, [25, 50, 75], axis=1)
    for found, wanted in zip(whole(values.tolist()), expected, strict=True):
        assert found == pytest.approx(wanted)


def test_a_step_without_any_value_has_none() -> None:
    found = whole([[1.0, 3.0], [nan, nan], [nan, 5.0]])
    assert np.array_equal(found.median, [2.0, nan, 5.0], equal_nan=True)
    assert np.array_equal(found.lower, [1.5, nan, 5.0], equal_nan=True)
    assert np.array_equal(found.upper, [2.5, nan, 5.0], equal_nan=True)


def test_of_nobody_there_are_none() -> None:
    found = whole([[], [], []])
    assert all(np.isnan(line).all() and len(line) == 3 for line in found)


def test_many_are_counted_in_pieces_that_make_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.arange(60.0).reshape(12, 5)
    at_once = list(quartiles(values))
    monkeypatch.setattr(module, "_AT_ONCE", 10)
    pieces = list(quartiles(values))
    assert (len(at_once), len(pieces)) == (1, 6)
    joined = np.concatenate([piece.median for piece in pieces])
    assert joined.tolist() == at_once[0].median.tolist()


@pytest.mark.parametrize(
    ("interval_s", "together"), [(0.0, 1), (1.0, 1), (8.0, 1), (10.0, 2), (15.0, 2), (30.0, 4)]
)
def test_steps_are_long_enough_for_targets_that_are_seldom_polled(
    interval_s: float, together: int
) -> None:
    assert steps_together(interval_s, 10.0) == together


def test_longer_steps_end_with_the_newest_and_are_means_of_what_is_there() -> None:
    values = np.array([[9.0], [1.0], [3.0], [nan], [5.0], [nan], [nan]])
    assert np.array_equal(folded(values, 2)[:, 0], [9.0, 2.0, 5.0, nan], equal_nan=True)
    assert folded(values, 1) is values
