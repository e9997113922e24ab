"""What is written comes back: values, absences, counters, at any cut of days and parts."""

import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.archive.history.layout import DEVICES, NODES, SPAN_MS
from accelwatch.archive.history.names import column_of, series_of
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.archive.history.rows import EventRow, JobRow
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from support.archives.history_archives import (
    DAY,
    HEAT,
    LOAD,
    POWER,
    SENT,
    Sample,
    gathered,
    steady,
    write,
    writer,
)

_NUMBER = st.one_of(
    st.integers(0, 2**53), st.floats(-1e12, 1e12, allow_nan=False), st.just(math.nan)
)
_VALUES = st.dictionaries(st.sampled_from([POWER, HEAT, SENT]), _NUMBER)
_AT = st.tuples(st.integers(0, 2 * 86_400_000 - 1), st.sampled_from("ab"), st.sampled_from("xy"))


def values_in(
    folder: Path, table: str = DEVICES
) -> dict[tuple[int, str, str], dict[Series, Number]]:
    """Every sample with a value, as it was written."""
    samples = Archive(folder).samples(table)
    found: dict[tuple[int, str, str], dict[Series, Number]] = {}
    before = -1
    for group in samples.groups():
        assert group.times[0] > before, "row groups follow each other"
        before = int(group.times[-1])
        for at, (time, number) in enumerate(zip(group.times, group.entity, strict=True)):
            entity = samples.entities[number]
            values = {s: float(c[at]) for s, c in group.columns.items() if not np.isnan(c[at])}
            assert (int(time), entity.node, entity.device) not in found
            found[int(time), entity.node, entity.device] = values
    return found


