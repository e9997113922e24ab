"""A journal in PostgreSQL: one writes at a time, and what was lost or stolen is told in plain words."""

import asyncio
import contextlib
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from accelwatch.alerting.incidents.journal import patient
from accelwatch.alerting.incidents.journal.errors import (
    JournalDamagedError,
    JournalError,
    JournalInUseError,
    JournalVersionError,
    LeaseLostError,
)
from accelwatch.alerting.incidents.journal.journal import Journal
from accelwatch.alerting.incidents.journal.location import DatabaseLocation
from accelwatch.alerting.incidents.journal.opening import open_journal, read_journal
from accelwatch.alerting.incidents.journal.opening_result import OpeningResult
from accelwatch.alerting.incidents.journal.patient import PatientJournal
from accelwatch.alerting.incidents.journal.postgresql.database import PostgreSQLDatabase
from accelwatch.alerting.incidents.journal.postgresql.opening import TOKEN_FILE
from accelwatch.alerting.incidents.journal.records import Batch, NoteRecord
from accelwatch.config.journal import PostgreSQL
from accelwatch.schema.timestamps import timestamp
from alerting.incidents.incident_rules import START
from alerting.incidents.opened_journals import eventually_open, opens
from support.incidents.kept_journals import InPostgreSQL
from support.postgresql.server import Server, running_or_skip
from support.postgresql.slow_link import link_to
from support.processes.waiting import GUARD_S, wait_until


@pytest.fixture
def kept(postgresql: Server) -> InPostgreSQL:
    return InPostgreSQL(postgresql)


def write(journal: Journal, text: str) -> None:
    journal.write([Batch(time=START, records=[NoteRecord("i1", text)])])


def texts(settings: PostgreSQL) -> list[str]:
    with contextlib.closing(read_journal(DatabaseLocation(settings=settings))) as journal:
        return [
            entry.record.text for entry in journal.entries() if isinstance(entry.record, NoteRecord)
        ]


@pytest.mark.usefixtures("patient_database")
def test_only_one_writes_at_a_time(kept: InPostgreSQL) -> None:
    with contextlib.closing(opens(kept.settings)) as first:
        write(first, "first")
        ((since,),) = kept.server.sql("SELECT since FROM writer", kept.database)
        assert isinstance(since, float)
        leads = rf"another hub writes there: the one on \S+ since {re.escape(timestamp(since))}$"
        with pytest.raises(JournalInUseError, match=leads):
            kept.open()
        write(first, "second")
    with contextlib.closing(kept.open()) as second:
        write(second, "third")
        kept.change("UPDATE writer SET since = 'Infinity'")
        with pytest.raises(JournalInUseError, match=r"the one on \S+$"):
            kept.open()
    assert texts(kept.settings) == ["first", "second", "third"]


@pytest.mark.usefixtures("patient_database")
def test_who_only_reads_disturbs_nobody(kept: InPostgreSQL) -> None:
    with contextlib.closing(kept.open()) as journal:
        write(journal, "first")
        assert texts(kept.settings) == ["first"]
        write(journal, "second")
        assert journal.verify() == 2


def test_a_session_that_is_lost_is_made_again(kept: InPostgreSQL) -> None:
    with contextlib.closing(kept.open()) as journal:
        write(journal, "before")
        disconnect(kept)
        with pytest.raises(JournalError):
            write(journal, "lost")
        wait_until(lambda: written(journal, "after"))
        assert not journal.lease.lost
    assert texts(kept.settings) == ["before", "after"]


def written(journal: Journal, text: str) -> bool:
    with contextlib.suppress(JournalError):
        write(journal, text)
        return True
    return False


def disconnect(kept: InPostgreSQL) -> None:
    kept.server.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        f" WHERE datname = '{kept.database}' AND application_name = 'accelwatch'"
    )


