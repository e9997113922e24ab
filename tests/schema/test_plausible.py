"""A number that cannot be true is an absence on every surface; what devices reach never is."""

import csv
import io
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.base.absence import Absence
from accelwatch.node.sampler.turns.contract import sound_readings
from accelwatch.schema.catalogue.lookup import by_key, host_metrics, opt_in_groups, reading_metrics
from accelwatch.schema.json.wire import decode, encode
from accelwatch.schema.metrics import Kind, Metric, Series
from accelwatch.schema.reading import Number, Process, Reading
from accelwatch.schema.values.plausible import (
    SENTINELS,
    believed,
    believed_process,
    bounds,
    fits,
    limits,
    oversized,
    refusal_text,
)
from accelwatch_csv import CsvExporter
from accelwatch_json import JsonExporter
from accelwatch_prometheus import PrometheusExporter
from support.machines.composed import snapshot, view

READ = tuple(row for row in reading_metrics() if row.kind is not Kind.HISTOGRAM)
DEVICE = view(0).device

# Empty registers of 32 and 64 bits; DCGM's blanks (dcgm_fields.h).
WIDE: tuple[Number, ...] = (
    2**31 - 1,
    2**32 - 1,
    2**63 - 1,
    2**64 - 1,
    0x7FFFFFF0,
    0x7FFFFFFFFFFFFFF0,
    -(2**31),
    -(2**63),
)
# (multiplied by, divided by) of the units that drivers count in.
RAW_UNITS: dict[str, tuple[tuple[int, int], ...]] = {
    "ratio": ((1, 1), (1, 100)),
    "celsius": ((1, 1), (1, 1000)),
    "watts": ((1, 1), (1, 1000), (1, 10**6)),
    "hertz": ((1, 1), (10**3, 1), (10**6, 1)),
    "volts": ((1, 1), (1, 1000), (1, 10**6)),
    "amperes": ((1, 1), (1, 1000)),
    "bytes": ((1, 1), (1 << 10, 1), (1 << 20, 1)),
    "bytes/s": ((1, 1), (1 << 10, 1), (10**6, 1)),
    "joules": ((1, 1), (1, 1000), (1, 10**6)),
    "seconds": ((1, 1), (1, 1000), (1, 10**6), (1, 10**9)),
}
# Empty registers of 8 and 16 bits, where they cannot be true.
NARROW: dict[str, tuple[Number, ...]] = {
    "ratio": (255 / 100, 65535 / 100),
    "celsius": (255, 65535, 65535 / 100),
    "watts": (65535,),
    "hertz": (65535 * 10**6,),
    "volts": (65.535,),
    "amperes": (65535,),
    "rpm": (65535,),
    "lanes": (255, 65535),
    "generation": (255, 65535),
}


def series_of(row: Metric) -> Series:
    return (row.key, *(row.primary[0] if row.primary else ("x",) * len(row.labels)))


@st.composite
def sentinels(draw: st.DrawFn) -> dict[str, Number]:
    """By unit, what an empty register looks like after its conversion."""
    raw = draw(st.sampled_from(WIDE))
    found: dict[str, Number] = {}
    for unit in {row.unit for row in READ}:
        times, per = draw(st.sampled_from(RAW_UNITS.get(unit, ((1, 1),))))
        wide = raw * times if per == 1 else raw / per
        found[unit] = draw(st.sampled_from((wide, float(wide), *NARROW.get(unit, ()))))
    return found


def sound(values: dict[Series, Number], processes: tuple[Process, ...] = ()) -> Reading:
    (found,) = sound_readings(
        [Reading(device_id=DEVICE.id, values=values, processes=processes)],
        (DEVICE,),
        frozenset(opt_in_groups()),
    )
    return found


@given(numbers=sentinels())
def test_no_surface_shows_an_empty_register(numbers: dict[str, Number]) -> None:
    values = {series_of(row): numbers[row.unit] for row in READ}
    reading = sound(values)
    assert reading.values == {}
    assert {reading.absent[series] for series in values} == {Absence.ERROR}
    assert reading.implausible.keys() == values.keys()
    shot = snapshot(msgspec.structs.replace(view(0), reading=reading))
    (item,) = json.loads(JsonExporter().render(shot, {}))["devices"]
    names = tuple(row.key for row in READ)
    cells = list(csv.reader(io.StringIO(CsvExporter().render(shot, {"fields": names}).decode())))
    text = PrometheusExporter().render(shot, {"groups": frozenset(opt_in_groups())}).decode()
    assert not any(numbers_in(item[name]) for name in names)
    assert set(cells[1]) <= {""}
    assert not [name for name in names if f"\naccel_{name}{{" in text]