@settings(max_examples=15, deadline=None)
@given(
    st.dictionaries(_AT, _VALUES, max_size=30),
    st.lists(st.integers(0, 2 * 86_400_000), max_size=4).map(sorted),
)
def test_what_is_written_comes_back(
    rows: dict[tuple[int, str, str], dict[Series, Number]], cuts: list[int]
) -> None:
    samples: list[Sample] = [
        (DAY + time, node, device, values) for (time, node, device), values in sorted(rows.items())
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        archive = writer(folder)
        start = 0
        for cut in [*cuts, 3 * 86_400_000]:
            part = [sample for sample in samples if start <= sample[0] - DAY < cut]
            archive.add(gathered(part).pop_batch())
            archive.cut(DAY + cut)
            start = cut
        archive.close(DAY + 3 * 86_400_000)
        assert archive.dropped == 0
        assert values_in(folder) == {
            (time, node, device): {
                series: float(value) for series, value in values.items() if not math.isnan(value)
            }
            for time, node, device, values in samples
        }


def test_a_day_is_one_file_with_row_groups_of_three_hours(tmp_path: Path) -> None:
    write(tmp_path / "a", steady(minutes=7 * 60))
    (file,) = (tmp_path / "a" / DEVICES).glob("*.parquet")
    assert file.name == "date=2026-03-01.parquet"
    groups = [*Archive(tmp_path / "a").samples(DEVICES).groups()]
    assert len(groups) == 3
    assert all(group.times[-1] - group.times[0] < SPAN_MS for group in groups)
    assert not [*(tmp_path / "a" / DEVICES / "_open").iterdir()]


def test_parts_of_a_day_that_goes_on_are_read(tmp_path: Path) -> None:
    samples = steady(minutes=60)
    archive = writer(tmp_path / "a")
    for start in range(0, len(samples), 60):
        archive.add(gathered(samples[start : start + 60]).pop_batch())
        archive.cut(samples[start : start + 60][-1][0] + 1)
    archive.close(samples[-1][0] + 1)
    assert len(values_in(tmp_path / "a")) == sum(1 for sample in samples if sample[2])
    assert len(values_in(tmp_path / "a", NODES)) == sum(1 for sample in samples if not sample[2])


def test_a_writer_goes_on_where_another_ended(tmp_path: Path) -> None:
    first, second = steady(minutes=30), steady(minutes=30, start=DAY + 1_800_000)
    write(tmp_path / "a", first, before=DAY + 1_800_000)
    write(tmp_path / "a", second, before=DAY + 3_600_000)
    assert len(values_in(tmp_path / "a")) == sum(1 for row in first + second if row[2])


def test_what_comes_too_late_is_dropped_and_counted(tmp_path: Path) -> None:
    archive = writer(tmp_path / "a")
    archive.add(gathered([(DAY + 5000, "a", "x", {POWER: 1})]).pop_batch())
    archive.cut(DAY + 10_000)
    archive.add(gathered([(DAY + 7000, "a", "x", {POWER: 2})]).pop_batch())
    archive.close(DAY + 20_000)
    assert archive.dropped == 1
    assert [*values_in(tmp_path / "a").values()] == [{POWER: 1.0}]


def test_events_and_jobs_come_back(tmp_path: Path) -> None:
    event = EventRow(time=DAY + 1, node="a", device=None, kind="xid", code="xid_79", text="fell")
    job = JobRow(job="7", user="ada", node="a", device=None, start=DAY, end=None, stage=None)
    write(tmp_path / "a", [(DAY, "a", "x", {POWER: 1})], events=[event], jobs=[job])
    archive = Archive(tmp_path / "a")
    assert [*archive.events()] == [event]
    assert archive.jobs() == [job]
    assert archive.maintenance() == []


def test_ticks_have_the_newest_sample_of_each_entity(tmp_path: Path) -> None:
    rows: list[Sample] = [
        (DAY + 1_000, "a", "x", {POWER: 1}),
        (DAY + 20_000, "a", "x", {POWER: 2}),
        (DAY + 30_000, "a", "y", {HEAT: 50}),
        (DAY + 30_001, "a", "", {LOAD: 3}),
        (DAY + 100_000, "a", "x", {POWER: 5}),
    ]
    archive = Archive(write(tmp_path / "a", rows))
    devices, nodes = archive.samples(DEVICES), archive.samples(NODES)
    ticks = [*archive.ticks(devices, nodes)]
    assert [tick.time - DAY / 1000 for tick in ticks] == [30.0, 60.0, 90.0, 120.0]
    assert [entity.device for entity in devices.entities] == ["x", "y"]
    first = ticks[0].devices
    assert first.present.tolist() == [True, True]
    assert first.times.tolist() == [DAY + 20_000, DAY + 30_000]
    np.testing.assert_array_equal(first.columns[POWER], [2.0, np.nan])
    np.testing.assert_array_equal(first.columns[HEAT], [np.nan, 50.0])
    assert ticks[1].nodes.columns[LOAD].tolist() == [3.0]
    assert not ticks[1].devices.present.any()
    assert ticks[3].devices.present.tolist() == [True, False]


def test_an_interval_goes_on_in_the_next_row_group(tmp_path: Path) -> None:
    rows: list[Sample] = [
        (DAY + SPAN_MS - 1, "a", "x", {POWER: 1}),
        (DAY + SPAN_MS, "a", "y", {POWER: 2}),
    ]
    archive = Archive(write(tmp_path / "a", rows))
    devices = archive.samples(DEVICES)
    (tick,) = archive.ticks(devices, archive.samples(NODES))
    assert tick.devices.present.tolist() == [True, True]


@pytest.mark.parametrize(
    ("series", "column"),
    [
        (("power_watts",), "power_watts"),
        (("temperature_celsius", "gpu"), "temperature_celsius.gpu"),
        (("fleet_target_clock_skew_seconds",), "fleet_target_clock_skew_seconds"),
        (
            ("host_network_bytes_total", "eth0.100", "receive"),
            "host_network_bytes_total.eth0.100.receive",
        ),
        (
            ("host_rdma_bytes_total", "mlx5_0", "1", "receive"),
            "host_rdma_bytes_total.mlx5_0.1.receive",
        ),
        (
            ("host_filesystem_available_bytes", "/mnt/v1.2"),
            "host_filesystem_available_bytes./mnt/v1.2",
        ),
    ],
)
def test_names_of_columns(series: Series, column: str) -> None:
    assert column_of(series) == column
    assert series_of(column) == series


@pytest.mark.parametrize(
    "column",
    ["no_such", "power_watts.x", "temperature_celsius", "health.ok", "interconnect_links.x"],
)
def test_columns_that_are_none(column: str) -> None:
    assert series_of(column) is None
