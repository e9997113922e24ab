"""Conversions and the settling of absences, without any library."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DevicePermission, DeviceTimeout, ReadError
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.reading import Collected
from accelwatch_nvidia import mapping, returns
from accelwatch_nvidia.quantities.calls import CALLS
from accelwatch_nvidia.quantities.fields import FIELDS
from accelwatch_nvidia.quantities.gpm import METRICS
from accelwatch_nvidia.smi import rows as smi_rows

ROWS = [
    *((series, row.group) for row in CALLS for series in row.series),
    *((row.series, row.group) for row in FIELDS),
    *((row.series, row.group) for row in smi_rows.ROWS),
    *((series, group) for _, series, group in METRICS),
]


@pytest.mark.parametrize(("series", "group"), ROWS)
def test_each_row_is_in_the_catalogue_with_its_labels_and_group(
    series: tuple[str, ...], group: str
) -> None:
    row = by_key()[series[0]]
    assert len(series) == len(row.labels) + 1
    assert row.group == group


def test_no_two_rows_of_a_table_differ_only_in_group() -> None:
    by_series: dict[tuple[str, ...], set[str]] = {}
    for series, group in ROWS:
        by_series.setdefault(series, set()).add(group)
    assert all(len(groups) == 1 for groups in by_series.values())


@given(st.integers(0, (1 << 64) - 1), st.integers(0, (1 << 64) - 1))
def test_throttle_reasons_are_flags_of_a_fixed_vocabulary(mask: int, supported: int) -> None:
    states = mapping.throttle(mask, supported)
    words = {"clock_setting", "power", "sync_boost", "thermal_software", "thermal_hardware"}
    assert set(states) <= words | {"power_brake", "other"}
    assert set(states.values()) <= {0, 1}
    if mask & ~1 == 0:
        assert not any(states.values())
    else:
        assert any(states.values())


def test_a_hardware_slowdown_counts_once() -> None:
    assert mapping.throttle(0x8 | 0x80, 0x1FF)["other"] == 0
    assert mapping.throttle(0x8, 0x1FF)["other"] == 1
    assert "other" not in mapping.throttle(0, 0x4)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (0, 0.0),
        (100, 1.0),
        (101, Absence.ERROR),
        (-1, Absence.ERROR),
        (float("nan"), Absence.ERROR),
    ],
)
def test_percent(raw: float, value: float | Absence) -> None:
    assert mapping.percent(raw) == value


def test_a_fan_may_exceed_its_maximum() -> None:
    assert mapping.free_percent(104) == 1.04


@pytest.mark.parametrize(
    ("raw", "value"), [(0, 0), (15, 15), (32, Absence.UNSUPPORTED), (99, Absence.ERROR)]
)
def test_performance_state(raw: int, value: int | Absence) -> None:
    assert mapping.performance_state(raw) == value


def test_the_first_source_wins_and_the_most_telling_absence_stays() -> None:
    collected = Collected("x")
    key = ("power_watts",)
    mapping.record_first(collected, key, Absence.PERMISSION)
    mapping.record_first(collected, key, Absence.UNSUPPORTED)
    assert collected.absent[key] is Absence.PERMISSION
    mapping.record_first(collected, key, 5)
    mapping.record_first(collected, key, 7)
    mapping.record_first(collected, key, Absence.ERROR)
    assert collected.values == {key: 5}
    assert key not in collected.absent


def test_absences_are_settled_by_quantity() -> None:
    absent = {
        ("temperature_celsius", "memory"): Absence.UNSUPPORTED,
        ("clock_hertz", "sm"): Absence.ERROR,
        ("fan_speed_ratio", "0"): Absence.UNSUPPORTED,
        ("fan_speed_ratio", "1"): Absence.PERMISSION,
        ("power_watts",): Absence.ERROR,
    }
    values = {
        ("temperature_celsius", "gpu"): 5,
        ("clock_hertz", "graphics"): 1,
        ("power_watts",): 3,
    }
    assert mapping.settle(absent, values) == {
        ("clock_hertz", "sm"): Absence.ERROR,
        ("fan_speed_ratio",): Absence.PERMISSION,
    }


@pytest.mark.parametrize(
    ("code", "error", "absence"),
    [
        (4, DevicePermission, Absence.PERMISSION),
        (10, DeviceTimeout, Absence.TIMEOUT),
        (15, DeviceLost, Absence.LOST),
        (16, DeviceLost, Absence.LOST),
        (999, DeviceLost, Absence.LOST),
        (27, ReadError, Absence.ERROR),
        (4242, ReadError, Absence.ERROR),
    ],
)
def test_failure_of_a_device(code: int, error: type[ReadError], absence: Absence) -> None:
    raised = returns.failure(code, "nvidia3", "every call")
    assert type(raised) is error
    assert raised.absence is absence
    assert raised.code == returns.name(code)
    assert str(raised).startswith("nvidia3: every call: NVML_ERROR_")


def test_names_of_codes() -> None:
    assert returns.name(15) == "NVML_ERROR_GPU_IS_LOST"
    assert returns.name(4242) == "NVML_ERROR_4242"


def test_the_codes_are_those_of_the_binding() -> None:
    import pynvml

    for code, name in returns.NAMES.items():
        assert getattr(pynvml, f"NVML_ERROR_{name}", code) == code


def test_a_reason_that_is_active_is_reported_though_the_driver_lists_it_as_unsupported() -> None:
    assert mapping.throttle(0x20, 0x4) == {"power": 0, "thermal_software": 1}
