"""Medians and quartiles of groups against numpy's own."""

import warnings

import numpy as np

from accelwatch.detection.grouping import device_groups
from accelwatch.detection.medians import quartiles
from support.detection.simulated import Fleet


def test_medians_are_those_of_numpy_whatever_is_unknown() -> None:
    fleet, rng = Fleet(5, each=7), np.random.default_rng(2)
    fleet.job[:] = rng.integers(-1, 1, 35)
    grouping = device_groups(fleet.frame(), np.full(35, -1, dtype=np.intp))
    value = rng.normal(0, 1, (9, 35))
    value[rng.random((9, 35)) < 0.3] = np.nan
    value[4] = np.nan
    given = quartiles(grouping, value)
    for group in range(2):
        members = value[:, grouping.groups.code == group]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = np.nanmedian(members, axis=1)
            low, high = np.nanpercentile(members, [25, 75], axis=1)
        np.testing.assert_allclose(given.median[:, group], wanted)
        assert (given.known[:, group] == np.isfinite(members).sum(axis=1)).all()
        known = np.isfinite(wanted)
        # Quartiles are values that there are.
        assert (given.low[known, group] <= low[known] + 1e-9).all()
        assert (given.high[known, group] >= high[known] - 1e-9).all()
    assert np.isnan(given.low[4]).all()


def test_quartiles_of_five_are_the_second_and_the_fourth() -> None:
    grouping = device_groups(Fleet(5, each=1).frame(), np.full(5, -1, dtype=np.intp))
    given = quartiles(grouping, np.array([[5.0, 3.0, 1.0, 2.0, 4.0]]))
    assert (given.low[0, 0], given.median[0, 0], given.high[0, 0]) == (2.0, 3.0, 4.0)