@pytest.mark.usefixtures("patient_database")
def test_nothing_is_written_after_another_held_the_lease(kept: InPostgreSQL) -> None:
    with contextlib.closing(kept.open()) as first:
        disconnect(kept)
        with eventually_open(kept.settings) as second:
            write(second, "of the second")
            for _ in range(2):
                with pytest.raises(JournalError):
                    write(first, "of the first")
        wait_until(lambda: lost(first))
        with pytest.raises(LeaseLostError, match="has written meanwhile"):
            write(first, "of the first")
    assert texts(kept.settings) == ["of the second"]


def lost(journal: Journal) -> str:
    with contextlib.suppress(JournalError):
        journal.renew()
    return journal.lease.lost


def test_who_says_nothing_for_some_seconds_loses_the_lease(kept: InPostgreSQL) -> None:
    """As a process that is stopped, or cut off."""
    with contextlib.closing(kept.open()) as stopped:
        with eventually_open(kept.settings) as next_:
            write(next_, "of the next")
            with pytest.raises(JournalError):
                write(stopped, "of the one that was stopped")
        wait_until(lambda: lost(stopped))
    assert texts(kept.settings) == ["of the next"]


def test_who_was_stopped_in_the_middle_of_writing_keeps_nobody_waiting(kept: InPostgreSQL) -> None:
    database = PostgreSQLDatabase(kept.settings)
    database.acquire(0)
    with pytest.raises(Exception, match=r"."), database.writing():  # noqa: PT012
        database.execute("DELETE FROM meta WHERE key = 'version'")
        with eventually_open(kept.settings) as next_:
            write(next_, "of the next")
    database.close()
    assert texts(kept.settings) == ["of the next"]


@pytest.mark.usefixtures("patient_database")
def test_a_turn_that_is_stolen_by_hand_is_over(kept: InPostgreSQL) -> None:
    with contextlib.closing(kept.open()) as journal:
        write(journal, "before")
        kept.change("UPDATE writer SET token = token + 1, holder = 'another'")
        with pytest.raises(LeaseLostError, match="the hub on another has written meanwhile"):
            write(journal, "after")
        assert "another" in journal.lease.lost
    assert texts(kept.settings) == ["before"]


def test_tokens_grow_and_a_database_that_was_put_back_is_refused(
    kept: InPostgreSQL, tmp_path: Path
) -> None:
    tokens = []
    for _ in range(3):
        opens(kept.settings, tmp_path).close()
        tokens.append(int((tmp_path / TOKEN_FILE).read_text()))
    assert tokens == [(1 << 32) + 1, (1 << 32) + 2, (1 << 32) + 3]
    kept.change("UPDATE writer SET token = token - 2")
    with pytest.raises(LeaseLostError, match="it was restored or is another"):
        opens(kept.settings, tmp_path)
    (tmp_path / TOKEN_FILE).unlink()
    opens(kept.settings, tmp_path).close()


def test_a_token_that_cannot_be_read_is_reported(kept: InPostgreSQL, tmp_path: Path) -> None:
    (tmp_path / TOKEN_FILE).write_text("many")
    with pytest.raises(JournalError, match=f"{TOKEN_FILE} cannot be read"):
        opens(kept.settings, tmp_path)


def read_only(kept: InPostgreSQL) -> None:
    kept.server.sql(f"ALTER DATABASE {kept.database} SET default_transaction_read_only = on")


def newer(kept: InPostgreSQL) -> None:
    kept.change("UPDATE meta SET value = '4' WHERE key = 'version'")


def lacking(kept: InPostgreSQL) -> None:
    kept.change("DROP TABLE entry")


def without_writer(kept: InPostgreSQL) -> None:
    kept.change("DELETE FROM writer")


def full(kept: InPostgreSQL) -> None:
    kept.change(
        "CREATE FUNCTION full_disk() RETURNS trigger AS $$ BEGIN"
        " RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$ LANGUAGE plpgsql"
    )
    kept.change("CREATE TRIGGER t BEFORE UPDATE ON writer EXECUTE FUNCTION full_disk()")


def gone(kept: InPostgreSQL) -> None:
    kept.server.sql(f"DROP DATABASE {kept.database}")


