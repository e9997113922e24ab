"""The journal: what is written stays, in its order and unchanged; on a bad day nothing is begun anew."""

import asyncio
import contextlib
import os
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import msgspec
import pytest

from accelwatch.alerting.incidents.journal.errors import (
    JournalClaimedError,
    JournalDamagedError,
    JournalError,
)
from accelwatch.alerting.incidents.journal.journal import KEPT_S, Journal
from accelwatch.alerting.incidents.journal.opening import open_journal
from accelwatch.alerting.incidents.journal.records import (
    GONE,
    Batch,
    IncidentRecord,
    MaintenanceRecord,
    NoteRecord,
    Record,
    RuleSetRecord,
    SilenceRecord,
    StateRecord,
)
from accelwatch.alerting.incidents.journal.sqlite.file import FILE, SQLiteFile, open_file
from accelwatch.alerting.incidents.journal.sqlite.folder import MARKER_FILE
from accelwatch.alerting.incidents.journal.tables.state_tables import RECENT_S
from accelwatch.alerting.incidents.journal.writer import JournalWriter
from accelwatch.alerting.incidents.model.incident import (
    Facts,
    Incident,
    IncidentState,
    TimelineEntry,
    TimelineKind,
)
from accelwatch.alerting.incidents.model.silence import Maintenance, Silence, matchers
from accelwatch.alerting.rules.document import Advice, Confidence, Severity
from alerting.incidents.incident_rules import START, device
from support.incidents.kept_journals import KeptJournal


def incident(number: int = 1, at: float = START, *, closed: bool = False) -> Incident:
    return Incident(
        id=f"i{number}",
        family="gpu.lost",
        rule="gpu.lost",
        rules=("gpu.lost",),
        rule_digest="digest",
        title="GPU 넷 is lost",
        entity=device(),
        facts=Facts(labels={"rack": "r1"}),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        advice=Advice.REBOOT,
        state=IncidentState.CLOSED if closed else IncidentState.OPEN,
        since=at,
        opened=at,
        updated=at,
        closed=at if closed else None,
        timeline=(TimelineEntry(at, TimelineKind.OPENED, "GPU is lost"),),
    )


def silence(ends: float) -> Silence:
    return Silence(
        id="s7", matchers=matchers("node=n1"), starts=START, ends=ends, by="me", reason="swap"
    )


def window(ends: float) -> Maintenance:
    return Maintenance(id="m9", nodes=("n1",), starts=START, ends=ends, by="me", reason="BIOS")


HELD = msgspec.Raw(b'{"node":"n1"}')


def hold(
    incident: str,
    *,
    body: msgspec.Raw = HELD,
    claim: str = "",
    until: float | None = None,
) -> StateRecord:
    return StateRecord("hold", incident, body, until, claim, incident, "n1")


def write(file: Journal, *records: Record, at: float = START, actor: str = "engine") -> None:
    file.write([Batch(time=at, records=list(records), actor=actor)])


def test_a_new_journal_knows_nothing(journal: Journal) -> None:
    loaded = journal.load(START)
    assert (loaded.incidents, loaded.silences, loaded.windows, loaded.number) == ([], [], [], 0)
    assert journal.verify() == 0


def test_what_is_open_is_known_again(kept: KeptJournal, journal: Journal) -> None:
    records = (SilenceRecord(silence(START + 60)), MaintenanceRecord(window(START + 60)))
    write(journal, IncidentRecord(incident()), *records)
    journal.close()
    again = kept.open()
    loaded = again.load(START)
    assert loaded.incidents == [incident()]
    assert loaded.silences == [silence(START + 60)]
    assert loaded.windows == [window(START + 60)]
    assert loaded.number == 9
    again.close()


def test_what_was_written_under_a_vendors_old_name_is_about_the_device_of_today(
    journal: Journal,
) -> None:
    entity = msgspec.structs.replace(device(), device="huawei:14036E64")
    facts = Facts(vendor="huawei", device_name="npu0")
    old = msgspec.structs.replace(incident(), entity=entity, facts=facts)
    expected = "vendor=huawei, model=910B2, rule=~huawei.*"
    muted = msgspec.structs.replace(silence(START + 60), matchers=matchers(expected))
    write(journal, IncidentRecord(old), SilenceRecord(muted))
    loaded = journal.load(START)
    for one in (*loaded.incidents, journal.incident("i1"), *journal.changed_since(START)):
        assert one is not None
        assert (one.entity.device, one.facts.vendor) == ("ascend:14036E64", "ascend")
        assert one.facts.device_name == "npu0", "names of devices are what they were"
    (found,) = loaded.silences
    assert [str(one) for one in found.matchers] == [
        "vendor=ascend",
        "model=910B2",
        "rule=~huawei.*",
    ]
    assert journal.verify() == 2


