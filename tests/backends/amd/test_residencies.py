"""Residency counters into seconds."""

import pytest

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch_amd.gpu_metrics.throttle import ResidencyMeter


def recorded(meter: ResidencyMeter) -> Collected:
    out = Collected("d")
    meter.record(out)
    return out


def test_one_table_has_no_time() -> None:
    meter = ResidencyMeter()
    meter.update(100, {"power": 50}, 1.0)
    out = recorded(meter)
    assert not out.values
    assert out.absent["throttle_seconds_total", "power"] is Absence.NOT_COLLECTED
    assert out.absent["throttle_active", "power"] is Absence.NOT_COLLECTED


def test_share_of_ticks_becomes_seconds() -> None:
    meter = ResidencyMeter()
    for now, ticks, power in ((0.0, 0, 0), (1.0, 1000, 250), (2.0, 2000, 250), (4.0, 4000, 1250)):
        meter.update(ticks, {"power": power}, now)
    out = recorded(meter)
    assert out.values["throttle_seconds_total", "power"] == pytest.approx(1.25)
    assert out.values["throttle_active", "power"] == 1


def test_counters_wrap_at_32_bits() -> None:
    meter = ResidencyMeter()
    meter.update((1 << 32) - 500, {"power": (1 << 32) - 100}, 0.0)
    meter.update(500, {"power": 400}, 1.0)
    assert recorded(meter).values["throttle_seconds_total", "power"] == pytest.approx(0.5)


def test_counter_that_fell_after_a_reset_adds_nothing() -> None:
    meter = ResidencyMeter()
    meter.update(1000, {"power": 900}, 0.0)
    meter.update(2000, {"power": 950}, 1.0)
    meter.update(10, {"power": 0}, 2.0)
    out = recorded(meter)
    assert out.values["throttle_seconds_total", "power"] == pytest.approx(0.05)
    assert ("throttle_active", "power") not in out.values


def test_long_silence_and_stopped_clock_add_nothing() -> None:
    meter = ResidencyMeter()
    meter.update(0, {"power": 0}, 0.0)
    meter.update(10, {"power": 10}, 0.0)
    meter.update(20, {"power": 20}, 10_000.0)
    assert ("throttle_seconds_total", "power") not in recorded(meter).values


def test_residencies_without_a_counter_only_show_whether_they_move() -> None:
    meter = ResidencyMeter()
    meter.update(None, {"power": 5, "power_brake": 1}, 0.0)
    meter.update(None, {"power": 9, "power_brake": 1}, 1.0)
    out = recorded(meter)
    assert out.values == {("throttle_active", "power"): 1, ("throttle_active", "power_brake"): 0}
    assert ("throttle_seconds_total", "power") not in out.absent
