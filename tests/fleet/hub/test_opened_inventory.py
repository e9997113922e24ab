"""No state of the inventory's file keeps a hub from starting; what is lost by it is said."""

import fcntl
import os
import sqlite3
from pathlib import Path

import pytest

from accelwatch.fleet.state.inventory.file import FILE, Changes, Expected, InventoryFile
from accelwatch.fleet.state.inventory.opening import LOCK, Opened, open_inventory
from support.fleet.manual_fleet import Bench

NODE = Expected(first_seen=1.0, last_seen=2.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An inventory that knows a node."""
    file = InventoryFile(tmp_path)
    file.write(Changes(updated={"n1": NODE}))
    file.close()
    return tmp_path


def ended(opened: Opened) -> None:
    opened.file.close()
    if opened.lock is not None:
        os.close(opened.lock)


def test_without_a_folder_there_is_nothing_to_know_and_nothing_to_report() -> None:
    opened = open_inventory(None)
    assert (opened.expected, opened.problem, opened.lock) == ({}, "", None)
    ended(opened)


def test_what_was_expected_is_known_and_the_folder_is_held(folder: Path) -> None:
    opened = open_inventory(folder)
    assert list(opened.expected) == ["n1"]
    assert opened.problem == ""
    with (folder / LOCK).open("r+b") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    ended(opened)


def test_a_fleet_knows_its_nodes_by_their_names(folder: Path) -> None:
    node = Bench(folder=folder).fleet.nodes["n1"]
    assert (node.name, node.expected) == ("n1", NODE)


def test_where_another_hub_is_its_inventory_is_read_and_not_written(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = open_inventory(folder)
    second = open_inventory(folder)
    assert list(second.expected) == ["n1"]
    assert second.lock is None
    assert second.problem == (
        f"{folder}: another hub keeps its inventory here; its content is known,"
        " and what changes is in memory only until it can be written"
    )
    assert [record.getMessage() for record in caplog.records] == [second.problem]
    second.file.write(Changes(updated={"n2": NODE}))
    assert list(first.file.load()) == ["n1"]
    ended(second)
    ended(first)


def test_where_an_older_hub_is_its_inventory_is_read(folder: Path) -> None:
    first = open_inventory(folder)
    with sqlite3.connect(folder / FILE) as database:
        database.execute("PRAGMA user_version = 1")
    database.close()
    second = open_inventory(folder)
    assert list(second.expected) == ["n1"]
    ended(second)
    ended(first)


def test_where_another_hub_is_and_nothing_can_be_read_that_is_reported(folder: Path) -> None:
    first = open_inventory(folder)
    (folder / FILE).write_bytes(b"no database")
    second = open_inventory(folder)
    assert second.expected == {}
    assert "; its content is unknown, and what changes is" in second.problem
    ended(second)
    ended(first)


def test_an_emptied_file_is_damaged_and_not_new(folder: Path) -> None:
    """It would forget which devices are expected without a word."""
    first = open_inventory(folder)
    first.file.write(Changes(updated={"n1": NODE}))
    ended(first)
    for path in folder.glob(f"{FILE}*"):
        path.unlink()
    (folder / FILE).write_bytes(b"")
    again = open_inventory(folder)
    assert "it was emptied" in again.problem
    assert "what was expected before is not known" in again.problem
    assert (folder / f"{FILE}.damaged").exists()
    ended(again)


@pytest.mark.parametrize("before", [0, 2])
def test_a_damaged_file_is_set_aside_and_a_new_one_started(
    folder: Path, before: int, caplog: pytest.LogCaptureFixture
) -> None:
    names = [f"{FILE}.damaged", f"{FILE}.damaged-2", f"{FILE}.damaged-3"]
    for name in names[:before]:
        (folder / name).write_bytes(b"an earlier one")
    (folder / FILE).write_bytes(b"no database")
    opened = open_inventory(folder)
    aside = names[before]
    assert opened.expected == {}
    assert opened.lock is not None
    assert opened.problem.endswith(
        f"; it is set aside as {aside}, and what was expected before is not known"
    )
    assert [record.getMessage() for record in caplog.records] == [opened.problem]
    assert (folder / aside).read_bytes() == b"no database"
    assert {(folder / name).read_bytes() for name in names[:before]} <= {b"an earlier one"}
    opened.file.write(Changes(updated={"n2": NODE}))
    ended(opened)
    again = open_inventory(folder)
    assert (list(again.expected), again.problem) == (["n2"], "")
    ended(again)


def test_a_damaged_file_that_cannot_be_set_aside_is_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / FILE).write_bytes(b"no database")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    opened = open_inventory(folder)
    assert "; and no new one can be created: [Errno 28] No space left on device; " in opened.problem
    assert (folder / FILE).read_bytes() == b"no database"
    ended(opened)


def test_a_file_of_a_later_version_is_left_alone(folder: Path) -> None:
    with sqlite3.connect(folder / FILE) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    opened = open_inventory(folder)
    assert "99" in opened.problem
    assert opened.problem.endswith("and what changes is in memory only until it can be written")
    assert not list(folder.glob("*.damaged*"))
    ended(opened)
