"""Kills, damage, strangers, a full disk: what an archive says and keeps."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from accelwatch.archive.history import files, layout
from accelwatch.archive.history.bounds import Bounds, size_of
from accelwatch.archive.history.check import Finding, check
from accelwatch.archive.history.layout import DEVICES, ArchiveError
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.archive.history.summary import summary
from support.archives.history_archives import (
    DAY,
    HEAT,
    MODEL,
    POWER,
    Sample,
    gathered,
    steady,
    write,
    writer,
)

_WRITES = """
import sys
from pathlib import Path
from support.archives.history_archives import DAY, gathered, steady, writer

archive = writer(Path(sys.argv[1]))
start = max(DAY, archive.last)
while True:
    samples = steady(minutes=30, start=start)
    archive.add(gathered(samples).pop_batch())
    start += 1_800_000
    archive.cut(start)
    print(start, flush=True)
"""


def rows_of(folder: Path) -> int:
    return sum(len(group.times) for group in Archive(folder).samples(DEVICES).groups())


def mistakes(folder: Path) -> list[Finding]:
    return [finding for finding in check(folder) if finding.mistake]


def test_an_archive_reads_after_kills_at_any_time(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(("tests", *sys.path))}
    last = 0
    for lines in (1, 9, 23, 48):
        child = subprocess.Popen(
            [sys.executable, "-c", _WRITES, str(folder)], stdout=subprocess.PIPE, env=environ
        )
        assert child.stdout is not None
        try:
            written = [int(child.stdout.readline()) for _ in range(lines)]
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait()
            child.stdout.close()
        last = max(last, written[-1])
        assert mistakes(folder) == []
        rows = rows_of(folder)
        assert rows >= (last - DAY) // 30_000 * 4, "what was said to be written is there"
        assert rows % 4 == 0


def test_what_a_kill_between_merge_and_removal_left_counts_once(tmp_path: Path) -> None:
    folder = write(tmp_path / "a", steady(minutes=30), before=DAY + 1_800_000)
    part = layout.chunk_file(folder, DEVICES, DAY, DAY + 1_800_000)
    whole = layout.chunk_file(folder, DEVICES, DAY, DAY + layout.SPAN_MS)
    whole.write_bytes(part.read_bytes())
    assert rows_of(folder) == 30 * 2 * 4
    writer(folder).close(DAY + 1_800_000)
    assert not part.exists()
    day = layout.day_file(folder, DEVICES, DAY)
    day.write_bytes(whole.read_bytes())
    assert rows_of(folder) == 30 * 2 * 4


def test_a_half_written_file_does_not_count_and_goes(tmp_path: Path) -> None:
    folder = write(tmp_path / "a", steady(minutes=5))
    left = folder / DEVICES / layout.OPEN / ".writing-1-2.parquet"
    left.write_bytes(b"PAR1")
    assert rows_of(folder) == 40
    writer(folder).close(DAY + 86_400_000)
    assert not left.exists()


@pytest.mark.parametrize("how", ["cut", "emptied", "middle"])
def test_a_damaged_file_is_named(tmp_path: Path, how: str) -> None:
    folder = write(tmp_path / "a", steady(minutes=300))
    path = layout.day_file(folder, DEVICES, DAY)
    data = path.read_bytes()
    middle = data[:200] + bytes(len(data) // 2) + data[200 + len(data) // 2 :]
    path.write_bytes({"cut": data[:-20], "emptied": b"", "middle": middle}[how])
    found = mistakes(folder)
    assert [finding.file for finding in found][:1] == [path]
    with pytest.raises(ArchiveError, match=r"date=2026-03-01.parquet"):
        rows_of(folder)


def test_a_damaged_part_does_not_stop_the_writer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "a"
    write(folder, steady(minutes=5), before=DAY + 300_000)
    write(folder, steady(minutes=5, start=DAY + 300_000), before=DAY + 600_000)
    layout.chunk_file(folder, DEVICES, DAY, DAY + 300_000).write_bytes(b"no Parquet")
    writer(folder).close(DAY + 86_400_000)
    assert rows_of(folder) == 40
    assert "damaged and was set aside" in caplog.text


def test_a_stranger_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ArchiveError, match=r"it has no history\.json"):
        Archive(tmp_path)
    with pytest.raises(ArchiveError, match="name a folder of its own"):
        writer(tmp_path)
    (tmp_path / "history.json").write_text('{"format":"accelwatch-history/9","interval_s":30')
    with pytest.raises(ArchiveError, match=r"history\.json"):
        Archive(tmp_path)
    (tmp_path / "history.json").write_text(
        '{"format":"accelwatch-history/9","interval_s":30,"start":0,"end":0}'
    )
    with pytest.raises(ArchiveError, match="reads 'accelwatch-history/1'"):
        Archive(tmp_path)


def test_only_one_writes(tmp_path: Path) -> None:
    archive = writer(tmp_path / "a")
    with pytest.raises(ArchiveError, match="another program writes"):
        writer(tmp_path / "a")
    archive.close(0)
    writer(tmp_path / "a").close(0)


def test_oldest_days_go_by_age_and_by_size(tmp_path: Path) -> None:
    days = [
        sample for day in range(4) for sample in steady(minutes=60, start=DAY + day * layout.DAY_MS)
    ]
    end = DAY + 4 * layout.DAY_MS
    write(tmp_path / "a", days, before=end)
    writer(tmp_path / "a", bounds=Bounds(keep_s=2.5 * 86400)).close(end)
    kept = [segment.path.name for segment in layout.days(tmp_path / "a", DEVICES)]
    assert kept == [f"date=2026-03-0{day}.parquet" for day in (2, 3, 4)]
    limit = size_of(tmp_path / "a") - 1000
    writer(tmp_path / "a", bounds=Bounds(max_bytes=limit)).close(end)
    kept = [segment.path.name for segment in layout.days(tmp_path / "a", DEVICES)]
    assert kept == ["date=2026-03-03.parquet", "date=2026-03-04.parquet"]
    assert Archive(tmp_path / "a").description.start == (DAY + 2 * layout.DAY_MS) / 1000


def test_a_day_that_does_not_fit_keeps_its_newest_parts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    archive = writer(tmp_path / "a", bounds=Bounds(max_bytes=30_000))
    for at in range(40):
        start = DAY + at * 300_000
        archive.add(gathered(steady(minutes=5, start=start)).pop_batch())
        archive.cut(start + 300_000)
        assert size_of(tmp_path / "a") < 40_000
    archive.close(DAY + 41 * 300_000)
    assert "raise it" in caplog.text
    assert rows_of(tmp_path / "a") > 0


def test_a_full_disk_is_reported_and_what_waits_is_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = writer(tmp_path / "a")
    archive.add(gathered(steady(minutes=5)).pop_batch())

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "replace", full)
        with pytest.raises(ArchiveError, match="the disk is full"):
            archive.cut(DAY + 300_000)
    archive.close(DAY + 300_000)
    assert rows_of(tmp_path / "a") == 40
    assert archive.dropped == 0


def foreign(folder: Path, columns: dict[str, Any], name: str = "2026-03-01") -> Path:
    """An archive with one file of somebody else."""
    write(folder, [])
    path = folder / DEVICES / f"date={name}.parquet"
    pq.write_table(pa.table(columns), path)
    return folder


def a_row(**more: Any) -> dict[str, Any]:
    """The columns of two rows as another program may write them."""
    time = pa.array([DAY * 1000, DAY * 1000 + 30_000_000], type=pa.timestamp("us"))
    return {"time": time, "node": ["a", "a"], "device": ["x", "x"], **more}


def test_other_types_and_columns_that_nobody_knows_are_read(tmp_path: Path) -> None:
    columns = a_row(power_watts=pa.array([300, None], pa.int32()), colour=["red", "blue"])
    folder = foreign(tmp_path / "a", columns)
    samples = Archive(folder).samples(DEVICES)
    (group,) = samples.groups()
    assert [*group.columns] == [POWER]
    assert group.columns[POWER][0] == 300.0
    assert samples.entities[0].model == ""
    assert mistakes(folder) == []
    (unknown,) = [finding for finding in check(folder) if "colour" in finding.text]
    assert "no such quantity" in unknown.text


@pytest.mark.parametrize(
    ("columns", "name", "text"),
    [
        ({"time": [1, 2], "node": ["a", "a"], "device": ["x", "x"]}, "2026-03-01", "timestamp"),
        ({**a_row(), "device": ["y", "x"]}, "2026-03-01", "not ordered by node, device, time"),
        (a_row(), "2026-03-02", "outside the day"),
        (a_row(power_watts=["a", "b"]), "2026-03-01", "power_watts is a column of numbers"),
        (a_row(energy_joules_total=[1.0, -1.0]), "2026-03-01", ""),
        (a_row(**{"energy_joules_total.hardware": [1.0, -1.0]}), "2026-03-01", "below 0"),
        ({"time": a_row()["time"], "node": ["a", "a"]}, "2026-03-01", "no column device"),
        ({**a_row(), "time": pa.array([DAY, DAY], pa.timestamp("ms"))}, "2026-03-01", "repeat"),
        (
            {**a_row(), "time": pa.array([DAY, DAY + 5 * 3_600_000], pa.timestamp("ms"))},
            "2026-03-01",
            "covers 5.0 h",
        ),
    ],
)
def test_every_mistake_has_a_name(
    tmp_path: Path, columns: dict[str, Any], name: str, text: str
) -> None:
    folder = foreign(tmp_path / "a", columns, name)
    found = [finding.text for finding in mistakes(folder)]
    assert len(found) == bool(text)
    assert all(text in one for one in found)


def test_row_groups_that_overlap_and_gaps_are_reported(tmp_path: Path) -> None:
    samples: list[Sample] = [(DAY + at, "a", "x", {HEAT: 1}) for at in (0, 30_000, 400_000)]
    folder = write(tmp_path / "a", samples[:2], before=DAY + 60_000)
    write(folder, samples[2:], before=DAY + 500_000)
    (gap,) = check(folder)
    assert gap.text == "nothing for 370 s before 2026-03-01 00:06:40Z"
    assert not gap.mistake
    path = layout.day_file(folder, DEVICES, DAY)
    with pq.ParquetWriter(path, pa.table(a_row()).schema) as file:
        file.write_table(pa.table(a_row()))
        file.write_table(pa.table(a_row()))
    (overlap,) = mistakes(folder)
    assert (overlap.file, overlap.group) == (path, 1)
    assert "but those before go to 2026-03-01 00:00:30Z" in overlap.text


def test_a_summary_says_what_is_there(tmp_path: Path) -> None:
    rows: list[Sample] = [
        (DAY, "a", "x", {POWER: 1, HEAT: 2}),
        (DAY, "b", "y", {POWER: 1}),
        (DAY + 30_000, "b", "y", {}),
    ]
    found = summary(write(tmp_path / "a", rows))
    assert (found.nodes, found.devices, found.models) == (2, 2, {MODEL: 2})
    assert found.days == ("2026-03-01",)
    assert (found.start, found.end) == (DAY / 1000, DAY / 1000 + 30)
    shares = {column.name: column.share for column in found.device_columns}
    assert shares == {"power_watts": 0.6667, "temperature_celsius.gpu": 0.3333}
