from typing import Any

import msgspec
import pytest

from accelwatch.node.store.accumulate import Accumulator, Distribution, RollingMax
from accelwatch.schema.reading import Reading


def reading(**values: float) -> Reading:
    return Reading(device_id="d", values={(key,): value for key, value in values.items()})


def fed(*samples: tuple[float, Reading], **more: Any) -> tuple[Accumulator, dict[Any, Any]]:
    accumulator = Accumulator(gap_limit_s=3.0, **more)
    for time_s, sample in samples:
        accumulator.add(sample, time_s)
    time_s, last = samples[-1]
    return accumulator, accumulator.values({series[0] for series in last.values}, time_s)


def test_busy_time_is_the_mean_since_the_sample_before_times_its_length() -> None:
    _, values = fed(
        (10.0, reading(utilization_ratio=0.9)),
        (11.0, reading(utilization_ratio=0.5)),
        (12.5, reading(utilization_ratio=1.0)),
    )
    assert values["busy_seconds_total",] == pytest.approx(0.5 + 1.5)


def test_busy_time_starts_at_nothing() -> None:
    _, values = fed((10.0, reading(utilization_ratio=1.0)))
    assert values["busy_seconds_total",] == 0.0


def test_a_gap_longer_than_the_limit_is_left_out() -> None:
    _, values = fed(
        (10.0, reading(utilization_ratio=1.0)),
        (14.0, reading(utilization_ratio=1.0)),
        (15.0, reading(utilization_ratio=1.0)),
    )
    assert values["busy_seconds_total",] == pytest.approx(1.0)


def test_the_gaps_of_a_slow_source_are_measured_by_its_pace() -> None:
    def sample(pace_s: float) -> Reading:
        return msgspec.structs.replace(reading(utilization_ratio=1.0), pace_s=pace_s)

    _, values = fed((10.0, sample(2.0)), (16.0, sample(2.0)), (22.1, sample(2.0)))
    assert values["busy_seconds_total",] == pytest.approx(6.0)
    _, values = fed((10.0, sample(0.5)), (13.0, sample(0.5)), (16.1, sample(0.5)))
    assert values["busy_seconds_total",] == pytest.approx(3.0)


def test_a_ratio_above_one_counts_as_one() -> None:
    _, values = fed((0.0, reading(utilization_ratio=1.0)), (1.0, reading(utilization_ratio=1.3)))
    assert values["busy_seconds_total",] == pytest.approx(1.0)


def test_power_is_integrated_where_no_counter_is() -> None:
    _, values = fed((0.0, reading(power_watts=100.0)), (2.0, reading(power_watts=200.0)))
    assert values["energy_joules_total", "integrated"] == pytest.approx(300.0)


def test_a_hardware_energy_counter_is_left_alone() -> None:
    sample = Reading(
        device_id="d", values={("power_watts",): 9.0, ("energy_joules_total", "hardware"): 5.0}
    )
    _, values = fed((0.0, sample), (1.0, sample))
    assert ("energy_joules_total", "integrated") not in values


def test_throttling_is_timed_by_reason_where_the_device_has_no_counter() -> None:
    def sample(thermal: int) -> Reading:
        return Reading(
            device_id="d",
            values={("throttle_active", "thermal"): thermal, ("throttle_active", "power"): 0},
        )

    _, values = fed((0.0, sample(0)), (1.0, sample(1)), (2.0, sample(1)), (3.0, sample(0)))
    assert values["throttle_seconds_total", "thermal"] == pytest.approx(2.0)
    assert values["throttle_seconds_total", "power"] == 0.0


def test_a_device_counter_of_throttling_is_left_alone() -> None:
    sample = Reading(
        device_id="d",
        values={("throttle_active", "thermal"): 1, ("throttle_seconds_total", "thermal"): 7.0},
    )
    _, values = fed((0.0, sample), (1.0, sample))
    assert ("throttle_seconds_total", "thermal") not in values


def test_maxima_roll() -> None:
    rolling = RollingMax(60.0)
    for time_s, value in ((0.0, 5.0), (10.0, 9.0), (20.0, 3.0), (69.0, 4.0)):
        rolling.add(time_s, value)
    assert rolling.value == 9.0
    rolling.forget(71.0)
    assert rolling.value == 4.0
    rolling.forget(200.0)
    assert rolling.value is None


def test_maxima_are_kept_by_sensor() -> None:
    def sample(gpu: float, memory: float) -> Reading:
        return Reading(
            device_id="d",
            values={("temperature_celsius", "gpu"): gpu, ("temperature_celsius", "memory"): memory},
        )

    _, values = fed((0.0, sample(80, 60)), (1.0, sample(70, 90)))
    assert values["window_temperature_max_celsius", "gpu"] == 80
    assert values["window_temperature_max_celsius", "memory"] == 90


def test_distributions_count_cumulatively_and_a_bound_belongs_to_its_bucket() -> None:
    distribution = Distribution((0.25, 0.5))
    for value in (0.1, 0.25, 0.3, 0.9):
        distribution.add(value)
    counts, total = distribution.cumulative()
    assert counts == (2, 3, 4)
    assert total == pytest.approx(1.55)


def test_histograms_are_kept_only_when_requested() -> None:
    without, _ = fed((0.0, reading(utilization_ratio=0.5)))
    assert without.histograms() == {}
    group = frozenset({"histograms"})
    kept, _ = fed((0.0, reading(utilization_ratio=0.5, power_watts=120.0)), groups=group)
    counts, total = kept.histograms()["sampled_power_watts"]
    assert counts == (0, 0, 1, 1, 1, 1, 1, 1)
    assert total == 120.0


def test_a_falling_hardware_counter_is_a_reset() -> None:
    def sample(joules: float) -> Reading:
        return Reading(device_id="d", values={("energy_joules_total", "hardware"): joules})

    group = frozenset({"ecc"})
    _, values = fed((0.0, sample(500.0)), (1.0, sample(600.0)), groups=group)
    assert values["resets_total",] == 0
    _, values = fed(
        (0.0, sample(500.0)),
        (1.0, sample(3.0)),
        (2.0, sample(9.0)),
        (3.0, sample(1.0)),
        groups=group,
    )
    assert values["resets_total",] == 2


def test_resets_of_the_driver_are_not_replaced() -> None:
    sample = Reading(
        device_id="d", values={("energy_joules_total", "hardware"): 1.0, ("resets_total",): 4}
    )
    _, values = fed((0.0, sample), groups=frozenset({"ecc"}))
    assert ("resets_total",) not in values
