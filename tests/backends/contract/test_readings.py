"""What is read: in the catalogue, in range, never invented, and with a reason for every gap."""

import math
from collections.abc import Sequence

import msgspec
import pytest

from accelwatch.backend import Backend, Elsewhere, Request
from accelwatch.base.absence import Absence
from accelwatch.node.sampler.turns.contract import sound_readings
from accelwatch.schema.catalogue.lookup import by_key, host_metrics, reading_metrics
from accelwatch.schema.device import DeviceKind
from accelwatch.schema.metrics import Kind, Metric, MetricSource, Tier
from accelwatch.schema.reading import Number, Reading, complete
from support.machines.polling import EVERYTHING, Poll, Polled, assert_all_believed, readings
from support.machines.staged_machines import FixtureMachine

MAY_EXCEED_ONE = {"fan_speed_ratio"}
FLAGS = {
    "throttle_active",
    "ecc_enabled",
    "memory_repair_pending",
    "memory_repair_failed",
    "reset_required",
    "link_up",
    "host_network_up",
    "host_rdma_port_up",
    "host_clock_synchronized",
}
SIGNED = {"temperature_headroom_celsius", "temperature_margin_celsius", "host_clock_offset_seconds"}
PERMANENT = (Absence.UNSUPPORTED, Absence.NOT_COLLECTED)


def in_range(row: Metric, value: Number) -> bool:
    """Whether a number can be true at all."""
    if row.key in FLAGS:
        return value in (0, 1)
    if row.unit == "celsius" and row.key not in SIGNED:
        return -50 <= value <= 150
    if row.unit == "ratio" and row.key not in MAY_EXCEED_ONE:
        return 0 <= value <= 1
    if row.unit == "hertz":
        return 0 <= value <= 100e9
    if row.unit == "watts":
        return 0 <= value <= 20_000
    return value >= 0 or row.key in SIGNED


def test_every_number_is_believed(polled: list[Polled]) -> None:
    for one in polled:
        if one.readings:
            assert_all_believed(one.identity, one.readings)


def test_a_device_has_values_or_says_why_not(polled: list[Polled]) -> None:
    """So that the other tests have something to look at."""
    for one in polled:
        answered = any(reading.values or reading.absent for reading in one.readings)
        assert answered != (one.error is not None), one.found.name


def test_series_are_in_the_catalogue_with_all_labels(polled: list[Polled]) -> None:
    for reading in readings(polled):
        for series in reading.values:
            row = by_key()[series[0]]
            assert row.source is MetricSource.READ, series
            assert len(series) == len(row.labels) + 1, series
            assert all(series[1:]), series
        for series in reading.absent:
            if series[0] not in ("*", "processes"):
                row = by_key()[series[0]]
                assert len(series) in (1, len(row.labels) + 1), series


def test_values_are_numbers_in_range(rounds: list[list[Polled]]) -> None:
    for polled in rounds[:2]:
        for reading in readings(polled):
            for series, value in reading.values.items():
                assert type(value) in (int, float), (series, value)
                assert math.isfinite(value), (series, value)
                assert in_range(by_key()[series[0]], value), (series, value)


def test_numbers_are_reported_before_processes_are(backend: Backend, poll: Poll) -> None:
    """By a backend that looks for processes: of the same devices, enough to stand for a reading.

    What is recorded takes no time to be read, and is told at once.
    """
    in_advance: dict[str, Sequence[Reading]] = {}

    def numbers(readings: Sequence[Reading]) -> None:
        assert in_advance.setdefault(readings[0].device_id, tuple(readings)) == tuple(readings)

    for one in poll(backend, msgspec.structs.replace(EVERYTHING, numbers=numbers)):
        searched = any(reading.processes for reading in one.readings)
        if not searched or isinstance(backend, Elsewhere):
            continue
        first = sound_readings(
            in_advance[one.readings[0].device_id], tuple(one.identity), EVERYTHING.groups
        )
        assert [r.device_id for r in first] == [r.device_id for r in one.readings]
        for early, late in zip(first, one.readings, strict=True):
            assert set(early.values) <= set(late.values)


