"""A file is replaced as a whole, or not at all."""

import errno
import os
import stat
from pathlib import Path

import pytest

from accelwatch.system.files.atomic_file import PRIVATE, replace_file


def test_the_new_content_is_all_there_is(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    replace_file(path, b"the first, which is longer")
    replace_file(path, b"second", durable=False)
    assert path.read_bytes() == b"second"
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]


def test_a_private_file_is_its_owners_even_instead_of_another(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o644)
    replace_file(path, b"new", mode=PRIVATE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"somebody's")
    path = tmp_path / "file"
    path.symlink_to("other")
    replace_file(path, b"new")
    assert (tmp_path / "other").read_bytes() == b"somebody's"
    assert not path.is_symlink()


def test_an_interrupted_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old")

    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_what_cannot_be_replaced_is_an_error_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        replace_file(path, b"new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]
