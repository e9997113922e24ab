"""The recorder: names, permissions, rotation, and what it does when it cannot go on."""

import errno
import fcntl
import gzip
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import zstandard

from accelwatch.archive.recording import Compression, Recorder, Recording
from accelwatch.archive.recording.layout import compression_by_name
from accelwatch.base.errors import AccelwatchError, UsageError
from accelwatch.schema.json.wire import encode
from archive.recording.shots import notes, number_of, numbers, shot, write

NAMES = ["r.ndjson", "r.ndjson.gz", "r.ndjson.zst"]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_read_back(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, 150)
    assert numbers(path) == list(range(150))
    assert notes(path) == ()


@pytest.mark.parametrize(
    ("name", "compression"),
    [
        ("r.ndjson.zst", Compression.ZSTD),
        ("r.zst.3", Compression.ZSTD),
        ("r", Compression.ZSTD),
        ("r.ndjson.GZ", Compression.GZIP),
        ("r.jsonl", Compression.NONE),
        ("r.ndjson.part", Compression.NONE),
    ],
)
def test_the_name_decides_the_compression(name: str, compression: Compression) -> None:
    assert compression_by_name(name) is compression


def test_the_option_wins_over_the_name(tmp_path: Path) -> None:
    path = write(tmp_path / "r.ndjson", 3, compression=Compression.GZIP)
    assert gzip.decompress(path.read_bytes()).count(b"\n") == 3
    assert numbers(path) == [0, 1, 2]


def test_other_programs_unpack_it(tmp_path: Path) -> None:
    lines = b"".join(encode(shot(number)) + b"\n" for number in range(70))
    assert write(tmp_path / "r.ndjson", 70).read_bytes() == lines
    assert gzip.decompress(write(tmp_path / "r.gz", 70).read_bytes()) == lines
    packed = write(tmp_path / "r.zst", 70).read_bytes()
    reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
    assert reader.read() == lines
    if program := shutil.which("zstd"):
        done = subprocess.run([program, "-dc"], input=packed, capture_output=True, check=True)
        assert done.stdout == lines


@pytest.mark.parametrize("name", NAMES)
def test_files_are_for_their_owner_only(tmp_path: Path, name: str) -> None:
    before = os.umask(0)
    try:
        path = tmp_path / name
        with Recorder(path) as recorder:
            recorder.write(shot(0))
            assert stat.S_IMODE((tmp_path / f"{name}.part").stat().st_mode) == 0o600
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(before)