@pytest.mark.parametrize(
    ("harm", "kind", "text"),
    [
        (read_only, JournalError, "it is read-only"),
        (newer, JournalVersionError, r"written by another version \(4\)"),
        (lacking, JournalDamagedError, 'relation "entry" does not exist|"entry"'),
        (without_writer, JournalDamagedError, "the row of the table writer is gone"),
        (full, JournalError, "its disk is full; free space there"),
        (gone, JournalError, "the database does not exist; create it"),
    ],
)
def test_a_database_that_cannot_be_written_says_why(
    kept: InPostgreSQL,
    harm: Callable[[InPostgreSQL], None],
    kind: type[JournalError],
    text: str,
) -> None:
    kept.open().close()
    harm(kept)
    with pytest.raises(kind, match=text):
        opens(kept.settings)


def test_a_database_of_version_2_is_read_and_brought_up_to_date_by_who_leads(
    kept: InPostgreSQL,
) -> None:
    with contextlib.closing(kept.open()) as journal:
        write(journal, "of an older hub")
    kept.change("DROP TABLE hub")
    kept.change("UPDATE meta SET value = '2' WHERE key = 'version'")
    assert texts(kept.settings) == ["of an older hub"]
    opens(kept.settings).close()
    assert kept.server.sql("SELECT count(*) FROM hub", kept.database) == [(0,)]
    assert texts(kept.settings) == ["of an older hub"]


def test_since_when_a_hub_leads_is_by_the_clock_of_the_database(kept: InPostgreSQL) -> None:
    """That of a hub may be an hour off."""
    location = DatabaseLocation(settings=kept.settings)
    opened = open_journal(location, time.time() + 3600)
    assert opened.file is not None
    with contextlib.closing(opened.file):
        ((age_s,),) = kept.server.sql(
            "SELECT abs(extract(epoch FROM now()) - since)::float8 FROM writer", kept.database
        )
        assert isinstance(age_s, float)
        assert age_s < 1800


def test_there_is_nothing_to_read_before_a_hub_has_written(kept: InPostgreSQL) -> None:
    with pytest.raises(JournalVersionError, match="there is no journal"):
        read_journal(DatabaseLocation(settings=kept.settings))


def test_a_database_that_hangs_is_away_and_comes_back(kept: InPostgreSQL) -> None:
    with link_to(kept.server.folder / f".s.PGSQL.{kept.server.port}") as link:
        hosts = (f"127.0.0.1:{link.port}",)
        settings = msgspec.structs.replace(kept.settings, hosts=hosts, tls=False)
        with contextlib.closing(opens(settings)) as journal:
            write(journal, "before")
            link.hang()
            with pytest.raises(JournalError, match="it has not answered for"):
                write(journal, "while it hangs")
            with pytest.raises(JournalError, match="it has not answered for"):
                journal.check()
            link.go_on()
            wait_until(lambda: written(journal, "after"))
            journal.check()
            assert not journal.lease.lost
    assert texts(kept.settings) == ["before", "after"]


def test_a_database_that_is_away_is_reported() -> None:
    settings = PostgreSQL(hosts=("127.0.0.1:9",), tls=False)
    with pytest.raises(JournalError, match="PostgreSQL accelwatch on 127.0.0.1:9"):
        opens(settings)


def test_a_password_comes_from_a_file_that_nobody_else_reads(
    kept: InPostgreSQL, tmp_path: Path
) -> None:
    kept.server.sql("DROP ROLE IF EXISTS keeper", kept.database)
    kept.server.sql("CREATE ROLE keeper LOGIN PASSWORD 'swordfish'")
    kept.server.sql(f"ALTER DATABASE {kept.database} OWNER TO keeper")
    file = tmp_path / "password"
    file.write_text("swordfish\n")
    file.chmod(0o644)
    settings = PostgreSQL(
        hosts=(f"127.0.0.1:{kept.server.port}",),
        database=kept.database,
        user="keeper",
        password_file=str(file),
        tls=False,
    )
    with pytest.raises(JournalError, match="others can read or write the password") as refused:
        opens(settings)
    assert "swordfish" not in str(refused.value)
    file.chmod(0o600)
    opens(settings).close()
    file.write_text("another")
    with pytest.raises(JournalError, match="it refuses the password") as refused:
        opens(settings)
    assert "another" not in str(refused.value).replace("another hub", "")


