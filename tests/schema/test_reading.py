"""Every quantity a device could have gets a value or a reason; nonsense never becomes a value."""

import math

from accelwatch.base.absence import Absence
from accelwatch.schema.catalogue.lookup import reading_metrics
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected, Number, Reading, complete


def test_what_a_backend_did_not_say_is_unsupported_or_not_collected() -> None:
    reading = complete(Reading(device_id="x", values={("power_watts",): 1.0}), frozenset())
    assert ("power_watts",) not in reading.absent
    assert reading.absent[("fan_speed_ratio",)] is Absence.UNSUPPORTED
    assert reading.absent[("voltage_volts",)] is Absence.NOT_COLLECTED
    families = {series[0] for series in (*reading.values, *reading.absent)}
    assert families == {row.key for row in reading_metrics()} | {"processes"}


def test_an_opt_in_group_that_is_on_and_silent_is_unsupported() -> None:
    reading = complete(Reading(device_id="x"), frozenset({"components"}))
    assert reading.absent[("voltage_volts",)] is Absence.UNSUPPORTED


def test_a_series_outside_the_catalogue_is_left_out_with_a_note() -> None:
    values: dict[Series, Number] = {
        ("power_watts",): 1.0,
        ("nonsense",): 2.0,
        ("temperature_celsius",): 3.0,
    }
    reading = complete(Reading(device_id="x", values=values), frozenset())
    assert reading.values == {("power_watts",): 1.0}
    assert reading.absent[("temperature_celsius",)] is Absence.UNSUPPORTED
    assert "nonsense" in reading.notes[0]


def test_nan_is_an_error_and_never_a_value() -> None:
    found = Collected("x")
    found.put("power_watts", math.nan)
    found.put("voltage_volts", math.inf, "core")
    assert found.reading().values == {}
    assert found.reading().absent == {
        ("power_watts",): Absence.ERROR,
        ("voltage_volts", "core"): Absence.ERROR,
    }


def test_a_value_outlives_a_later_miss_and_replaces_an_earlier_one() -> None:
    found = Collected("x")
    found.miss("power_watts", Absence.PERMISSION)
    found.put("power_watts", 0)
    found.miss("power_watts", Absence.ERROR)
    assert found.values == {("power_watts",): 0}
    assert found.absent == {}


def test_a_value_or_a_reason_is_kept_under_its_labels() -> None:
    found = Collected("x")
    found.put_or_miss("voltage_volts", 0.75, "core")
    found.put_or_miss("throttle_active", True, "power")
    found.put_or_miss("throttle_active", Absence.PERMISSION, "thermal_hardware")
    reading = found.reading()
    assert reading.values == {("voltage_volts", "core"): 0.75, ("throttle_active", "power"): 1}
    assert type(reading.values["throttle_active", "power"]) is int
    assert reading.absent == {("throttle_active", "thermal_hardware"): Absence.PERMISSION}
