"""Repairing a recording: what is as it was written is saved, the damaged file stays, losses are told."""

import errno
import gzip
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from accelwatch.archive.recording import Recorder, block_index
from accelwatch.archive.recording.repair import Repaired, repair, repaired_path
from accelwatch.archive.recording.window import Window
from accelwatch.base.errors import AccelwatchError, UsageError, WireError
from accelwatch.schema.json.wire import encode
from archive.recording.shots import notes, numbers, shot, write
from support.processes.warm_command import accelwatch

ZSTD = b"\x28\xb5\x2f\xfd"


def lines(count: int, first: int = 0) -> bytes:
    return b"".join(encode(shot(number)) + b"\n" for number in range(first, first + count))


def saved(path: Path) -> tuple[list[int], Repaired]:
    """The documents of the repaired copy; the damaged file is as it was."""
    before = path.read_bytes()
    done = repair(path, repaired_path(path))
    assert path.read_bytes() == before
    assert notes(done.path) == ()
    found = numbers(done.path)
    assert len(found) == done.documents
    return found, done


@pytest.mark.parametrize(
    ("name", "copy"),
    [
        ("night.ndjson.zst", "night.repaired.ndjson.zst"),
        ("night.gz.part", "night.repaired.gz"),
        ("night.ndjson.2", "night.repaired.ndjson.2"),
        ("night", "night.repaired"),
    ],
)
def test_the_copy_stands_beside_it_and_is_packed_alike(name: str, copy: str) -> None:
    assert repaired_path(Path("/there") / name) == Path("/there") / copy


@pytest.mark.parametrize("name", ["r.ndjson", "r.ndjson.gz", "r.ndjson.zst"])
def test_one_without_damage_is_copied_whole(tmp_path: Path, name: str) -> None:
    found, done = saved(write(tmp_path / name, 150))
    assert found == list(range(150))
    assert (done.lost, done.lines, done.positions) == (0, 0, 0)
    assert done.last == 149 + shot(0).time
    assert stat.S_IMODE(done.path.stat().st_mode) == 0o600


@pytest.mark.parametrize("packed", [False, True])
def test_lines_that_are_no_documents_are_passed_over_and_counted(
    tmp_path: Path, packed: bool
) -> None:
    content = b"\xff\xfe\n" + lines(2) + b'{"schema": "accelwatch/1"}\n\n' + lines(1, first=2)
    path = tmp_path / "r.ndjson"
    path.write_bytes(zstandard.compress(content) if packed else b"{" + content)
    found, done = saved(path)
    assert found == [0, 1, 2]
    assert done.lines == 2


def test_an_overlong_line_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accelwatch.archive.recording.lines.MAX_LINE", 100_000)
    path = tmp_path / "r.ndjson"
    path.write_bytes(b"{" + b"x" * 350_000 + b"\n" + lines(1))
    found, done = saved(path)
    assert (found, done.lines) == ([0], 1)


def test_damage_in_a_block_costs_only_documents_of_that_block(tmp_path: Path) -> None:
    path = write(tmp_path / "r.zst", 200)
    content = bytearray(path.read_bytes())
    second = content.index(ZSTD, 4)
    content[second + 2000] ^= 0xFF
    path.write_bytes(content)
    found, done = saved(path)
    assert set(range(64)) | set(range(128, 200)) <= set(found)
    assert found == sorted(found)
    assert (done.lost, done.positions) == (200 - len(found), 1)


def test_a_block_that_cannot_be_found_is_counted_by_its_index(tmp_path: Path) -> None:
    path = write(tmp_path / "r.zst", 200)
    path.write_bytes(b"\0" + path.read_bytes()[1:])
    found, done = saved(path)
    assert found == list(range(64, 200))
    assert (done.lost, done.positions) == (64, 1)


def test_a_lost_index_is_made_up_by_a_search(tmp_path: Path) -> None:
    path = write(tmp_path / "r.zst", 200)
    content = bytearray(path.read_bytes())
    at = -1
    for _ in range(4):
        at = content.index(b"accelwix", at + 1)
        content[at + 20] ^= 1
    path.write_bytes(content)
    found, done = saved(path)
    assert found == list(range(200))
    assert (done.lost, done.positions) == (0, 4)


def test_a_damaged_member_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "r.gz"
    damaged = bytearray(gzip.compress(lines(5, first=5)))
    damaged[40:60] = bytes(20)
    path.write_bytes(gzip.compress(lines(5)) + damaged + b"rubbish" + gzip.compress(lines(5, 10)))
    found, done = saved(path)
    assert {*range(5), *range(10, 15)} <= set(found) <= set(range(15))
    assert done.positions


