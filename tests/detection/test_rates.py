"""Rates of counters: by samples, across resets and losses, of counters that are refreshed slowly."""

import numpy as np
import pytest

from accelwatch.detection.baselines.rates import Rates, rates
from accelwatch.detection.baselines.state import RowMemory
from accelwatch.detection.signals.layout import Layout
from accelwatch.detection.signals.signal import Form, SignalRow

_LAYOUT = Layout.of(
    (SignalRow(("power_watts",), "power"), SignalRow(("ecc_errors_total",), "ecc", Form.RATE))
)


class _Counter:
    """A device with one counter."""

    def __init__(self) -> None:
        self._rows = RowMemory.empty(_LAYOUT, 1)

    def _rates(self, at: float, count: float) -> Rates:
        read = np.array([[500.0], [count]])
        return rates(_LAYOUT, self._rows, read, np.array([at]), 30.0)

    def rate(self, at: float, count: float) -> float:
        return float(self._rates(at, count).value[1, 0])

    def increase(self, at: float, count: float) -> float:
        return float(self._rates(at, count).increase[1, 0])


def test_a_gauge_is_as_read_and_has_no_increase() -> None:
    result = rates(
        _LAYOUT, RowMemory.empty(_LAYOUT, 1), np.array([[500.0], [1.0]]), np.array([0.0]), 30.0
    )
    assert result.value[0, 0] == 500.0
    assert np.isnan(result.increase[0, 0])


def test_the_first_sample_has_no_rate() -> None:
    counter = _Counter()
    assert np.isnan(counter.rate(0.0, 100.0))
    assert counter.rate(30.0, 400.0) == 10.0


def test_the_first_sample_has_no_increase() -> None:
    counter = _Counter()
    assert np.isnan(counter.increase(0.0, 100.0))
    assert counter.increase(30.0, 400.0) == 300.0


def test_time_is_that_between_samples() -> None:
    counter = _Counter()
    counter.rate(0.0, 0.0)
    counter.rate(30.0, 300.0)
    assert counter.rate(70.0, 700.0) == 10.0


def test_a_lost_sample_is_spread_over_the_time() -> None:
    counter = _Counter()
    counter.rate(0.0, 0.0)
    assert np.isnan(counter.rate(30.0, np.nan))
    assert counter.rate(60.0, 600.0) == 10.0


def test_a_sample_that_was_there_before_counts_once() -> None:
    counter = _Counter()
    counter.increase(0.0, 0.0)
    assert counter.increase(30.0, 300.0) == 300.0
    assert np.isnan(counter.increase(30.0, 300.0))
    assert counter.rate(30.0, 300.0) == 10.0


def test_a_counter_that_fell_is_unknown_once() -> None:
    counter = _Counter()
    counter.rate(0.0, 1000.0)
    counter.rate(30.0, 1300.0)
    assert np.isnan(counter.rate(60.0, 5.0))
    assert counter.rate(90.0, 305.0) == 10.0


def test_what_a_reset_counted_is_unknown() -> None:
    counter = _Counter()
    counter.increase(0.0, 1000.0)
    assert np.isnan(counter.increase(30.0, 5.0))
    assert counter.increase(60.0, 6.0) == 1.0


def test_no_sample_ever_is_unknown() -> None:
    assert np.isnan(_Counter().rate(-np.inf, 5.0))


def test_a_counter_that_is_read_and_stands_has_rate_zero() -> None:
    counter = _Counter()
    for tick in range(5):
        counter.rate(30.0 * tick, 300.0 * tick)
    assert counter.rate(150.0, 1200.0) == 0.0


def test_a_slow_counter_keeps_its_rate_between_refreshes() -> None:
    counter = _Counter()
    a_second = [counter.rate(30.0 * tick, 900.0 * (tick // 3)) for tick in range(20)]
    assert a_second[9:] == pytest.approx([10.0] * 11)


def test_a_slow_counter_that_stands_past_its_time_has_rate_zero() -> None:
    counter = _Counter()
    for tick in range(16):
        counter.rate(30.0 * tick, 900.0 * (tick // 3))
    assert [counter.rate(30.0 * tick, 4500.0) for tick in (16, 17, 18)] == [10.0, 10.0, 0.0]


def test_a_single_pause_of_the_work_is_not_a_slow_counter() -> None:
    counter = _Counter()
    for tick, count in enumerate((0.0, 300.0, 600.0, 600.0, 600.0, 900.0, 1200.0)):
        counter.rate(30.0 * tick, count)
    assert counter.rate(210.0, 1200.0) == 0.0


def test_a_counter_that_seldom_counts_is_not_a_slow_counter() -> None:
    counter = _Counter()
    for tick in range(31):
        counter.rate(30.0 * tick, float(tick // 10))
    assert counter.rate(930.0, 3.0) == 0.0
