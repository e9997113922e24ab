"""A journal whose file something happens to while it is open: it is found, and nothing is pretended."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from accelwatch.alerting.incidents.incident_store import IncidentStore
from accelwatch.alerting.incidents.journal import patient
from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.journal.journal import Journal
from accelwatch.alerting.incidents.journal.location import JournalLocation
from accelwatch.alerting.incidents.journal.opening import open_journal
from accelwatch.alerting.incidents.journal.opening_result import OpeningResult
from accelwatch.alerting.incidents.journal.patient import PatientJournal
from accelwatch.alerting.incidents.journal.records import Batch, NoteRecord
from accelwatch.alerting.incidents.journal.sqlite import checking
from accelwatch.alerting.incidents.journal.sqlite.file import FILE, SQLiteFile, open_file
from accelwatch.alerting.incidents.journal.sqlite.schema import VERSION
from accelwatch.alerting.incidents.model.incident import Facts
from accelwatch.alerting.rules.rule import RuleSet
from alerting.incidents.incident_rules import START
from support.processes.waiting import GUARD_S


def _delete(path: Path) -> None:
    for beside in path.parent.glob(f"{FILE}*"):
        beside.unlink()


def _replace(path: Path) -> None:
    path.rename(path.with_name("moved"))
    open_file(path).close()


def _damage(path: Path) -> None:
    for beside in path.parent.glob(f"{FILE}*"):
        beside.write_bytes(b"not a database, " * 4096)


def _by_a_newer_version(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA user_version={VERSION + 1}")
    database.close()


BREAKS: dict[str, tuple[Callable[[Path], None], str]] = {
    "gone": (_delete, "is gone"),
    "another": (_replace, "another file than the one that was opened"),
    "damaged": (_damage, "not a database"),
    "newer": (_by_a_newer_version, "start the newer version"),
}


@pytest.mark.parametrize("how", BREAKS)
def test_a_check_finds_it_though_nothing_is_to_be_written(tmp_path: Path, how: str) -> None:
    breaks, text = BREAKS[how]

    async def scenario() -> None:
        incident_store = IncidentStore({}, lambda _: Facts())
        await incident_store.start(tmp_path, RuleSet(rules={}), START)
        await incident_store.check_journal(START)
        assert not incident_store.problems
        breaks(tmp_path / FILE)
        for _ in range(2):
            await incident_store.check_journal(START)
            (problem,) = incident_store.problems
            assert text in problem
        await incident_store.stop()

    asyncio.run(scenario())


@pytest.mark.parametrize("how", ["gone", "another", "newer"])
def test_nothing_is_written_to_what_is_not_the_journal_any_more(tmp_path: Path, how: str) -> None:
    breaks, text = BREAKS[how]
    file = open_file(tmp_path / FILE)
    breaks(tmp_path / FILE)
    with pytest.raises(JournalError, match=text):
        file.write([Batch(time=START, records=[NoteRecord("a", "b")])])
    file.close()


def test_a_full_disk_is_found_and_so_is_that_there_is_room_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        incident_store = IncidentStore({}, lambda _: Facts())
        await incident_store.start(tmp_path, RuleSet(rules={}), START)
        with monkeypatch.context() as full:
            full.setattr(checking, "room", lambda _: 4096)
            await incident_store.check_journal(START)
            (problem,) = incident_store.problems
            assert f"the disk of {tmp_path} is full; free space there" in problem
        await incident_store.check_journal(START)
        assert not incident_store.problems
        await incident_store.stop()

    asyncio.run(scenario())


def test_a_disk_that_hangs_is_polled_once_until_it_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = threading.Event()
    polled: list[str] = []

    def hangs(file: Journal) -> None:
        polled.append(file.name)
        disk.wait()

    async def scenario() -> None:
        incident_store = IncidentStore({}, lambda _: Facts())
        await incident_store.start(tmp_path, RuleSet(rules={}), START)
        monkeypatch.setattr(Journal, "check", hangs)
        monkeypatch.setattr(patient, "COMMIT_WAIT_S", 0.01)
        for _ in range(3):
            await incident_store.check_journal(START)
            (problem,) = incident_store.problems
            assert "has not been written for" in problem
        assert len(polled) == 1
        disk.set()
        while incident_store.problems:
            await asyncio.sleep(0)
        await incident_store.stop()

    asyncio.run(asyncio.wait_for(scenario(), GUARD_S))


def test_what_does_not_fit_is_refused_whole_and_fits_later(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    file = Journal(SQLiteFile.over(str(tmp_path / FILE), database))
    (pages,) = database.execute("PRAGMA page_count").fetchone()
    database.execute(f"PRAGMA max_page_count={pages}")
    large = Batch(time=START, records=[NoteRecord("a", "b" * 100_000)])
    with pytest.raises(JournalError, match="full"):
        file.write([large])
    assert file.verify() == 0
    database.execute("PRAGMA max_page_count=100000")
    file.write([large])
    assert file.verify() == 1
    file.close()


def test_the_trial_that_ends_a_problem_writes_for_real(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be written is no journal, whatever can be read of it."""
    write = Journal.write

    def refuses(file: Journal, batches: list[Batch]) -> None:
        if any(batch.records or batch.fingerprints for batch in batches):
            raise JournalError("attempt to write a readonly database")
        write(file, batches)

    async def scenario() -> None:
        incident_store = IncidentStore({}, lambda _: Facts())
        await incident_store.start(tmp_path, RuleSet(rules={}), START)
        with monkeypatch.context() as read_only:
            read_only.setattr(Journal, "write", refuses)
            await incident_store.remember({"f": START + 60}, START)
            await incident_store.check_journal(START)
            (problem,) = incident_store.problems
            assert problem == "attempt to write a readonly database"
        await incident_store.check_journal(START)
        assert not incident_store.problems
        await incident_store.stop()

    asyncio.run(scenario())


def test_a_journal_that_nobody_waits_for_any_more_is_closed_once_it_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hub that stops while it gets the lease keeps nobody else from it."""
    started, disk = threading.Event(), threading.Event()

    def opens_slowly(location: JournalLocation | None, now: float) -> OpeningResult:
        started.set()
        disk.wait(GUARD_S)
        return open_journal(location, now)

    async def main() -> None:
        with monkeypatch.context() as slow:
            slow.setattr(patient, "open_journal", opens_slowly)
            opening = asyncio.create_task(PatientJournal().open(tmp_path, 0.0))
            assert await asyncio.to_thread(started.wait, GUARD_S)
        opening.cancel()
        await asyncio.wait([opening])
        assert opening.cancelled()
        disk.set()
        async with asyncio.timeout(60):
            while True:
                journal = PatientJournal()
                await journal.open(tmp_path, 0.0)
                if journal.writer is not None:
                    break
                await journal.close()
                await asyncio.sleep(0.02)
        await journal.close()

    asyncio.run(main())