@pytest.mark.parametrize("name", ["r.ndjson", "r.gz", "r.zst"])
def test_a_file_of_a_killed_recorder_gets_its_end(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with Recorder(path) as recorder:
        for number in range(70):
            recorder.write(shot(number))
        found, done = saved(tmp_path / f"{name}.part")
    assert found == list(range(70))
    assert (done.path.name, done.lost, done.positions) == (f"r.repaired{path.suffix}", 0, 0)


def test_a_frame_without_an_end_is_no_damage(tmp_path: Path) -> None:
    content = write(tmp_path / "a.zst", 70).read_bytes()
    cut = content.rindex(block_index.FRAME_MAGIC) - 3
    path = tmp_path / "joined.zst"
    path.write_bytes(content[:cut] + write(tmp_path / "b.zst", 70, first=70).read_bytes())
    found, done = saved(path)
    assert found == list(range(140))
    assert (done.lost, done.lines, done.positions) == (0, 0, 0)


@pytest.mark.parametrize("packed", [bytes, gzip.compress, zstandard.compress])
@pytest.mark.parametrize("size", [777, 10_000])
def test_lines_over_several_blocks_are_whole(
    tmp_path: Path, packed: Callable[[bytes], bytes], size: int
) -> None:
    content = lines(40)
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    path = tmp_path / "r"
    path.write_bytes(b"".join(map(packed, pieces)))
    found, done = saved(path)
    assert found == list(range(40))
    assert (done.lines, done.positions) == (0, 0)


def test_nothing_is_written_over_and_nothing_made_of_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "r.zst", 3)
    (tmp_path / "taken").write_text("somebody's")
    with pytest.raises(UsageError, match="exists already; choose another name"):
        repair(path, tmp_path / "taken")
    with pytest.raises(UsageError, match="no recording"):
        repair(tmp_path / "gone.zst", tmp_path / "new.zst")
    write(tmp_path / "s.zst", 3)
    with pytest.raises(UsageError, match="names 2 recordings; repair one at a time"):
        repair(tmp_path / "?.zst", tmp_path / "new.zst")
    (tmp_path / "rubbish.zst").write_bytes(os.urandom(5000))
    with pytest.raises(WireError, match="holds no accelwatch/2 document that can be read"):
        repair(tmp_path / "rubbish.zst", tmp_path / "new.zst")
    assert not list(tmp_path.glob("new*"))
    assert (tmp_path / "taken").read_text() == "somebody's"


@pytest.mark.parametrize(
    "error",
    [
        KeyboardInterrupt(),
        AccelwatchError("cannot read it: Input/output error"),
        OSError(errno.ENOSPC, "No space left on device"),
    ],
)
def test_a_repair_that_is_interrupted_leaves_no_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """A copy that is not whole would be taken for all that can be read."""
    path = write(tmp_path / "r.zst", 200)
    before = path.read_bytes()
    disk, name, after = (os, "pwrite", 100) if isinstance(error, OSError) else (Window, "read", 500)
    work: Callable[..., object] = getattr(disk, name)
    done = 0

    def fails_later(*arguments: object) -> object:
        nonlocal done
        done += 1
        if done > after:
            raise error
        return work(*arguments)

    monkeypatch.setattr(disk, name, fails_later)
    expected = AccelwatchError if isinstance(error, OSError) else type(error)
    with pytest.raises(expected):
        repair(path, tmp_path / "copy.zst")
    assert done > after
    assert [file.name for file in tmp_path.iterdir()] == ["r.zst"]
    monkeypatch.undo()
    assert path.read_bytes() == before


def test_a_file_that_is_not_finished_is_not_written_over(tmp_path: Path) -> None:
    part = write(tmp_path / "r.zst", 70).rename(tmp_path / "r.zst.part")
    before = part.read_bytes()
    with pytest.raises(UsageError, match=r"r\.zst\.part exists already; choose another name"):
        repair(tmp_path / "r.zst", tmp_path / "r.zst")
    assert part.read_bytes() == before


def test_the_command_says_what_was_saved_and_lost(tmp_path: Path) -> None:
    path = write(tmp_path / "r.ndjson.zst", 200)
    content = bytearray(path.read_bytes())
    content[2000] ^= 0xFF
    path.write_bytes(content)
    first = accelwatch("--replay", str(path), "--json")
    assert first.returncode == 1
    assert f"accelwatch record --repair {path}" in first.stderr
    run = accelwatch("record", "--repair", str(path))
    copy = tmp_path / "r.repaired.ndjson.zst"
    assert (run.returncode, run.stdout) == (0, "")
    found = numbers(copy)
    assert set(range(64, 200)) <= set(found)
    assert run.stderr.strip().endswith(
        f"{copy}: {len(found)} documents up to 2027-01-15T08:03:19.000Z; "
        f"{200 - len(found)} documents are lost, bytes are damaged in 1 places"
    )
    other = tmp_path / "other.gz"
    assert accelwatch("record", "--repair", str(copy), "-o", str(other)).returncode == 0
    assert numbers(other) == found
    again = accelwatch("record", "--repair", str(path))
    assert again.returncode == 2
    assert "exists already" in again.stderr


def test_recording_needs_a_file_to_record_to() -> None:
    run = accelwatch("record", "-n", "1")
    assert run.returncode == 2
    assert "accelwatch record -o FILE" in run.stderr
