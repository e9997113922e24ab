"""Archives of which something is broken, lacking or somebody else's."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from accelwatch.archive.history import layout
from accelwatch.archive.history.layout import DEVICES, EVENTS, NODES, ArchiveError
from accelwatch.fleet.replay.archive import ReplayedArchive
from support.archives.history_archives import DAY, steady, write
from support.archives.replay_archives import HOUR, MINUTE

TOMORROW = DAY + 86_400_000


@pytest.fixture
def two_days(tmp_path: Path) -> Path:
    samples = [*steady(20), *steady(20, start=TOMORROW)]
    return write(tmp_path / "fleet", samples)


def test_a_damaged_day_is_reported_with_file_and_mend_and_the_others_are_shown(
    two_days: Path,
) -> None:
    path = layout.day_file(two_days, DEVICES, DAY)
    path.write_bytes(b"no Parquet")
    archive = ReplayedArchive(two_days)
    view = archive.view(TOMORROW + 10 * MINUTE, None, "")
    assert view.sums.devices == {"ok": 4}
    view = archive.view(DAY + 10 * MINUTE, None, "")
    assert [node.state for node in view.nodes] == ["up", "up"]
    [problem] = view.sums.problems
    assert str(path) in problem
    assert f"accelwatch history check {two_days}" in problem


def test_a_damaged_row_group_is_reported(two_days: Path) -> None:
    path = layout.day_file(two_days, DEVICES, DAY)
    data = bytearray(path.read_bytes())
    data[100:1100] = b"x" * 1000
    path.write_bytes(data)
    archive = ReplayedArchive(two_days)
    view = archive.view(DAY + 10 * MINUTE, None, "")
    assert "row group 0" in view.sums.problems[0]
    for _ in archive.scan.steps():
        pass
    assert len(archive.faults) == 1
    assert archive.scan.complete
    archive.snapshot("node000", DAY + 10 * MINUTE)


def test_damaged_events_and_jobs_leave_the_rest(two_days: Path) -> None:
    (two_days / "jobs.parquet").write_bytes(b"no Parquet")
    layout.day_file(two_days, EVENTS, DAY).write_bytes(b"no Parquet")
    archive = ReplayedArchive(two_days)
    view = archive.view(DAY + 10 * MINUTE, None, "")
    assert view.sums.devices == {"ok": 4}
    assert ["jobs.parquet" in view.sums.problems[0], EVENTS in view.sums.problems[1]] == [True] * 2


def test_without_any_readable_file_the_first_is_named(two_days: Path) -> None:
    for table in (DEVICES, NODES):
        for day in layout.days(two_days, table):
            day.path.write_bytes(b"no Parquet")
    with pytest.raises(ArchiveError, match=r"date=2026-03-01.parquet: cannot be read"):
        ReplayedArchive(two_days)


@pytest.mark.parametrize(
    ("name", "message"),
    [("", "is not a history archive"), ("none", "no such folder")],
)
def test_what_is_no_archive_is_refused(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        ReplayedArchive(tmp_path / name)


def test_an_archive_of_another_format_is_refused(two_days: Path) -> None:
    (two_days / "history.json").write_text('{"format":"x/2","interval_s":1,"start":0,"end":1}')
    with pytest.raises(ArchiveError, match=r"this version reads 'accelwatch-history/1'"):
        ReplayedArchive(two_days)


def test_a_foreign_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sales.parquet"
    pq.write_table(pa.table({"price": [1, 2]}), path)
    with pytest.raises(ArchiveError, match="no file of samples"):
        ReplayedArchive(path)


def test_a_file_of_a_day_is_that_day_of_its_archive(two_days: Path) -> None:
    archive = ReplayedArchive(layout.day_file(two_days, DEVICES, TOMORROW))
    assert (archive.contents.first, archive.contents.interval_s) == (TOMORROW, 30.0)
    view = archive.view(TOMORROW + MINUTE, None, "")
    assert (view.sums.devices, [node.state for node in view.nodes]) == ({"ok": 4}, ["up"] * 2)


def test_a_file_alone_is_enough(two_days: Path, tmp_path: Path) -> None:
    alone = tmp_path / "devices-of-march.parquet"
    shutil.copy(layout.day_file(two_days, DEVICES, DAY), alone)
    archive = ReplayedArchive(alone)
    assert archive.contents.interval_s == 30.0
    assert archive.view(DAY + MINUTE, None, "").sums.devices == {"ok": 4}


@pytest.mark.parametrize("left", [DEVICES, NODES])
def test_an_archive_without_the_other_table_and_description(two_days: Path, left: str) -> None:
    shutil.rmtree(two_days / (NODES if left == DEVICES else DEVICES))
    (two_days / "history.json").unlink()
    archive = ReplayedArchive(two_days)
    view = archive.view(DAY + MINUTE, None, "")
    assert (archive.contents.interval_s, len(view.nodes)) == (30.0, 2)
    assert view.sums.devices_total == (4 if left == DEVICES else 0)
    assert ReplayedArchive(two_days / left).contents.first == archive.contents.first


def test_parts_of_a_day_that_goes_on(tmp_path: Path) -> None:
    folder = write(tmp_path / "fleet", steady(20), before=DAY + HOUR)
    assert not layout.days(folder, DEVICES)
    archive = ReplayedArchive(folder)
    assert archive.view(DAY + 10 * MINUTE, None, "").sums.devices == {"ok": 4}
