"""A state file that cannot be read is lost, and people are notified of it; one that never was is not.

Beside those of the table: `history.json`, whose archive is refused, the key of links, without which a
hub does not start, and `start-refused`, without which people are notified once more.
"""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from accelwatch.alerting.evaluation.self_check.own_problems import journal_problem, state_problem
from accelwatch.alerting.incidents.journal.opening import open_journal
from accelwatch.alerting.incidents.journal.sqlite.file import FILE as JOURNAL
from accelwatch.alerting.incidents.journal.sqlite.folder import MARKER_FILE
from accelwatch.archive.blackbox.bounds import Bounds
from accelwatch.archive.blackbox.freezer import Freezer
from accelwatch.archive.history.writer import Writer as ArchiveWriter
from accelwatch.base.errors import AccelwatchError, ConfigError
from accelwatch.fleet.approval.secret import FILE as LINKS_KEY
from accelwatch.fleet.approval.secret import signing_key
from accelwatch.fleet.state.evidence.file import EvidenceFile
from accelwatch.fleet.state.inventory.file import FILE as INVENTORY
from accelwatch.fleet.state.inventory.writer import InventoryWriter
from accelwatch.node.store.persistence.counts import CountFile
from accelwatch.node.store.persistence.identity_file import IdentityFile
from accelwatch.node.usage.ledger import Ledger
from accelwatch.node.usage.ledger_file import FILE as USAGE
from accelwatch.node.usage.ledger_file import LedgerFile
from accelwatch.schema.stream.frames import frame
from accelwatch.system.files.damaged import damaged_files
from accelwatch_kernel_log.position import PositionStore

# Why files were left as they are, as far as their keepers say so.
Unread = tuple[str, ...]
KEPT = "black box"


def _counts(folder: Path) -> Unread:
    assert CountFile(folder).load() == {}
    return ()


def _known(folder: Path) -> Unread:
    assert IdentityFile(folder).load() == ()
    return ()


def _position(folder: Path) -> Unread:
    assert PositionStore(folder).load(0.0) is None
    return ()


def _usage(folder: Path) -> Unread:
    ledger = Ledger(gap_limit_s=5.0)
    LedgerFile(folder / USAGE).load(ledger, 0.0)
    assert ledger.total is None
    return ()


def _black_box(folder: Path) -> Unread:
    assert Freezer(folder / KEPT, Bounds()).pending is None
    return ()


def _evidence(folder: Path) -> Unread:
    file = EvidenceFile(folder)
    assert file.read() == ()
    assert file.write(()) == file.problem, "what could not be read is not written over"
    return (file.problem,) if file.problem else ()


def _inventory(folder: Path) -> Unread:
    writer = InventoryWriter(folder)
    assert writer.expected == {}
    writer.close()
    return (writer.unusable,) if writer.unusable else ()


def _journal(folder: Path) -> Unread:
    opened = open_journal(folder, 0.0)
    if opened.file is not None and opened.lock is not None:
        opened.file.close()
        os.close(opened.lock)
    return (opened.problem,) if opened.problem else ()


# By file, what reads it when a process starts.
READERS: dict[str, Callable[[Path], Unread]] = {
    "event_counts.json": _counts,
    "known_devices.json": _known,
    "kernel_log.json": _position,
    USAGE: _usage,
    f"{KEPT}/pending.json": _black_box,
    "evidence.json": _evidence,
    INVENTORY: _inventory,
    JOURNAL: _journal,
}
_HEAD = {"type": "head", "version": 99, "time": 0.0, "total": None}
# What a later version might write.
LATER: dict[str, bytes] = {
    "event_counts.json": b'{"format": 99, "counts": {}}',
    "known_devices.json": b'{"format": 99, "devices": []}',
    "kernel_log.json": b'{"format": 99, "boot": "b", "at": 7}',
    USAGE: frame(msgspec.msgpack.encode(_HEAD)),
    f"{KEPT}/pending.json": b'{"format": 99}',
    "evidence.json": b'{"version": 99, "standing": []}',
}


def _damage(file: Path, kind: str, name: str) -> None:
    file.parent.mkdir(exist_ok=True)
    if kind == "emptied":
        file.touch()
    elif kind == "something else":
        file.write_bytes(b"\x00\xff[core]\n\tbare = false\n" * 300)
    elif name in LATER:
        file.write_bytes(LATER[name])
    else:
        database = sqlite3.connect(file)
        database.execute("CREATE TABLE later (x)")
        database.execute("PRAGMA user_version=99")
        database.close()
    if name == JOURNAL:
        (file.parent / MARKER_FILE).touch()


