"""Interval and effective training time ratio, against the published table of the formulas."""

import pytest

from accelwatch_lab.recovery.checkpoints import best_interval, effective_ratio

DAY_S = 86_400.0
HARDWARE, ALL_ENDS = 17 / 55 / DAY_S, 3.07 / DAY_S
# Minutes: save, best interval, and the ratio for D + R of 20 + 120, 3 + 45 and 3 + 15.
TABLE = [
    (HARDWARE, 1, 97, (0.952, 0.970, 0.976)),
    (HARDWARE, 4, 193, (0.933, 0.951, 0.957)),
    (HARDWARE, 10, 305, (0.913, 0.930, 0.935)),
    (ALL_ENDS, 1, 31, (0.733, 0.856, 0.906)),
    (ALL_ENDS, 4, 61, (0.700, 0.811, 0.856)),
    (ALL_ENDS, 10, 97, (0.665, 0.764, 0.803)),
]


@pytest.mark.parametrize(("ends", "save", "interval", "ratios"), TABLE)
def test_the_published_table(
    ends: float, save: float, interval: float, ratios: tuple[float, ...]
) -> None:
    best = best_interval(60.0 * save, ends)
    assert best / 60.0 == pytest.approx(interval, abs=0.5)
    for minutes, ratio in zip((140.0, 48.0, 18.0), ratios, strict=True):
        found = effective_ratio(60.0 * save, best, ends, 60.0 * minutes)
        assert found == pytest.approx(ratio, abs=0.0006)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_no_other_interval_is_better(factor: float) -> None:
    best = best_interval(240.0, HARDWARE)
    other = effective_ratio(240.0, factor * best, HARDWARE, 2400.0)
    assert other < effective_ratio(240.0, best, HARDWARE, 2400.0)