def test_what_is_over_is_not_loaded_but_kept(journal: Journal) -> None:
    write(journal, SilenceRecord(silence(START)), MaintenanceRecord(window(START)))
    write(journal, IncidentRecord(incident(1, START - RECENT_S - 1, closed=True)))
    write(journal, IncidentRecord(incident(2, START - RECENT_S + 1, closed=True)))
    write(journal, IncidentRecord(incident(3, START - RECENT_S - 1)))
    loaded = journal.load(START)
    assert (loaded.silences, loaded.windows) == ([], [])
    assert {one.id for one in loaded.incidents} == {"i2", "i3"}
    assert journal.incident("i1") is not None
    assert journal.incident("i4") is None


def test_the_last_word_on_an_incident_counts(journal: Journal) -> None:
    write(journal, IncidentRecord(incident()))
    write(journal, IncidentRecord(incident(at=START + 5, closed=True)))
    known = journal.incident("i1")
    assert known is not None
    assert not known.is_open
    assert journal.verify() == 2


def test_incidents_are_paged_from_the_latest(journal: Journal) -> None:
    for number in range(1, 6):
        write(journal, IncidentRecord(incident(number, START + number)))
    assert [one.id for one in journal.incidents(before=START + 99, most=2)] == ["i5", "i4"]
    assert [one.id for one in journal.incidents(before=START + 3, most=9)] == ["i2", "i1"]


def test_fingerprints_are_remembered_until_they_are_over(journal: Journal) -> None:
    journal.write([Batch(time=START, fingerprints={"a": START + 10, "b": START + 30})])
    journal.prune(START + 20)
    assert journal.load(START + 20).fingerprints == {"b": START + 30}


def test_entries_report_who_did_what(journal: Journal) -> None:
    write(journal, NoteRecord("i1", "looked at it"), actor="operator")
    write(journal, RuleSetRecord("digest", ("a.yaml",), 3), at=START + 1)
    first, second = journal.entries()
    assert (first.actor, first.record) == ("operator", NoteRecord("i1", "looked at it"))
    assert (second.time, second.record) == (START + 1, RuleSetRecord("digest", ("a.yaml",), 3))
    assert list(journal.entries(after=first.sequence)) == [second]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entry SET body = (SELECT body FROM entry WHERE seq = 1) WHERE seq = 2",
        "UPDATE entry SET time = time + 1 WHERE seq = 2",
        "UPDATE entry SET actor = 'nobody' WHERE seq = 2",
        "DELETE FROM entry WHERE seq = 2",
    ],
)
def test_a_line_that_was_changed_or_removed_is_found(
    kept: KeptJournal, journal: Journal, change: str
) -> None:
    for at in range(4):
        write(journal, NoteRecord("i1", f"looked {at}"), at=START + at)
    assert journal.verify() == 4
    kept.change(change)
    with pytest.raises(JournalDamagedError, match=r"entry [23] is not what was written"):
        journal.verify()


def test_the_state_can_be_made_again_from_the_entries(kept: KeptJournal, journal: Journal) -> None:
    write(journal, IncidentRecord(incident()), SilenceRecord(silence(START + 60)))
    write(journal, IncidentRecord(incident(2)), MaintenanceRecord(window(START + 60)))
    write(journal, IncidentRecord(incident(at=START + 5, closed=True)))
    before = journal.load(START)
    kept.change("DELETE FROM incident WHERE id = 'i2'")
    kept.change("UPDATE silence SET ends = 0")
    assert journal.load(START) != before
    journal.rebuild()
    assert journal.load(START) == before


def test_what_is_older_than_it_is_kept_goes_and_the_chain_holds(journal: Journal) -> None:
    later = START + KEPT_S + 100
    write(journal, IncidentRecord(incident(1, START, closed=True)))
    write(journal, IncidentRecord(incident(2, START)))
    write(journal, NoteRecord("i2", "still there"), at=later)
    journal.prune(later)
    assert journal.verify() == 2
    assert journal.incident("i1") is None
    assert journal.incident("i2") is not None
    write(journal, NoteRecord("i2", "and on"), at=later)
    assert journal.verify() == 3


def test_what_stands_for_longer_than_entries_are_kept_can_still_be_made_again(
    journal: Journal,
) -> None:
    later = START + KEPT_S + 100
    write(journal, IncidentRecord(incident(1)), SilenceRecord(silence(later + 60)))
    write(journal, MaintenanceRecord(window(later + 60)), hold("i1"), hold("i2"))
    write(journal, hold("i2", body=GONE))
    journal.prune(later)
    before = journal.load(later)
    assert [one.key for one in before.states] == ["i1"]
    journal.rebuild()
    assert journal.load(later) == before
    assert journal.verify() == 4


