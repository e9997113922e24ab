"""A link in a state folder is not followed: what it leads to is neither read nor written."""

from collections.abc import Callable
from pathlib import Path

import pytest

from accelwatch.alerting.incidents.journal.opening import open_journal
from accelwatch.alerting.incidents.journal.sqlite.file import FILE as JOURNAL
from accelwatch.alerting.incidents.journal.sqlite.folder import LOCK as JOURNAL_LOCK
from accelwatch.alerting.incidents.journal.sqlite.folder import MARKER_FILE
from accelwatch.archive.blackbox.files import lock as black_box_lock
from accelwatch.archive.history.writer import Writer as ArchiveWriter
from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.approval.secret import FILE as LINKS_KEY
from accelwatch.fleet.approval.secret import signing_key
from accelwatch.fleet.hub_client.local_hub.inventory_folder import acquire_folder
from accelwatch.fleet.state.evidence.file import EvidenceFile
from accelwatch.fleet.state.inventory.file import FILE as INVENTORY
from accelwatch.fleet.state.inventory.opening import LOCK as INVENTORY_LOCK
from accelwatch.fleet.state.inventory.opening import open_inventory
from accelwatch.node.store.persistence.counts import CountFile
from accelwatch.node.usage.ledger import Ledger
from accelwatch.node.usage.ledger_file import FILE as USAGE
from accelwatch.node.usage.ledger_file import LedgerFile
from accelwatch.system.files.atomic_file import read_replaced
from accelwatch_kernel_log.position import PositionStore

CONTENT = b"of somebody else"


def _journal(folder: Path) -> None:
    assert open_journal(folder, 0.0).file is None


def _inventory(folder: Path) -> None:
    assert not open_inventory(folder).kept


STORES: dict[str, Callable[[Path], object]] = {
    JOURNAL: _journal,
    f"{JOURNAL}-wal": _journal,
    JOURNAL_LOCK: _journal,
    MARKER_FILE: _journal,
    INVENTORY: _inventory,
    f"{INVENTORY}-shm": _inventory,
}


@pytest.mark.parametrize("name", STORES)
def test_what_a_link_leads_to_stays_as_it_is(tmp_path: Path, name: str) -> None:
    folder, secret = tmp_path / "state", tmp_path / "secret"
    folder.mkdir()
    secret.write_bytes(CONTENT)
    secret.chmod(0o644)
    before = secret.stat()
    (folder / name).symlink_to(secret)
    STORES[name](folder)
    after = secret.stat()
    assert secret.read_bytes() == CONTENT
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)


@pytest.mark.parametrize("name", [JOURNAL, INVENTORY, JOURNAL_LOCK, INVENTORY_LOCK, MARKER_FILE])
def test_nothing_is_made_where_a_link_leads_to_nothing(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    (folder / name).symlink_to(tmp_path / "elsewhere")
    STORES.get(name, _inventory_opened)(folder)
    assert not (tmp_path / "elsewhere").exists()


def _inventory_opened(folder: Path) -> None:
    open_inventory(folder)


def test_no_lock_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path.parent / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        black_box_lock(tmp_path)
    with pytest.raises(AccelwatchError, match="symbolic links"):
        acquire_folder(tmp_path, tmp_path / "spare", configured=True)
    archive = tmp_path / "archive"
    ArchiveWriter(archive, interval_s=1.0, source="test").close(0)
    (archive / ".lock").unlink()
    (archive / ".lock").symlink_to(tmp_path.parent / "elsewhere")
    with pytest.raises(AccelwatchError, match="symbolic links"):
        ArchiveWriter(archive, interval_s=1.0, source="test")
    assert not (tmp_path.parent / "elsewhere").exists()


def test_what_is_read_is_no_link(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    secret, folder = tmp_path / "secret", tmp_path / "state"
    folder.mkdir()
    secret.write_text(
        '{"format": 1, "counts": {"gpu": {}}, "boot_id": "b", "sequence": 7, "version": 1}'
    )
    for name in ("event_counts.json", "kernel_log.json", "evidence.json", USAGE):
        (folder / name).symlink_to(secret)
    assert CountFile(folder).load() == {}
    assert PositionStore(folder).load(0.0) is None
    evidence = EvidenceFile(folder)
    assert evidence.read() == ()
    assert "symbolic links" in evidence.problem
    LedgerFile(folder / USAGE).load(Ledger(gap_limit_s=5.0), 0.0)
    assert "symbolic links" in caplog.text
    with pytest.raises(OSError, match="symbolic links"):
        read_replaced(folder / USAGE)


def test_the_key_of_links_is_no_link(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("0" * 64)
    (tmp_path / "key").chmod(0o600)
    (tmp_path / LINKS_KEY).symlink_to(tmp_path / "key")
    with pytest.raises(AccelwatchError, match="cannot be read"):
        signing_key(None, tmp_path)


def test_a_journal_that_is_a_link_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).symlink_to(tmp_path / "elsewhere")
    problem = open_journal(tmp_path, 0.0).problem
    assert (
        f"{JOURNAL} is a symbolic link, which is not followed; put the file itself there" in problem
    )