@pytest.mark.parametrize("kind", ["emptied", "something else", "of a later version"])
@pytest.mark.parametrize("name", READERS)
def test_a_lost_state_file_is_logged_and_notified(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, kind: str
) -> None:
    file = tmp_path / name
    _damage(file, kind, name)
    content = file.read_bytes()
    unread = READERS[name](tmp_path)
    assert len([one for one in caplog.messages if str(file) in one]) == 1, caplog.messages
    aside = damaged_files(tmp_path)
    assert bool(aside) is not bool(unread), "it is either set aside or left where it is"
    assert (aside or (file,))[0].read_bytes() == content
    by_file = {JOURNAL: journal_problem("", "".join(unread))}
    problem = by_file.get(name, state_problem(aside, unread))
    assert problem is not None
    assert str((aside or (file,))[0]) in problem.text
    assert ("is lost" in problem.what_to_do) is bool(aside)
    # A second start says nothing new of what was set aside, and the message stays until it is removed.
    caplog.clear()
    READERS[name](tmp_path)
    assert bool(caplog.messages) is bool(unread)
    for one in aside:
        one.unlink()
    assert state_problem(damaged_files(tmp_path), ()) is None


@pytest.mark.parametrize("kind", ["emptied", "something else", "of a later version"])
def test_a_kernel_log_position_of_an_earlier_boot_is_logged_and_not_notified(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    """A power cut may empty it; it is worth nothing in the next boot."""
    file = tmp_path / "kernel_log.json"
    _damage(file, kind, file.name)
    os.utime(file, (1000.0, 1000.0))
    assert PositionStore(tmp_path).load(1001.0) is None
    (line,) = caplog.messages
    assert str(file) in line
    assert "nothing is lost" in line
    assert damaged_files(tmp_path) == ()
    assert PositionStore(tmp_path).load(1000.0) is None
    assert damaged_files(tmp_path), "written in this boot, it had a position that is lost"


@pytest.mark.parametrize("name", READERS)
def test_a_first_start_is_nothing_to_speak_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    assert READERS[name](tmp_path) == ()
    assert caplog.messages == []
    assert damaged_files(tmp_path) == ()
    assert state_problem((), ()) is None


def test_an_inventory_of_another_hub_is_not_lost(tmp_path: Path) -> None:
    other = InventoryWriter(tmp_path)
    second = InventoryWriter(tmp_path)
    problem = state_problem(damaged_files(tmp_path), [second.unusable])
    second.close()
    other.close()
    assert problem is not None
    assert "another hub" in problem.text
    assert problem.title == "state on disk cannot be used and is left as it is"
    assert "lost" not in problem.what_to_do


def test_files_that_are_lost_and_files_that_are_not_are_distinguished(tmp_path: Path) -> None:
    problem = state_problem([tmp_path / "a.damaged"], ["b: written by a newer version"])
    assert problem is not None
    assert problem.title == (
        "state on disk cannot be used and is left as it is; "
        "state on disk was damaged and is started empty"
    )
    assert "The file is left as it is" in problem.what_to_do
    assert "what the files set aside held is lost" in problem.what_to_do


@pytest.mark.parametrize("content", [b"", b"short", b"\x00" * 8])
def test_a_key_of_links_that_is_none_stops_the_start(tmp_path: Path, content: bytes) -> None:
    (tmp_path / LINKS_KEY).write_bytes(content)
    (tmp_path / LINKS_KEY).chmod(0o600)
    with pytest.raises(ConfigError, match=r"the key of links has \d bytes.*openssl rand"):
        signing_key(None, tmp_path)


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b'{"format": "later", "interval_s": 1}'])
def test_an_archive_whose_description_is_lost_is_refused(tmp_path: Path, content: bytes) -> None:
    ArchiveWriter(tmp_path, interval_s=1.0, source="test").close(0)
    (tmp_path / "history.json").write_bytes(content)
    with pytest.raises(AccelwatchError, match=r"history\.json"):
        ArchiveWriter(tmp_path, interval_s=1.0, source="test")


def test_no_folder_has_no_damaged_files(tmp_path: Path) -> None:
    assert damaged_files(None) == ()
    assert damaged_files(tmp_path / "gone") == ()
    (tmp_path / "damaged").touch()
    (tmp_path / "x.damaged-1-wal").touch()
    assert damaged_files(tmp_path) == ()
