"""The journal's states: whatever remedies keep, its claims, and files of the first version."""

import sqlite3
from pathlib import Path

import msgspec
import pytest

from accelwatch.alerting.incidents.journal.errors import (
    JournalClaimedError,
    JournalDamagedError,
    JournalError,
    JournalRefusedError,
)
from accelwatch.alerting.incidents.journal.journal import Journal
from accelwatch.alerting.incidents.journal.records import (
    GONE,
    MOST_BODY,
    Batch,
    NoteRecord,
    StateRecord,
)
from accelwatch.alerting.incidents.journal.sqlite.file import FILE, open_file
from accelwatch.alerting.incidents.journal.sqlite.schema import VERSION
from alerting.incidents.incident_rules import START
from support.incidents.kept_journals import KeptJournal

OLD = Path(__file__).parent / "journal_version_1.sql"


def state(
    key: str, body: object = "as it is", *, claim: str = "", until: float | None = None
) -> StateRecord:
    raw = GONE if body is None else msgspec.Raw(msgspec.json.encode(body))
    return StateRecord("operation", key, raw, until, claim)


def write(file: Journal, *records: StateRecord, address: str = "") -> None:
    file.write([Batch(time=START, records=list(records), actor="anna", address=address)])


def test_the_last_word_on_a_state_counts(journal: Journal) -> None:
    write(journal, state("o1", "first"), state("o2", "other"))
    write(journal, state("o1", "second"))
    assert journal.load(START).states == [state("o1", "second"), state("o2", "other")]


def test_what_is_gone_stands_no_more(journal: Journal) -> None:
    write(journal, state("o1"))
    write(journal, state("o1", None))
    assert journal.load(START).states == []


def test_what_is_over_is_not_loaded_and_goes(journal: Journal) -> None:
    write(journal, state("o1", until=START + 10), state("o2", until=START + 30))
    assert [one.key for one in journal.load(START + 20).states] == ["o2"]
    journal.prune(START + 20)
    assert [one.key for one in journal.load(START).states] == ["o2"]


def test_only_one_at_a_time_claims_the_same(journal: Journal) -> None:
    write(journal, state("o1", claim="node:n1"), state("o2", claim="node:n2"))
    with pytest.raises(JournalClaimedError, match="holds 'node:n1' already"):
        write(journal, state("o4"), state("o3", claim="node:n1"))
    assert [one.key for one in journal.load(START).states] == ["o1", "o2"]
    write(journal, state("o1"))
    write(journal, state("o3", claim="node:n1"))
    assert journal.load(START).states[2].claim == "node:n1"


def test_a_body_has_a_bound(journal: Journal) -> None:
    write(journal, state("o1", "x" * (MOST_BODY - 2)))
    with pytest.raises(JournalRefusedError, match="operation o2 is larger than 65536 bytes"):
        write(journal, state("o2", "x" * (MOST_BODY - 1)))


def test_states_are_made_again_from_the_entries(kept: KeptJournal, journal: Journal) -> None:
    write(journal, state("o1", claim="node:n1"), state("o2"), state("o3", until=START + 9))
    write(journal, state("o2", None), state("o1", "done"), state("o4", claim="node:n1"))
    before = journal.load(START)
    kept.change("UPDATE state SET claim = NULL, until = NULL, body = '\"another\"'")
    kept.change("DELETE FROM state WHERE key = 'o1'")
    journal.rebuild()
    assert journal.load(START) == before


def test_an_entry_has_the_address_of_the_request(journal: Journal) -> None:
    write(journal, state("o1"), address="192.0.2.7")
    write(journal, state("o2"))
    assert [one.address for one in journal.entries()] == ["192.0.2.7", ""]
    assert journal.verify() == 2


@pytest.mark.parametrize("address", ["192.0.2.8", ""])
def test_an_address_that_was_changed_is_found(
    kept: KeptJournal, journal: Journal, address: str
) -> None:
    write(journal, state("o1"), address="192.0.2.7")
    kept.change(f"UPDATE entry SET address = '{address}'")
    with pytest.raises(JournalDamagedError, match="entry 1 is not what was written"):
        journal.verify()


def old_file(folder: Path) -> Path:
    path = folder / FILE
    with sqlite3.connect(path) as database:
        database.executescript(OLD.read_text(encoding="utf-8"))
        database.execute("PRAGMA user_version=1")
    database.close()
    return path


def version(path: Path) -> int:
    with sqlite3.connect(path) as database:
        (written,) = database.execute("PRAGMA user_version").fetchone()
    database.close()
    return int(written)


def test_a_file_of_the_first_version_keeps_everything(tmp_path: Path) -> None:
    path = old_file(tmp_path)
    file = open_file(path)
    loaded = file.load(START + 10)
    assert [(one.id, one.is_open) for one in loaded.incidents] == [("i2", True), ("i1", False)]
    assert ([one.id for one in loaded.silences], [one.id for one in loaded.windows]) == (
        ["s7"],
        ["m9"],
    )
    assert (loaded.fingerprints, loaded.outbox) == ({"xid:n1": START + 600}, [b'{"tries":1}'])
    assert (loaded.number, loaded.states) == (9, [])
    assert file.verify() == 7
    write(file, state("o1", claim="node:n1"), address="192.0.2.7")
    assert file.verify() == 8
    file.rebuild()
    loaded.states = [state("o1", claim="node:n1")]
    assert file.load(START + 10) == loaded
    file.close()
    assert version(path) == VERSION


def test_a_file_of_the_first_version_is_read_as_it_is(tmp_path: Path) -> None:
    path = old_file(tmp_path)
    file = open_file(path, read_only=True)
    assert file.verify() == 7
    *_, last = file.entries()
    assert (last.actor, last.address) == ("operator", "")
    assert last.record == NoteRecord("i1", "looked at it")
    assert file.load(START).states == []
    file.close()
    assert version(path) == 1


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = old_file(tmp_path)
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE state (somebody TEXT)")
    database.close()
    with pytest.raises(JournalError, match="state already exists"):
        open_file(path)
    assert version(path) == 1
    with sqlite3.connect(path) as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(entry)")]
    database.close()
    assert "address" not in columns


def test_a_file_of_a_later_version_is_left_as_it_is(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE) as database:
        database.execute(f"PRAGMA user_version={VERSION + 1}")
    database.close()
    with pytest.raises(JournalError, match=r"written by another version \(3\)"):
        open_file(tmp_path / FILE)
