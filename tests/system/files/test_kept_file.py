"""A kept document survives everything but its disk; what cannot be read is never written over."""

import errno
import functools
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from accelwatch.system.files import damaged as damaged_module
from accelwatch.system.files.damaged import damaged_files, set_aside
from accelwatch.system.files.folder_lock import lock_file
from accelwatch.system.files.kept_file import DamagedFileError, KeptFile, decode_version


class Document(msgspec.Struct, frozen=True):
    sums: dict[str, int]
    format: int = 1


DECODE = functools.partial(decode_version, kind=Document, version=1)
WRITTEN = msgspec.json.encode(Document({"a": 1}))
LOSS = "sums begin at 0"


def file_in(folder: Path, *, leave: bool = False) -> KeptFile[Document]:
    return KeptFile(folder / "sums.json", DECODE, LOSS, leave_damaged=leave)


def test_what_was_written_is_read_again_and_is_its_owners_alone(tmp_path: Path) -> None:
    assert file_in(tmp_path / "state").save(WRITTEN) == ""
    again = file_in(tmp_path / "state")
    assert again.load() == Document({"a": 1})
    assert again.problem == ""
    assert stat.S_IMODE(again.path.stat().st_mode) == 0o600


def test_a_first_start_has_nothing_and_says_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert file_in(tmp_path).load() is None
    assert caplog.messages == []


def test_a_document_without_a_version_is_of_the_first() -> None:
    assert DECODE(b'{"sums": {"b": 2}}') == Document({"b": 2})


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "truncated"),
        (b"\xff\xfe", ""),
        (b"[]", "Expected `object`"),
        (b'{"sums": []}', "Expected `object`, got `array`"),
        (b'{"format": 7, "other": 1}', "format 7"),
        (b'{"format": "1", "sums": {}}', 'format "1"'),
        (b'{"x": ' + b"[" * 100_000, "recursion"),
    ],
)
def test_what_cannot_be_read_is_set_aside_and_the_message_says_what_to_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes, fault: str
) -> None:
    file = file_in(tmp_path)
    file.path.write_bytes(content)
    assert file.load() is None
    aside = tmp_path / "sums.json.damaged"
    assert aside.read_bytes() == content
    (message,) = caplog.messages
    assert fault in message
    assert LOSS in message
    assert f"path={file.path}" in message
    assert f"kept={aside}" in message
    assert "put a good copy in its place and restart, or remove it" in message
    assert file.save(WRITTEN) == ""
    assert file_in(tmp_path).load() == Document({"a": 1})


def test_no_damaged_file_replaces_another(tmp_path: Path) -> None:
    for number in range(3):
        file = file_in(tmp_path)
        file.path.write_bytes(b"damaged %d" % number)
        file.load()
    names = ["sums.json.damaged", "sums.json.damaged-2", "sums.json.damaged-3"]
    assert [path.name for path in damaged_files(tmp_path)] == names
    assert [(tmp_path / name).read_bytes() for name in names] == [
        b"damaged 0",
        b"damaged 1",
        b"damaged 2",
    ]


def test_when_nothing_more_can_be_set_aside_the_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(damaged_module, "_MOST", 1)
    (tmp_path / "sums.json.damaged").symlink_to("nowhere")
    file = file_in(tmp_path)
    file.path.write_bytes(b"{")
    assert file.load() is None
    assert file.path.read_bytes() == b"{"
    assert "it cannot be set aside: 1 files were set aside before" in file.problem
    assert file.save(WRITTEN) == file.problem
    assert file.path.read_bytes() == b"{"


def test_one_that_a_person_decides_about_is_left_and_not_written_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = file_in(tmp_path, leave=True)
    file.path.write_bytes(b"{")
    assert file.load() is None
    assert caplog.messages == [file.problem]
    assert file.problem.startswith(f"{file.path}: {LOSS}: ")
    assert "put back from a backup or moved away, and this process restarted" in file.problem
    assert file.save(WRITTEN) == file.problem
    with pytest.raises(OSError, match="nothing is written there"):
        file.write(WRITTEN)
    file.remove()
    assert file.path.read_bytes() == b"{"
    assert damaged_files(tmp_path) == ()


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_what_cannot_be_opened_is_not_replaced(tmp_path: Path, kind: str) -> None:
    file = file_in(tmp_path)
    if kind == "link":
        (tmp_path / "other").write_bytes(WRITTEN)
        file.path.symlink_to("other")
    else:
        file.path.mkdir()
    assert file.load() is None
    assert file.save(WRITTEN) == file.problem
    assert file.path.is_symlink() if kind == "link" else file.path.is_dir()


