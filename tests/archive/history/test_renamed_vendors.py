"""A device recorded under its vendor's old name is the device of today."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from accelwatch.archive.history.layout import DEVICES, JOBS
from accelwatch.archive.history.reading.reader import Archive, event_rows, jobs_of
from accelwatch.archive.history.summary import summary
from accelwatch.schema.renamed import current_id
from support.archives.history_archives import DAY, POWER, Sample, gathered, writer

DIE = "14036E64-00E04F1D-1223F2B2-84528485-104301E2"
OLD, NEW = f"huawei:{DIE}", f"ascend:{DIE}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An archive in which the name changes at noon."""
    hour = 3_600_000
    samples: list[Sample] = [
        (DAY + at * hour, "n1", OLD if at < 12 else NEW, {POWER: 90.0 + at}) for at in range(24)
    ]
    archive = writer(tmp_path)
    archive.add(gathered(samples).pop_batch())
    archive.cut(DAY + 24 * hour)
    archive.close(DAY + 25 * hour)
    return tmp_path


def test_its_samples_are_those_of_one_device(folder: Path) -> None:
    samples = Archive(folder).samples(DEVICES)
    watts = [watt for group in samples.groups() for watt in group.columns[POWER].tolist()]
    assert [entity.device for entity in samples.entities] == [NEW]
    assert watts == [90.0 + at for at in range(24)]


def test_the_archive_counts_it_once(folder: Path) -> None:
    assert summary(folder).devices == 1


def test_its_events_and_jobs_are_of_the_device_of_today(tmp_path: Path) -> None:
    time = pa.array([DAY], pa.timestamp("ms", tz="UTC"))
    columns = {"time": time, "node": ["n1"], "device": [OLD], "kind": ["hang"], "code": ["x"]}
    (event,) = event_rows(pa.table({**columns, "text": [""]}))
    assert event.device == NEW
    jobs = pa.table({"job": ["7"], "node": ["n1"], "device": [OLD], "start": time})
    pq.write_table(jobs, tmp_path / JOBS)
    assert [job.device for job in jobs_of(tmp_path)] == [NEW]


@pytest.mark.parametrize("device", ["nvidia:GPU-1", "huawei", "huaweicloud:x", "", "ascend:1"])
def test_other_ids_stay_as_they_are(device: str) -> None:
    assert current_id(device) == device
