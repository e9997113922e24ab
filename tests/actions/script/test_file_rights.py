"""A program that others could change is not run."""

import os
from pathlib import Path

import pytest

from accelwatch_script.file_rights import complaint
from support.actions.hooks import program

OWNERS = frozenset({0, os.geteuid()})


def test_one_that_nobody_else_can_change(tmp_path: Path) -> None:
    assert complaint([program(tmp_path, "true")], OWNERS) == ""
    assert complaint(["/bin/sh", program(tmp_path, "true"), "/no/such/file", "-x"], OWNERS) == ""


@pytest.mark.parametrize("mode", [0o775, 0o757])
def test_others_may_write_to_it(tmp_path: Path, mode: int) -> None:
    path = program(tmp_path, "true")
    Path(path).chmod(mode)
    assert complaint([path], OWNERS) == (
        f"{path}: its group or others may write to it; chmod go-w it"
    )
    # The script of an interpreter is a program too.
    assert "chmod go-w" in complaint(["/bin/sh", path], OWNERS)


def test_others_may_write_to_a_folder_above(tmp_path: Path) -> None:
    folder = tmp_path / "open" / "inner"
    folder.mkdir(parents=True)
    path = program(folder, "true")
    folder.parent.chmod(0o777)
    assert complaint([path], OWNERS).startswith(f"{folder.parent}: its group or others")
    folder.parent.chmod(0o1777)
    assert complaint([path], OWNERS) == ""


def test_it_belongs_to_somebody_else(tmp_path: Path) -> None:
    path = program(tmp_path, "true")
    assert f"belongs to uid {os.geteuid()}" in complaint([path], frozenset({54321}))


def test_the_way_of_a_link_counts_at_both_ends(tmp_path: Path) -> None:
    path = program(tmp_path, "true")
    folder = tmp_path / "open"
    folder.mkdir()
    (folder / "link").symlink_to(path)
    assert complaint([str(folder / "link")], OWNERS) == ""
    folder.chmod(0o777)
    assert complaint([str(folder / "link")], OWNERS).startswith(f"{folder}: ")


def test_what_cannot_be_run(tmp_path: Path) -> None:
    path = program(tmp_path, "true")
    Path(path).chmod(0o644)
    assert "chmod 755 it" in complaint([path], OWNERS)
    assert complaint([str(tmp_path)], OWNERS) == f"{tmp_path}: not a file"
    assert "No such file" in complaint([str(tmp_path / "none")], OWNERS)
    (tmp_path / "loop").symlink_to("loop")
    assert complaint([str(tmp_path / "loop")], OWNERS) != ""