def test_reading_alone_changes_nothing(tmp_path: Path) -> None:
    file = file_in(tmp_path)
    file.path.write_bytes(b"{")
    with pytest.raises(DamagedFileError, match="truncated"):
        file.read()
    assert [path.name for path in tmp_path.iterdir()] == ["sums.json"]
    assert file.problem == ""


def test_a_full_disk_keeps_the_old_file_and_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = file_in(tmp_path)
    file.save(WRITTEN)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        newer = msgspec.json.encode(Document({"a": 2}))
        assert file.save(newer) == f"{file.path}: No space left on device"
        assert file.save(newer) == f"{file.path}: No space left on device"
    assert len(caplog.messages) == 1
    assert file_in(tmp_path).load() == Document({"a": 1})
    assert file.save(newer) == ""
    assert file_in(tmp_path).load() == Document({"a": 2})


def test_a_removed_document_is_none(tmp_path: Path) -> None:
    file = file_in(tmp_path)
    file.save(WRITTEN)
    file.remove()
    file.remove()
    assert file.load() is None


def test_companions_go_with_their_file(tmp_path: Path) -> None:
    for name in ("db", "db-wal"):
        (tmp_path / name).write_bytes(name.encode())
    aside = set_aside(tmp_path / "db", ("", "-wal", "-shm"))
    assert aside == tmp_path / "db.damaged"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["db.damaged", "db.damaged-wal"]


def test_a_locked_file_is_held_until_its_descriptor_closes(tmp_path: Path) -> None:
    held = lock_file(tmp_path / "lock")
    with pytest.raises(BlockingIOError):
        lock_file(tmp_path / "lock")
    os.close(held)
    os.close(lock_file(tmp_path / "lock"))
    assert stat.S_IMODE((tmp_path / "lock").stat().st_mode) == 0o600
    (tmp_path / "link").symlink_to("lock")
    with pytest.raises(OSError, match="symbolic links"):
        lock_file(tmp_path / "link")


def test_what_is_written_in_parts_is_read_as_a_whole_and_is_its_owners_alone(
    tmp_path: Path,
) -> None:
    file = file_in(tmp_path / "state")
    assert file.save_chunks([WRITTEN[:5], memoryview(WRITTEN)[5:]]) == ""
    assert file_in(tmp_path / "state").load() == Document({"a": 1})
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600


def test_parts_that_fail_leave_the_file_and_nothing_beside_it(tmp_path: Path) -> None:
    file = file_in(tmp_path)
    file.save(WRITTEN)

    def chunks() -> Iterator[bytes]:
        yield b"half"
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        file.save_chunks(chunks())
    assert file_in(tmp_path).load() == Document({"a": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["sums.json"]


@pytest.mark.parametrize(("most", "kept"), [(len(WRITTEN), True), (len(WRITTEN) - 1, False)])
def test_a_file_of_more_than_is_ever_written_is_damaged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, most: int, *, kept: bool
) -> None:
    file = KeptFile(tmp_path / "sums.json", DECODE, LOSS, most_bytes=most)
    file.save(WRITTEN)
    assert (file.load() is not None) == kept
    assert bool(damaged_files(tmp_path)) != kept
    fault = f"fault=it has {len(WRITTEN)} bytes, more than {most}"
    assert [fault in message for message in caplog.messages] == [True] * (not kept)


def test_of_what_is_made_anew_the_newest_copies_are_kept(tmp_path: Path) -> None:
    file = KeptFile(tmp_path / "sums.json", DECODE, LOSS, most_aside=2)
    other = tmp_path / "sums.json.damaged.gz"
    other.touch()
    for number in range(5):
        file.path.write_bytes(b"damage %d" % number)
        # File systems may have the same time for all of them.
        os.utime(file.path, (number, number))
        assert file.load() is None
        assert file.problem == ""
    copies = {path.read_bytes() for path in damaged_files(tmp_path)}
    assert copies == {b"damage 3", b"damage 4"}
    assert other.exists()


def test_of_all_else_every_copy_is_kept(tmp_path: Path) -> None:
    for _ in range(5):
        file_in(tmp_path).path.write_bytes(b"damage")
        assert file_in(tmp_path).load() is None
    assert len(damaged_files(tmp_path)) == 5