def numbers_in(value: object) -> list[object]:
    if isinstance(value, dict):
        return [number for part in value.values() for number in numbers_in(part)]
    return [] if value is None else [value]


@pytest.mark.parametrize("row", [*READ, *host_metrics()], ids=lambda row: row.key)
def test_every_quantity_has_bounds_of_its_own_kind(row: Metric) -> None:
    low, high = bounds(row.key)
    assert low < high
    assert row.unit or row.bounds is not None or row.kind is Kind.INFO


@pytest.mark.parametrize(
    ("series", "value"),
    [
        (("ecc_lifetime_errors", "corrected"), 1_000_000_000),
        (("ecc_errors_total", "corrected"), 65535),
        (("fan_speed_ratio", "0"), 1.15),
        (("utilization_ratio",), 1.0000000002),
        (("temperature_celsius", "gpu"), -40),
        (("temperature_celsius", "memory"), 127),
        (("temperature_headroom_celsius",), -2),
        (("power_watts",), 23_000.0),
        (("power_watts",), 0),
        (("clock_hertz", "memory"), 32_000_000_000),
        (("voltage_volts", "input"), 54.5),
        (("memory_size_bytes",), 432 * 1024**3),
        (("interconnect_bytes_total", "nvlink", "transmit"), 14 * 10**18),
        (("energy_joules_total", "hardware"), 3.7e11),
        (("throttle_seconds_total", "power"), 3e8),
        (("host_cpu_seconds_total", "user"), 1e12),
        (("host_clock_offset_seconds",), -0.25),
    ],
)
def test_what_devices_reach_is_believed(series: Series, value: Number) -> None:
    assert series[0] in by_key()
    assert believed(series, value)


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        (("memory_used_bytes",), ("memory_size_bytes",)),
        (("memory_reserved_bytes",), ("memory_size_bytes",)),
        (("memory_pool_used_bytes", "bar1"), ("memory_pool_size_bytes", "bar1")),
    ],
)
def test_a_part_is_not_greater_than_its_whole(part: Series, whole: Series) -> None:
    reading = sound({part: 90 << 30, whole: 80 << 30})
    assert (reading.values, reading.absent[part]) == ({whole: 80 << 30}, Absence.ERROR)
    assert whole[0] in reading.implausible[part]
    equal: dict[Series, Number] = {part: 80 << 30, whole: 80 << 30}
    assert sound(equal).values == equal


def test_a_whole_that_cannot_be_true_condemns_no_part() -> None:
    reading = sound({("memory_used_bytes",): 80 << 30, ("memory_size_bytes",): 2**32 - 1})
    assert reading.values == {("memory_used_bytes",): 80 << 30}


def test_an_older_recording_does_not_bring_them_back() -> None:
    values: dict[Series, Number] = {("power_watts",): 4294967.295, ("utilization_ratio",): 0.5}
    reading = Reading(device_id=DEVICE.id, values=values, processes=())
    (found,) = decode(encode(snapshot(msgspec.structs.replace(view(0), reading=reading)))).devices
    assert found.reading.values == {("utilization_ratio",): 0.5}
    assert found.reading.absent["power_watts",] is Absence.ERROR


def test_numbers_of_a_process_are_looked_at_too() -> None:
    bad = Process(device_id=DEVICE.id, pid=1, gpu_memory_bytes=2**64 - 1, utilization_ratio=0.5)
    good = Process(device_id=DEVICE.id, pid=2, gpu_memory_bytes=1 << 30)
    first, second = sound({}, (bad, good)).processes or ()
    assert (first.gpu_memory_bytes, first.utilization_ratio) == (None, 0.5)
    assert first.absent == {"gpu_memory_bytes": Absence.ERROR}
    assert second == good


USED, SIZE = ("memory_used_bytes",), ("memory_size_bytes",)


def test_bounds_themselves_are_believed() -> None:
    low, high = bounds("temperature_celsius")
    series = ("temperature_celsius", "gpu")
    assert (low, high) == (-60.0, 200.0)
    assert [believed(series, value) for value in (low, high)] == [True, True]
    assert [believed(series, value) for value in (-60.5, 200.5)] == [False, False]
    assert not believed(series, float("nan"))


def test_an_unknown_quantity_is_a_count() -> None:
    assert bounds("of_a_plug_in") == (0.0, 1e15)


