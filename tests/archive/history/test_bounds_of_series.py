"""A node that names its series anew each time costs an archive a bounded number of columns and cells."""

from pathlib import Path

import pytest

from accelwatch.archive.history import files, layout, writer
from accelwatch.archive.history.admission import Admission
from accelwatch.archive.history.check import check
from accelwatch.archive.history.layout import DAY_MS, DEVICES, NODES, ArchiveError
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.archive.history.rows import Batch, Gathering
from accelwatch.archive.history.tables import columns_within
from accelwatch.schema.metrics import Series
from support.archives.history_archives import DAY, HEAT, MODEL, POWER
from support.archives.history_archives import writer as writer_of


def flood(at: int, count: int = 10) -> dict[Series, float]:
    return {("temperature_celsius", f"l{at}-{number}"): 50.0 for number in range(count)}


def columns(batch: Batch, table: str = DEVICES) -> set[Series]:
    return {series for block in batch.blocks[table] for series in block.series}


def test_new_series_of_a_node_are_taken_up_to_its_bound() -> None:
    gathering = Gathering(Admission(most_of_node=25))
    for at in range(10):
        gathering.device(DAY + at, "evil", "gpu", MODEL, flood(at))
        gathering.device(DAY + at, "good", "gpu", MODEL, {POWER: 300, HEAT: 50})
    batch = gathering.pop_batch()
    assert len(columns(batch)) == 25 + 2
    assert max(len(block.series) for block in batch.blocks[DEVICES]) == 25
    assert gathering.admission.refused == {"evil": 10 * 10 - 25}


def test_the_bound_is_of_the_node_over_all_its_devices_and_the_host() -> None:
    gathering = Gathering(Admission(most_of_node=25))
    for device in range(4):
        gathering.device(DAY, "evil", f"gpu{device}", MODEL, flood(device))
    gathering.node(DAY, "evil", {("host_load_average", "1"): 1})
    batch = gathering.pop_batch()
    assert len(columns(batch)) == 25
    assert not columns(batch, NODES)


def test_devices_that_say_the_same_share_their_columns() -> None:
    gathering = Gathering(Admission(most_of_node=2))
    for device in range(8):
        gathering.device(DAY, "good", f"gpu{device}", MODEL, {POWER: 300, HEAT: 50})
    assert not gathering.admission.refused


def test_all_nodes_together_have_a_bound_too() -> None:
    gathering = Gathering(Admission(most_of_node=25, most_in_all=40))
    for node in range(5):
        gathering.device(DAY, f"evil{node}", "gpu", MODEL, flood(node))
    assert len(columns(gathering.pop_batch())) == 40
    assert gathering.admission.refused == {"evil4": 10}
    gathering.device(DAY, "good", "gpu", MODEL, flood(0))
    assert "good" not in gathering.admission.refused, "what is known already costs nothing"


def test_each_day_starts_anew() -> None:
    gathering = Gathering(Admission(most_of_node=10))
    gathering.device(DAY, "n", "gpu", MODEL, flood(0))
    gathering.device(DAY + 1, "n", "gpu", MODEL, flood(1))
    assert gathering.admission.refused == {"n": 10}
    gathering.pop_batch()
    gathering.device(DAY + DAY_MS, "n", "gpu", MODEL, flood(1))
    gathering.device(DAY + DAY_MS - 1, "n", "gpu", MODEL, flood(1))
    assert gathering.admission.refused == {}
    assert columns(gathering.pop_batch()) == set(flood(1))


def test_the_columns_that_the_fewest_rows_have_go_first() -> None:
    many, few = (100, ["time", "node", "power", "heat"]), (10, ["time", "node", "evil"])
    assert columns_within([many, few], 110 * 5) == {"time", "node", "power", "heat", "evil"}
    assert "evil" not in columns_within([many, few], 110 * 5 - 1)
    assert columns_within([], 10) == frozenset()