def test_a_batch_is_written_whole_or_not_at_all(journal: Journal) -> None:
    unwritable = Batch(time=START, records=[NoteRecord("i1", "a")], fingerprints={"a": object()})  # type: ignore[dict-item]
    with pytest.raises(JournalError):
        journal.write([Batch(time=START, records=[NoteRecord("i1", "first")]), unwritable])
    assert list(journal.entries()) == []


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    journal = open_file(tmp_path / FILE)
    write(journal, NoteRecord("i1", "a"))
    assert {path.stat().st_mode & 0o777 for path in tmp_path.glob(f"{FILE}*")} == {0o600}
    journal.close()


def test_a_new_folder_gets_a_journal(tmp_path: Path) -> None:
    opened = open_journal(tmp_path, START)
    assert opened.file is not None
    assert opened.problem == ""
    assert (tmp_path / MARKER_FILE).exists()
    opened.file.close()
    os.close(opened.lock or -1)


def problem_of(folder: Path | None) -> str:
    """Why there is no journal; what is there has not been touched."""
    before = {} if folder is None else {path: path.read_bytes() for path in folder.glob(f"{FILE}*")}
    opened = open_journal(folder, START)
    assert opened.file is None
    assert opened.loaded.incidents == []
    if folder is not None:
        assert {path: path.read_bytes() for path in folder.glob(f"{FILE}*")} == before
    return opened.problem


def test_without_a_folder_that_is_reported() -> None:
    assert "no state_dir is set" in problem_of(None)


def test_a_damaged_journal_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"not a database, " * 400)
    problem = problem_of(tmp_path)
    assert "it is left as it is; incidents are shown and notified" in problem
    assert "put journal.sqlite back from a backup, or move it and journal.begun away" in problem


def test_a_journal_of_another_version_is_left_as_it_is(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE) as database:
        database.execute("PRAGMA user_version=99")
    database.close()
    problem = problem_of(tmp_path)
    assert "written by another version (99)" in problem
    assert problem.endswith("What to do: start the version that wrote it")


@pytest.mark.parametrize(
    "body", ["{}", b'{"id": "\xff"}', b'{"x": ' + b"[" * 100_000], ids=["other", "no UTF-8", "deep"]
)
def test_a_journal_with_an_unreadable_row_is_left_as_it_is(
    body: str | bytes, tmp_path: Path
) -> None:
    file = open_file(tmp_path / FILE)
    write(file, IncidentRecord(incident()))
    file.close()
    with sqlite3.connect(tmp_path / FILE) as database:
        database.execute("UPDATE incident SET body = ?", (body,))
    database.close()
    opened = open_journal(tmp_path, START)
    assert opened.file is None
    assert "a row cannot be read" in opened.problem


def test_a_journal_that_is_gone_is_not_started_anew(tmp_path: Path) -> None:
    opened = open_journal(tmp_path, START)
    assert opened.file is not None
    opened.file.close()
    os.close(opened.lock or -1)
    (tmp_path / FILE).unlink()
    assert "is gone; restore it from a backup" in problem_of(tmp_path)
    assert not (tmp_path / FILE).exists()


@pytest.mark.parametrize("what", ["empty", "another database"])
def test_a_journal_that_was_emptied_is_not_started_anew(tmp_path: Path, what: str) -> None:
    """It would forget silences, holds and a stop without a word."""
    opened = open_journal(tmp_path, START)
    assert opened.file is not None
    opened.file.close()
    os.close(opened.lock or -1)
    for path in tmp_path.glob(f"{FILE}*"):
        path.unlink()
    (tmp_path / FILE).write_bytes(b"")
    if what == "another database":
        with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as database:
            database.execute("CREATE TABLE other (x)")
    expected = "it was emptied, or another file was put in its place; restore it from a backup"
    assert expected in problem_of(tmp_path)


def test_a_journal_that_was_never_finished_is_started(tmp_path: Path) -> None:
    """Killed between the creation of the file and that of its tables: nothing is lost."""
    (tmp_path / FILE).write_bytes(b"")
    opened = open_journal(tmp_path, START)
    assert opened.file is not None
    opened.file.close()
    os.close(opened.lock or -1)


def test_a_folder_that_somebody_else_holds_is_left_alone(tmp_path: Path) -> None:
    first = open_journal(tmp_path, START)
    assert first.file is not None
    assert "another process keeps its journal here" in problem_of(tmp_path)
    first.file.close()
    os.close(first.lock or -1)