@pytest.mark.parametrize("name", NAMES)
def test_the_file_has_its_name_when_it_is_finished_and_is_readable_before(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    with Recorder(path) as recorder:
        for number in range(100):
            recorder.write(shot(number))
            if number % 33 == 0:
                assert numbers(path) == list(range(number + 1))
        assert not path.exists()
        assert (tmp_path / f"{name}.part").exists()
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_an_unfinished_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "r.zst"
    with Recorder(path) as recorder:
        recorder.write(shot(0))
        assert notes(path) == ("recording: it was not finished: still being written, or cut off",)


def test_nothing_written_leaves_nothing(tmp_path: Path) -> None:
    write(tmp_path / "r.zst", 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("link", ["r.zst", "r.zst.part"])
@pytest.mark.parametrize("dangling", [True, False])
def test_a_symbolic_link_is_refused_and_its_target_left_alone(
    tmp_path: Path, link: str, dangling: bool
) -> None:
    target = tmp_path / "precious"
    if not dangling:
        target.write_text("precious")
    (tmp_path / link).symlink_to(target)
    with pytest.raises(UsageError, match="symbolic link"):
        Recorder(tmp_path / "r.zst")
    assert (tmp_path / link).is_symlink()
    assert target.exists() is not dangling


def test_a_link_put_in_the_way_while_recording_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("precious")
    path = tmp_path / "r.zst"
    recorder = Recorder(path)
    recorder.write(shot(0))
    path.symlink_to(target)
    with pytest.raises(AccelwatchError, match="cannot finish"):
        recorder.close()
    assert target.read_text() == "precious"
    assert numbers(tmp_path / "r.zst.part") == [0]


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(UsageError, match="not a regular file"):
            Recorder(tmp_path / name)
    with pytest.raises(AccelwatchError, match="cannot record into"):
        Recorder(tmp_path / "missing" / "r.zst")


@pytest.mark.parametrize("options", [{"max_bytes": 100}, {"keep": 0}])
def test_senseless_bounds_are_refused(tmp_path: Path, options: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        Recorder(tmp_path / "r.zst", **options)  # type: ignore[arg-type]


def test_files_rotate_by_size_and_the_oldest_go(tmp_path: Path) -> None:
    path = write(tmp_path / "r.ndjson", 200, max_bytes=64 << 10, keep=3)
    names = sorted(one.name for one in tmp_path.iterdir())
    assert names == ["r.ndjson", "r.ndjson.1", "r.ndjson.2"]
    kept = numbers(tmp_path / "r.ndjson*")
    assert kept == list(range(kept[0], 200))
    assert kept[0] > 0
    longest = len(encode(shot(199))) + 1
    assert all(one.stat().st_size < (64 << 10) + longest for one in tmp_path.iterdir())
    assert numbers(path)[-1] == 199


def test_rotated_zstd_files_are_one_recording_in_any_way_of_naming_them(tmp_path: Path) -> None:
    path = tmp_path / "r.zst"
    for first in (0, 100, 200):
        write(path, 100, first=first)
    with Recorder(path) as recorder:
        recorder.write(shot(300))
        (tmp_path / "README.txt").write_text("not a recording")
        (tmp_path / "z.zst").symlink_to(path)
        assert numbers(tmp_path) == list(range(301))
        assert numbers(tmp_path / "r.zst*") == list(range(301))
        assert numbers(path) == list(range(200, 300))
        assert numbers(tmp_path / "r.zst.2") == list(range(100))
        (older,) = notes(path)
    assert older == "recording: 2 older files beside it; 'r.zst*' names all of them"


def test_a_finished_recording_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "r.zst"
    write(path, 3)
    write(path, 3, first=10)
    assert numbers(path) == [10, 11, 12]
    assert numbers(tmp_path / "r.zst.1") == [0, 1, 2]


def test_a_number_behind_a_gap_is_somebody_elses(tmp_path: Path) -> None:
    (tmp_path / "r.zst.2024").write_text("mine")
    for _ in range(4):
        write(tmp_path / "r.zst", 1, keep=2)
    names = sorted(one.name for one in tmp_path.iterdir())
    assert names == ["r.zst", "r.zst.1", "r.zst.2024"]


def test_what_a_killed_recorder_left_is_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "r.zst", 70)
    path.rename(tmp_path / "r.zst.part")
    write(path, 2, first=100)
    assert numbers(tmp_path / "r.zst.1") == list(range(70))
    assert numbers(path) == [100, 101]


def test_two_recorders_do_not_write_one_file(tmp_path: Path) -> None:
    with Recorder(tmp_path / "r.zst") as recorder:
        recorder.write(shot(0))
        with pytest.raises(AccelwatchError, match="another process is recording"):
            Recorder(tmp_path / "r.zst")
        recorder.write(shot(1))
    assert numbers(tmp_path / "r.zst") == [0, 1]


def test_a_file_system_without_locks_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert numbers(write(tmp_path / "r.zst", 2)) == [0, 1]


def test_a_closed_recorder_takes_nothing(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r.zst")
    recorder.close()
    recorder.close()
    with pytest.raises(AccelwatchError, match="closed"):
        recorder.write(shot(0))


def test_a_document_that_could_not_be_read_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Recorder(tmp_path / "r.zst") as recorder:
        recorder.write(shot(0))
        monkeypatch.setattr("accelwatch.archive.recording.recorder.MAX_LINE", 1000)
        with pytest.raises(AccelwatchError, match="too long"):
            recorder.write(shot(1))
    assert numbers(tmp_path / "r.zst") == [0]


_FILL = """
import resource, sys
from pathlib import Path
from accelwatch.base.errors import AccelwatchError
from accelwatch.archive.recording import Recorder
from archive.recording.shots import shot
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
recorder = Recorder(Path(sys.argv[1]))
try:
    for number in range(100000):
        recorder.write(shot(number))
except AccelwatchError as error:
    print(recorder.documents)
    print(error)
"""


def test_a_disk_that_is_full_from_the_beginning_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "r.ndjson"
    done = subprocess.run(
        [sys.executable, "-c", _FILL, str(path), "100"],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.endswith("the recording has ended, there is no document before\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("limit", [30_000, 30_001, 33_333])
@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk_ends_the_recording_in_order(tmp_path: Path, name: str, limit: int) -> None:
    path = tmp_path / name
    done = subprocess.run(
        [sys.executable, "-c", _FILL, str(path), str(limit)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    count, message = done.stdout.splitlines()
    assert message == (
        f"{path}: File too large; the recording has ended, the {count} documents before are kept"
    )
    assert path.stat().st_size <= limit
    assert numbers(path) == list(range(int(count)))
    assert not any("missing" in note or "damage" in note for note in notes(path))


def write_all(recorder: Recorder, count: int) -> None:
    for number in range(count):
        recorder.write(shot(number))


def test_a_disk_that_fails_while_a_file_is_finished_leaves_the_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    path = tmp_path / "r.ndjson"
    recorder = Recorder(path, max_bytes=64 << 10)
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(AccelwatchError, match=r"are kept in .*r\.ndjson\.part"):
        write_all(recorder, 1000)
    assert numbers(path) == list(range(recorder.documents))


def test_times_are_those_of_the_documents(tmp_path: Path) -> None:
    path = tmp_path / "r.zst"
    exact = msgspec.structs.replace(shot(0), time=1_800_000_000.123456)
    with Recorder(path) as recorder:
        recorder.write(exact)
    with Recording.open(path) as recording:
        assert list(recording.times()) == [recording.at(0).time]
        assert number_of(recording.at(0)) == 0