def test_counters_never_decrease(rounds: list[list[Polled]]) -> None:
    before: dict[tuple[str, tuple[str, ...]], Number] = {}
    for polled in rounds:
        for reading in readings(polled):
            for series, value in reading.values.items():
                if by_key()[series[0]].kind is Kind.COUNTER:
                    key = (reading.device_id, series)
                    assert value >= before.get(key, 0), key
                    before[key] = value


def test_no_series_has_both_a_value_and_a_reason(polled: list[Polled]) -> None:
    for reading in readings(polled):
        assert not reading.values.keys() & reading.absent.keys()
        assert all(isinstance(reason, Absence) for reason in reading.absent.values())


def test_used_memory_fits_its_size(polled: list[Polled]) -> None:
    for reading in readings(polled):
        used, size = (reading.values.get((f"memory_{what}_bytes",)) for what in ("used", "size"))
        if used is not None and size is not None:
            assert used <= size


def test_every_gap_has_a_reason_once_completed(polled: list[Polled]) -> None:
    for one in polled:
        host = one.found.kind is DeviceKind.HOST
        rows = host_metrics() if host else reading_metrics()
        for reading in one.readings:
            whole = complete(reading, frozenset(), host=host)
            assert not [note for note in whole.notes if "not in the catalogue" in note]
            known = {series[0] for series in (*whole.values, *whole.absent)}
            assert not [row.key for row in rows if row.key not in known]
            assert (whole.processes is not None) or ("processes",) in whole.absent


def test_the_first_reading_is_the_device_s_and_partitions_follow(polled: list[Polled]) -> None:
    for one in polled:
        if one.error is None:
            ids = [reading.device_id for reading in one.readings]
            assert ids[0] == one.identity[0].id
            assert len(set(ids)) == len(ids)
            assert set(ids) <= {device.id for device in one.identity}


def test_processes_belong_to_their_device(polled: list[Polled]) -> None:
    for reading in readings(polled):
        for process in reading.processes or ():
            assert process.device_id == reading.device_id
            assert process.pid > 0
            assert process.pid_namespace in ("same", "foreign")
            assert set(process.type.split("+")) <= {"compute", "graphics", "mps"}
            assert process.argv is None
            for field in ("gpu_memory_bytes", "host_memory_bytes"):
                value = getattr(process, field)
                assert value is None or 0 <= value < 1 << 50, field
            ratio = process.utilization_ratio
            assert ratio is None or 0 <= ratio <= 1


def test_only_what_is_requested_is_read(backend: Backend, poll: Poll) -> None:
    for one in poll(backend, Request(processes=False)):
        if not one.readings:
            continue
        for reading in sound_readings(tuple(one.readings), tuple(one.identity), frozenset()):
            unasked = {s for s in reading.values if by_key()[s[0]].tier is Tier.OPT_IN}
            assert not unasked
            assert not reading.processes


def test_a_quick_reading_has_what_a_slow_one_has(backend: Backend, poll: Poll) -> None:
    slow = {reading.device_id: set(reading.values) for reading in readings(poll(backend))}
    for one in poll(backend, msgspec.structs.replace(EVERYTHING, slow=False)):
        for reading in one.readings:
            assert slow[reading.device_id] <= set(reading.values)


@pytest.mark.needs("devices")
def test_a_broken_device_never_hides_the_others(
    polled: list[Polled], machine: FixtureMachine
) -> None:
    if machine.healthy:
        assert not [one.error for one in polled if one.error]
        assert all(one.readings[0].values for one in polled)
        return
    troubled = [
        one
        for one in polled
        if one.error
        or any(reason not in PERMANENT for r in one.readings for reason in r.absent.values())
    ]
    assert troubled, "a faulty machine without trouble"
    if len(polled) > 1:
        assert [one for one in polled if one.error is None and one.readings[0].values]