@pytest.fixture
def primary() -> Iterator[Server]:
    with running_or_skip("max_wal_senders=4") as server:
        yield server


@pytest.mark.parametrize("lost_commits", [False, True])
def test_a_database_that_has_failed_over_is_loaded_again(
    primary: Server, tmp_path: Path, lost_commits: bool
) -> None:
    """Also where it lacks what was committed last: replication is asynchronous."""
    kept = InPostgreSQL(primary)
    with primary.standby() as standby:
        both = (f"{primary.folder}:{primary.port}", f"{standby.folder}:{standby.port}")
        settings = msgspec.structs.replace(kept.settings, hosts=both)
        opens(settings, tmp_path).close()
        with eventually_open(settings, tmp_path) as journal:
            write(journal, "replicated")
            standby.wait_for(primary)
            if lost_commits:
                standby.stop(signal.SIGINT)
                write(journal, "lost")
            primary.stop(signal.SIGKILL)
            with pytest.raises(JournalError):
                write(journal, "on the primary that is gone")
            if lost_commits:
                standby.start()
            standby.promote()
            wait_until(lambda: lost(journal))
            with pytest.raises(LeaseLostError, match="has failed over"):
                write(journal, "on another history")
        with eventually_open(settings, tmp_path) as journal:
            write(journal, "after")
        assert int((tmp_path / TOKEN_FILE).read_text()) >> 32 == 2


def test_a_hub_that_is_restarted_during_a_failover_waits_for_the_new_primary(
    primary: Server, tmp_path: Path
) -> None:
    kept = InPostgreSQL(primary)
    with primary.standby() as standby:
        both = (f"{primary.folder}:{primary.port}", f"{standby.folder}:{standby.port}")
        settings = msgspec.structs.replace(kept.settings, hosts=both)
        with contextlib.closing(opens(settings, tmp_path)) as journal:
            write(journal, "before")
        standby.wait_for(primary)
        primary.stop(signal.SIGKILL)
        with pytest.raises(JournalError, match="the journal cannot be opened"):
            opens(settings, tmp_path)
        only = msgspec.structs.replace(settings, hosts=both[1:])
        with pytest.raises(JournalError, match="it is read-only|recovery"):
            opens(only, tmp_path)
        standby.promote()
        with eventually_open(settings) as journal:
            write(journal, "after")
            assert journal.lease.token >> 32 == 2
        assert texts(settings) == ["before", "after"]


@pytest.mark.parametrize("others", [(), ("/nowhere:5433",)])
def test_a_server_that_is_stopped_is_reported_without_numbers(others: tuple[str, ...]) -> None:
    settings = PostgreSQL(hosts=("/nowhere:5432", *others))
    with pytest.raises(
        JournalError, match="no server has its socket there; start PostgreSQL"
    ) as refused:
        opens(settings)
    assert "Errno" not in str(refused.value)


def test_a_journal_that_nobody_waits_for_is_closed_once_open(
    kept: InPostgreSQL, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    started, go_on = threading.Event(), threading.Event()

    def slowly(location: DatabaseLocation, now: float) -> OpeningResult:
        started.set()
        go_on.wait(GUARD_S)
        return open_journal(location, now)

    monkeypatch.setattr(patient, "open_journal", slowly)

    async def main() -> None:
        location = DatabaseLocation(settings=kept.settings)
        opening = asyncio.create_task(PatientJournal().open(location, START))
        await asyncio.to_thread(started.wait, GUARD_S)
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        go_on.set()

    asyncio.run(main())
    with eventually_open(kept.settings) as journal:
        write(journal, "next")
    assert caplog.messages == []
