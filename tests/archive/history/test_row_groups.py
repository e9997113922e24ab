"""Row groups by time, and who was heard when."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from accelwatch.archive.history import layout
from accelwatch.archive.history.layout import DEVICES, NODES
from accelwatch.archive.history.reading.presence import Presence
from accelwatch.archive.history.reading.row_groups import RowGroups
from accelwatch.archive.history.reading.samples import Samples
from support.archives.history_archives import DAY, HEAT, POWER, steady, write

HOUR = 3_600_000
_DAY_MS = 24 * HOUR


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two days of two nodes: hours 0 to 1 and 5 to 6 of the first, 0 to 1 of the second."""
    hours = (0, 5 * HOUR, _DAY_MS)
    samples = [one for at in hours for one in steady(60, devices=1, start=DAY + at, step_s=60)]
    return write(tmp_path / "fleet", samples)


def groups_of(folder: Path, table: str = DEVICES) -> RowGroups:
    return RowGroups(layout.segments(folder, table))


def test_row_groups_are_found_by_time(folder: Path) -> None:
    groups = groups_of(folder)
    first, second, third = groups
    assert (first.first, first.last) == (DAY, DAY + 59 * 60_000 + 100)
    assert groups.between(DAY + 2 * HOUR, DAY + 4 * HOUR) == []
    assert groups.between(DAY + HOUR // 2, DAY + 5 * HOUR) == [first, second]
    assert next(groups.before(DAY + 4 * HOUR)) == first
    assert list(groups.before(DAY + _DAY_MS)) == [third, second, first]
    assert next(groups.after(DAY + 2 * HOUR)) == second
    assert next(groups.after(third.last), None) is None
    assert groups.span() == (first.first, third.last)
    assert RowGroups([]).span() is None


def test_a_file_without_statistics_is_read_for_its_times(folder: Path) -> None:
    path = layout.day_file(folder, DEVICES, DAY)
    rows = pq.read_table(path)
    pq.write_table(rows, path, write_statistics=False)
    [first, *_] = groups_of(folder)
    assert (first.first, first.last) == (DAY, DAY + 6 * HOUR - 60_000 + 100)


def test_only_files_of_the_time_that_is_requested_are_opened(folder: Path) -> None:
    layout.day_file(folder, DEVICES, DAY + _DAY_MS).write_bytes(b"no Parquet")
    groups = groups_of(folder)
    assert len(groups.between(DAY, DAY + HOUR)) == 1
    assert groups.faults == {}
    assert groups.between(DAY + _DAY_MS, DAY + 2 * _DAY_MS) == []
    assert list(groups.faults) == [layout.day_file(folder, DEVICES, DAY + _DAY_MS)]


def test_a_node_of_a_row_group_has_the_values_that_it_has_in_the_whole(folder: Path) -> None:
    [group, *_] = groups_of(folder)
    whole, alone = Samples(folder, DEVICES), Samples(folder, DEVICES)
    everything, mine = (
        whole.read(group.path, group.at),
        alone.read_node(group.path, group.at, "node001"),
    )
    assert [entity.node for entity in alone.entities] == ["node001"]
    at = everything.entity == whole.entities.index(alone.entities[0])
    assert mine.times.tolist() == everything.times[at].tolist()
    for series in (POWER, HEAT):
        assert mine.columns[series].tolist() == everything.columns[series][at].tolist()


def test_a_key_alone_stands_for_all_its_series(folder: Path) -> None:
    [group, *_] = groups_of(folder)
    read = Samples(folder, DEVICES, [("temperature_celsius",)]).read(group.path, group.at)
    assert set(read.columns) == {HEAT}


@pytest.mark.parametrize("backwards", [False, True])
def test_when_each_node_reported_whatever_the_order_of_the_look(
    folder: Path, backwards: bool
) -> None:
    presence = Presence(gap_ms=300_000)
    parts = [(table, group) for table in (DEVICES, NODES) for group in groups_of(folder, table)]
    for table, group in reversed(parts) if backwards else parts:
        presence.add(table, group)
    seen = presence.last_seen(DAY + 3 * HOUR)
    last = dict(zip(seen.entities, seen.last.tolist(), strict=True))
    assert last["node000", ""] == last["node000", "nvidia:GPU-0-0"] == DAY + 59 * 60_000
    assert last["node001", ""] == DAY + 59 * 60_000 + 100
    since = presence.last_seen(DAY + 3 * HOUR, since=DAY + 2 * HOUR)
    assert set(since.last.tolist()) == {-1}
    ends = [(DAY + 59 * 60_000 + 100, DAY + 5 * HOUR)]
    ends.append((DAY + 6 * HOUR - 60_000 + 100, DAY + _DAY_MS))
    assert presence.silences() == ends


def test_rows_in_no_order_are_found_all_the_same(tmp_path: Path) -> None:
    folder = write(tmp_path / "fleet", steady(60, devices=1, step_s=60))
    path = layout.day_file(folder, DEVICES, DAY)
    rows = pq.read_table(path)
    pq.write_table(rows.take(pa.array(range(len(rows))[::-1])), path)
    presence = Presence(gap_ms=300_000)
    for group in groups_of(folder):
        presence.add(DEVICES, group)
    assert presence.last_seen(DAY + HOUR).last.tolist() == [
        DAY + 59 * 60_000,
        DAY + 59 * 60_000 + 100,
    ]
    assert presence.silences() == []