def test_a_locked_file_does_not_stop_anybody(tmp_path: Path) -> None:
    open_file(tmp_path / FILE).close()
    holder = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    holder.execute("PRAGMA locking_mode=EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    opened = open_journal(tmp_path, START)
    assert opened.file is None
    assert "locked" in opened.problem
    holder.close()


def test_a_folder_that_is_a_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    assert "nothing can be kept here" in open_journal(tmp_path / "state", START).problem


def test_what_was_committed_survives_a_kill(tmp_path: Path) -> None:
    script = f"""
        import asyncio, os, signal
        from pathlib import Path
        from accelwatch.alerting.incidents.journal.sqlite.file import open_file
        from accelwatch.alerting.incidents.journal.records import Batch, NoteRecord
        from accelwatch.alerting.incidents.journal.writer import JournalWriter

        async def main():
            writer = JournalWriter(open_file(Path({str(tmp_path / FILE)!r})))
            for at in range(20):
                await writer.commit(Batch(time=float(at), records=[NoteRecord("i1", str(at))]))
            os.kill(os.getpid(), signal.SIGKILL)

        asyncio.run(main())
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)
    assert ended.returncode == -9
    file = open_file(tmp_path / FILE)
    assert file.verify() == 20
    file.close()


def test_many_that_wait_are_written_in_their_order(tmp_path: Path) -> None:
    async def play() -> None:
        writer = JournalWriter(open_file(tmp_path / FILE))
        batches = [Batch(time=START, records=[NoteRecord("i1", str(at))]) for at in range(600)]
        await asyncio.gather(*(writer.commit(batch) for batch in batches))
        await writer.close()
        with pytest.raises(JournalError, match="closed"):
            await writer.commit(batches[0])
        await writer.close()

    asyncio.run(play())
    file = open_file(tmp_path / FILE, read_only=True)
    texts = [entry.record.text for entry in file.entries() if isinstance(entry.record, NoteRecord)]
    assert texts == [str(at) for at in range(600)]
    file.close()


def test_a_disk_that_was_full_is_tried_again(tmp_path: Path) -> None:
    async def play() -> None:
        database_file = SQLiteFile(tmp_path / FILE)
        file = Journal(database_file)
        with sqlite3.connect(tmp_path / FILE) as database:
            pages = database.execute("PRAGMA page_count").fetchone()[0]
        database.close()
        database_file.connection.execute(f"PRAGMA max_page_count={pages}")
        writer = JournalWriter(file)
        large = Batch(time=START, records=[NoteRecord("i1", "x" * 100_000)])
        with pytest.raises(JournalError, match="full"):
            await writer.commit(large)
        database_file.connection.execute("PRAGMA max_page_count=100000")
        await writer.commit(large)
        await writer.close()

    asyncio.run(play())
    file = open_file(tmp_path / FILE)
    assert file.verify() == 1
    file.close()


def test_a_batch_that_is_refused_takes_no_other_with_it(tmp_path: Path) -> None:
    async def play() -> list[BaseException | None]:
        writer = JournalWriter(open_file(tmp_path / FILE))
        records = [hold(f"i{at}", claim=f"node:n{at // 2}") for at in range(6)]
        batches = [Batch(time=START, records=[record]) for record in records]
        outcomes = await asyncio.gather(*map(writer.commit, batches), return_exceptions=True)
        await writer.close()
        return outcomes

    outcomes = asyncio.run(play())
    assert [type(one) for one in outcomes] == [type(None), JournalClaimedError] * 3
    file = open_file(tmp_path / FILE, read_only=True)
    assert [one.key for one in file.load(START).states] == ["i0", "i2", "i4"]
    file.close()


def test_who_no_longer_waits_takes_nothing_back(tmp_path: Path) -> None:
    async def play() -> None:
        writer = JournalWriter(open_file(tmp_path / FILE))
        batch = Batch(time=START, records=[NoteRecord("i1", "a")])
        waiting = asyncio.ensure_future(writer.commit(batch))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await writer.close()

    asyncio.run(play())
    file = open_file(tmp_path / FILE)
    assert file.verify() == 1
    file.close()


def test_every_record_can_be_read_again() -> None:
    records: list[Record] = [
        IncidentRecord(incident()),
        SilenceRecord(silence(START)),
        MaintenanceRecord(window(START)),
        NoteRecord("i1", "a"),
        RuleSetRecord("digest", ("a",), 1),
        hold("i1", claim="node:n1", until=START),
        hold("i1", body=GONE),
    ]
    for record in records:
        assert msgspec.json.decode(msgspec.json.encode(record), type=Record) == record