@pytest.mark.parametrize(
    ("used", "size", "fitting"),
    [(100, 100, True), (101, 100, True), (102, 100, False), (0, 0, True), (102, 2**32 - 1, True)],
)
def test_a_part_may_be_rounded_above_its_whole_by_a_percent(
    used: int, size: int, fitting: bool
) -> None:
    assert fits(used, SIZE, {SIZE: size}) is fitting
    assert oversized({USED: used, SIZE: size}) == ([] if fitting else [USED])


def test_a_part_without_a_whole_fits() -> None:
    assert fits(10**9, None, {})
    assert fits(10**9, SIZE, {USED: 10**9})
    assert oversized({USED: 10**9}) == []
    assert oversized({SIZE: 10**9}) == []


def test_every_part_that_is_too_great_is_named() -> None:
    reserved = ("memory_reserved_bytes",)
    assert oversized({USED: 300, reserved: 200, SIZE: 100}) == [USED, reserved]
    assert oversized({USED: 50, reserved: 200, SIZE: 100}) == [reserved]


def test_a_part_is_compared_with_the_whole_of_its_own_labels() -> None:
    pool = limits(("memory_pool_used_bytes", "bar1"))
    assert pool.total == ("memory_pool_size_bytes", "bar1")
    assert limits(SIZE).total is None
    assert (pool.low, pool.high) == bounds("memory_pool_used_bytes")


@pytest.mark.parametrize(
    ("series", "value", "text"),
    [
        (("power_watts",), 65535, "65535 is not believed; 0 to 50000 watts can be true"),
        (
            ("temperature_celsius", "gpu"),
            255.0,
            "255.0 is not believed; -60 to 200 celsius can be true",
        ),
        (
            ("temperature_celsius", "gpu"),
            0,
            "0 is not believed; the source writes 0 for what it could not read",
        ),
        (("power_watts",), 0.05, "0.05 is not believed; the source does not write such numbers"),
        (
            ("power_watts",),
            4294967295 / 10**6,
            "4294.967295 is not believed; an empty register reads like this",
        ),
        (("of_a_plug_in",), -1, "-1 is not believed; 0 to 1e+15 can be true"),
        (("power_watts",), "x" * 50, f"{'x' * 40} is not believed; 0 to 50000 watts can be true"),
        (USED, 2**33, "8589934592 is not believed; it is more than memory_size_bytes"),
        (USED, -1, "-1 is not believed; 0 to 7.03687e+13 bytes can be true"),
        (USED, "1", "1 is not believed; 0 to 7.03687e+13 bytes can be true"),
        (SIZE, 2**33, "8589934592 is not believed; the source does not write such numbers"),
    ],
)
def test_a_refusal_says_the_number_and_what_would_be_believed(
    series: Series, value: object, text: str
) -> None:
    assert refusal_text(series, value) == text


@pytest.mark.parametrize(
    ("numbers", "bad"),
    [
        ({"utilization_ratio": 64.0}, set()),
        ({"utilization_ratio": 64.5}, {"utilization_ratio"}),
        ({"utilization_ratio": 0.0}, set()),
        ({"utilization_ratio": -0.5}, {"utilization_ratio"}),
        ({"gpu_memory_bytes": 2**32 - 1}, {"gpu_memory_bytes"}),
        ({"start_time": 1.7e9, "cpu_utilization_ratio": 1e6}, {"cpu_utilization_ratio"}),
    ],
)
def test_which_numbers_of_a_process_are_believed(numbers: dict[str, Number], bad: set[str]) -> None:
    process = Process(device_id=DEVICE.id, pid=1, **numbers)  # type: ignore[arg-type]
    found = believed_process(process)
    assert {name for name in numbers if getattr(found, name) is None} == bad
    assert found.absent == dict.fromkeys(bad, Absence.ERROR)


@pytest.mark.parametrize("register", [2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1, 0x7FFFFFF0])
def test_an_empty_register_is_known_in_every_unit_that_drivers_count_in(register: int) -> None:
    converted: list[Number] = [
        register * scale for scale in (1, 1000, 1 << 10, 1 << 20, 10**6, 10**9)
    ]
    converted += [float(register * 1000)]
    divided = [register / part for part in (100, 1000, 10**6, 10**9)]
    multiplied = [register * 0.01, register * 0.001, register * 1e-6]
    assert SENTINELS.issuperset([*converted, *divided, *multiplied])
    assert SENTINELS.isdisjoint([register + 1e6, 0, 1, 100, 80 << 30])
