"""Medians and quartiles of groups against numpy's own."""

import warnings

import numpy as np

from accelwatch.detection.baselines.grouping import device_groups
from accelwatch.detection.baselines.medians import quartiles
from support.detection.simulated import Fleet


def test_medians_are_those_of_numpy_whatever_is_unknown() -> None:
    fleet, rng = Fleet(5, each=7), np.random.default_rng(2)
    fleet.job[:] = rng.integers(-1, 1, 35)
    grouping = device_groups(fleet.frame(), np.full(35, -1, dtype=np.intp))
    value = rng.normal(0, 1, (9, 35))
    value[rng.random((9, 35)) < 0.3] = np.nan
    value[4] = np.nan
    result = quartiles(grouping, value)
    for group in range(2):
        members = value[:, grouping.groups.code == group]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = np.nanmedian(members, axis=1)
            low, high = np.nanpercentile(members, [25, 75], axis=1)
        np.testing.assert_allclose(result.median[:, group], expected)
        assert (result.counts[:, group] == np.isfinite(members).sum(axis=1)).all()
        finite = np.isfinite(expected)
        # Quartiles are values that there are.
        assert (result.low[finite, group] <= low[finite] + 1e-9).all()
        assert (result.high[finite, group] >= high[finite] - 1e-9).all()
    assert np.isnan(result.low[4]).all()


def test_quartiles_of_five_are_the_second_and_the_fourth() -> None:
    grouping = device_groups(Fleet(5, each=1).frame(), np.full(5, -1, dtype=np.intp))
    result = quartiles(grouping, np.array([[5.0, 3.0, 1.0, 2.0, 4.0]]))
    assert (result.low[0, 0], result.median[0, 0], result.high[0, 0]) == (2.0, 3.0, 4.0)
