"""Attribute files that vanish, are empty, or hold nonsense: a typed absence, never an exception."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.base.absence import Absence
from accelwatch.system.kernel import sysfs


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"42\n", 42),
        (b"0x1f\n", 31),
        (b"-7", -7),
        (b"18446744073709551615\n", (1 << 64) - 1),
        (b"", Absence.ERROR),
        (b"\0" * 64, Absence.ERROR),
        (b"N/A\n", Absence.ERROR),
        (b"1_000\n", Absence.ERROR),
        (b"nan", Absence.ERROR),
        (b"1.5", Absence.ERROR),
        (b"18446744073709551616", Absence.ERROR),
        ("٤٢".encode(), Absence.ERROR),
        (b"\xff\xfe", Absence.ERROR),
    ],
)
def test_numbers_and_nonsense(tmp_path: Path, content: bytes, expected: int | Absence) -> None:
    path = tmp_path / "attribute"
    path.write_bytes(content)
    assert sysfs.read_int(path) == expected


def test_what_is_not_there_is_unsupported(tmp_path: Path) -> None:
    assert sysfs.read_int(tmp_path / "gone") is Absence.UNSUPPORTED
    assert sysfs.read_text(tmp_path) is Absence.UNSUPPORTED
    (tmp_path / "file").write_text("1")
    assert sysfs.read_bytes(tmp_path / "file" / "below") is Absence.UNSUPPORTED
    assert sysfs.list_dir(tmp_path / "gone") == []
    assert sysfs.link_name(tmp_path / "file") is None


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.EACCES, Absence.PERMISSION),
        (errno.ENODEV, Absence.LOST),
        (errno.ENXIO, Absence.LOST),
        (errno.EIO, Absence.ERROR),
        (errno.EBUSY, Absence.ERROR),
        (errno.ETIMEDOUT, Absence.TIMEOUT),
        (None, Absence.ERROR),
    ],
)
def test_what_the_kernel_answers_instead(number: int | None, reason: Absence) -> None:
    error = OSError() if number is None else OSError(number, "told")
    assert sysfs.reason_of(error) is reason


def test_a_file_without_end_is_read_up_to_a_bound() -> None:
    content = sysfs.read_bytes(Path("/dev/zero"))
    assert isinstance(content, bytes)
    assert len(content) == 1 << 20


def test_a_text_that_reads_like_a_reason_is_none(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("lost\n")
    text, gone = sysfs.read_text(tmp_path / "state"), sysfs.read_text(tmp_path / "none")
    assert (text, gone) == ("lost", Absence.UNSUPPORTED)
    assert isinstance(text, str)
    assert not isinstance(text, Absence)
    assert not isinstance(gone, str)


def test_entries_come_in_natural_order(tmp_path: Path) -> None:
    for name in ("card10", "card2", "card1", "renderD128"):
        (tmp_path / name).touch()
    found = [path.name for path in sysfs.list_dir(tmp_path)]
    assert found == ["card1", "card2", "card10", "renderD128"]


@given(st.text())
def test_any_text_is_a_number_of_64_bits_or_an_error(text: str) -> None:
    found = sysfs.integer(text)
    if isinstance(found, Absence):
        assert found is Absence.ERROR
    else:
        assert abs(found) < 1 << 64


def test_what_is_longer_than_a_page_is_read_to_its_end(tmp_path: Path) -> None:
    for size in (4095, 4096, 4097, 300_000):
        (tmp_path / "blob").write_bytes(b"x" * size)
        content = sysfs.read_bytes(tmp_path / "blob")
        assert isinstance(content, bytes)
        assert len(content) == size


def test_what_is_given_page_by_page_is_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = os.read
    monkeypatch.setattr(os, "read", lambda descriptor, count: plain(descriptor, min(count, 4096)))
    content = b"0x1234 : 0x1000 : R\n" * 1000
    (tmp_path / "pages").write_bytes(content)
    assert sysfs.read_bytes(tmp_path / "pages") == content


def test_a_path_is_populated_when_it_is_a_file_or_a_folder_with_something_in_it(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "folder"
    assert not sysfs.is_populated(folder)
    folder.mkdir()
    assert not sysfs.is_populated(folder)
    (folder / "file").touch()
    assert sysfs.is_populated(folder)
    assert sysfs.is_populated(folder / "file")
    assert not sysfs.is_populated(folder / "file/below")