def test_rows_times_columns_of_what_is_written_have_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "MAX_GROUP_CELLS", 20 * 12)
    archive = writer_of(tmp_path / "a")
    gathering = Gathering()
    for at in range(10):
        gathering.device(DAY + at, "evil", "gpu", MODEL, flood(at))
        gathering.device(DAY + at, "good", "gpu", MODEL, {POWER: 300 + at, HEAT: 50})
    archive.add(gathering.pop_batch())
    archive.close(DAY + 1000)
    assert archive.dropped > 0
    found = [*Archive(tmp_path / "a").samples(DEVICES).groups()]
    assert sum(len(group.times) for group in found) == 20
    assert all({POWER, HEAT} <= group.columns.keys() for group in found)
    assert all(len(group.columns) + 4 <= 12 for group in found)


def test_merging_keeps_the_bound_and_every_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = writer_of(tmp_path / "a")
    for part in range(6):
        gathering = Gathering()
        for at in range(10):
            time = DAY + part * 10_000 + at
            gathering.device(time, "evil", "gpu", MODEL, flood(part))
            gathering.device(time, "good", "gpu", MODEL, {POWER: 300, HEAT: 50})
        archive.add(gathering.pop_batch())
        archive.cut(DAY + (part + 1) * 10_000)
    most = 60 * (4 + 2 + 30)
    monkeypatch.setattr(writer, "MAX_GROUP_CELLS", most)
    monkeypatch.setattr(files, "MAX_GROUP_CELLS", most)
    archive.close(DAY + 2 * DAY_MS)
    (day,) = layout.segments(tmp_path / "a", DEVICES)
    with files.opened(day.path) as file:
        groups = [file.read_row_group(at) for at in range(file.num_row_groups)]
    assert sum(map(len, groups)) == 120
    assert all(len(rows) * rows.num_columns <= most for rows in groups)
    found = [*Archive(tmp_path / "a").samples(DEVICES).groups()]
    assert all({POWER, HEAT} <= group.columns.keys() for group in found)


def _batch(at: int, devices: int = 10) -> Batch:
    gathering = Gathering()
    for device in range(devices):
        gathering.device(DAY + at, "n1", f"gpu{device}", MODEL, {POWER: 300, HEAT: 50})
    return gathering.pop_batch()


def test_columns_that_wait_beyond_the_bound_go_and_no_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that takes nothing keeps them waiting: who floods it costs nobody else a sample."""
    archive = writer_of(tmp_path)
    monkeypatch.setattr(writer, "MAX_GROUP_CELLS", 50 * 12)
    for at in range(10):
        gathering = Gathering()
        gathering.device(DAY + at, "evil", "gpu", MODEL, flood(at))
        for device in range(9):
            gathering.device(DAY + at, "good", f"gpu{device}", MODEL, {POWER: 300, HEAT: 50})
        archive.add(gathering.pop_batch())
    held = archive._waiting[DEVICES]
    assert sum(map(len, held)) == 100
    assert sum(len(one) * one.num_columns for one in held) <= 50 * 12
    assert archive.dropped > 0
    archive.close(DAY + DAY_MS)
    found = [*Archive(tmp_path).samples(DEVICES).groups()]
    assert sum(len(group.times) for group in found) == 100


def test_much_that_waits_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = writer_of(tmp_path)
    assert not archive.is_backlogged
    archive.add(_batch(0))
    assert not archive.is_backlogged
    monkeypatch.setattr(writer, "MANY_CELLS", 20)
    assert archive.is_backlogged
    archive.close(DAY + DAY_MS)
    assert not archive.is_backlogged


def test_a_row_group_that_no_archive_writes_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of kilobytes may have a row group of gigabytes."""
    archive = writer_of(tmp_path)
    archive.add(_batch(0))
    archive.close(DAY + DAY_MS)
    assert not [one for one in check(tmp_path) if one.mistake]
    monkeypatch.setattr(files, "MAX_GROUP_CELLS", 20)
    (finding,) = (one for one in check(tmp_path) if one.mistake)
    assert "10 rows of" in finding.text
    assert "more than an archive writes together" in finding.text
    with pytest.raises(ArchiveError, match="more than an archive writes together"):
        [*Archive(tmp_path).samples(DEVICES).groups()]
