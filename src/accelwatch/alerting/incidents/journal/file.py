"""The journal's SQLite file: entries that are only ever added, each chained to the one before.

The other tables say how things stand; they follow from the entries (`rebuild`) and are written in the
same transaction. Everything here blocks and is for one thread at a time.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import msgspec

from accelwatch.alerting.incidents.journal.chain import (
    Line,
    Verdict,
    chained,
    follow,
    last_hash,
    lines,
)
from accelwatch.alerting.incidents.journal.checking import (
    Identity,
    check_contents,
    check_path,
    check_version_kept,
    identity,
)
from accelwatch.alerting.incidents.journal.records import (
    GONE,
    MOST_BODY,
    Batch,
    Entry,
    IncidentRecord,
    Loaded,
    MaintenanceRecord,
    Record,
    SilenceRecord,
    StateRecord,
    key_of,
    number_of,
)
from accelwatch.alerting.incidents.journal.renamed import incident_of, with_current_vendors
from accelwatch.alerting.incidents.journal.schema import VERSION, migrate, version_of
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.silence import Maintenance, Silence
from accelwatch.base.errors import AccelwatchError
from accelwatch.files.sqlite_files import (
    check_version,
    open_database,
    open_to_read,
    transaction,
    translated,
)

FILE = "journal.sqlite"
# Incidents closed within this time are loaded: they may come back.
RECENT_S = 86_400.0
KEPT_S = 400 * 86_400.0
# Those that follow from the entries.
STATE_TABLES = ("incident", "silence", "maintenance", "state")
_NUMBERED = ("incident", "silence", "maintenance")
_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder(Record)


class JournalError(AccelwatchError):
    """The journal cannot be read or written now."""


class JournalDamagedError(JournalError):
    """What the file holds is no journal any more, or its chain is broken."""


class JournalRefusedError(JournalError):
    """The batch itself is at fault: it will not be written, others may be."""


class JournalClaimedError(JournalRefusedError):
    """Something else stands that claims the same; nothing of the batch is written."""


class JournalFile:
    """An open journal."""

    def __init__(self, path: Path, *, read_only: bool = False, had_journal: bool = False) -> None:
        """Raises JournalError; what is not there is begun, unless it shall only be read.

        `had_journal`: there was a journal here before, so an empty file is a lost one.
        """
        self.path = path
        with journal_errors(f"{path}: the journal cannot be opened"):
            if read_only:
                self._database = open_to_read(path)
            else:
                self._database = open_database(
                    path, version=VERSION, oldest=1, must_exist=had_journal
                )
            try:
                if read_only:
                    check_version(self._database, VERSION, oldest=1)
                else:
                    migrate(self._database)
            except BaseException:
                self._database.close()
                raise
        self._opened: Identity | None = identity(path)

    @classmethod
    def over(cls, path: Path, database: sqlite3.Connection) -> Self:
        """A journal in a database that is open, from `path`. Raises sqlite3.Error."""
        file = cls.__new__(cls)
        file.path, file._database, file._opened = path, database, None
        migrate(database)
        return file

    def copy_to(self, database: sqlite3.Connection) -> None:
        """Copy everything as it is now. Raises sqlite3.Error."""
        self._database.backup(database)

    def changed_since(self, since: float) -> list[Incident]:
        """Open incidents, and those that have changed since then, Unix seconds. Raises JournalError."""
        with journal_errors("the journal cannot be read"):
            rows = self._database.execute(
                "SELECT body FROM incident WHERE open OR updated >= ?", (since,)
            )
            return [incident_of(body) for (body,) in rows]

    def mutes_since(self, since: float) -> list[Silence | Maintenance]:
        """Silences and windows that end after then, Unix seconds. Raises JournalError."""
        with journal_errors("the journal cannot be read"):
            sources: list[Silence | Maintenance] = [
                *map(with_current_vendors, self._all("silence", Silence)),
                *self._all("maintenance", Maintenance),
            ]
            return [source for source in sources if source.ends > since]

    def load(self, now: float) -> Loaded:
        """How things stand. Raises JournalError, JournalDamagedError."""
        with journal_errors("the journal cannot be read"):
            rows = self._database.execute(
                "SELECT body FROM incident WHERE open OR updated > ? ORDER BY updated",
                (now - RECENT_S,),
            )
            incidents = [incident_of(body) for (body,) in rows]
            return Loaded(
                incidents=incidents,
                silences=[
                    with_current_vendors(silence)
                    for silence in self._all("silence", Silence)
                    if silence.ends > now
                ],
                windows=[
                    window for window in self._all("maintenance", Maintenance) if window.ends > now
                ],
                fingerprints=dict(
                    self._database.execute("SELECT fingerprint, until FROM event_seen")
                ),
                outbox=[body for (body,) in self._database.execute("SELECT body FROM outbox")],
                states=list(self._states(now)),
                number=max((number_of(id_) for id_ in self._ids()), default=0),
            )

    def _ids(self) -> Iterator[str]:
        for table in _NUMBERED:
            for (id_,) in self._database.execute(f"SELECT id FROM {table}"):  # noqa: S608
                yield id_

    def _states(self, now: float) -> Iterator[StateRecord]:
        if version_of(self._database) < VERSION:  # only read
            return
        rows = self._database.execute(
            "SELECT kind, key, until, claim, body FROM state WHERE until IS NULL OR until > ?"
            " ORDER BY kind, key",
            (now,),
        )
        for kind, key, until, claim, body in rows:
            yield StateRecord(kind, key, msgspec.Raw(body), until, claim or "")

    def _all(self, table: str, kind: type[msgspec.Struct]) -> list:  # type: ignore[type-arg]
        rows = self._database.execute(f"SELECT body FROM {table} ORDER BY id")  # noqa: S608
        return [msgspec.json.decode(body, type=kind) for (body,) in rows]

    def incident(self, id_: str) -> Incident | None:
        """One incident, however old."""
        with journal_errors("the journal cannot be read"):
            row = self._database.execute(
                "SELECT body FROM incident WHERE id = ?", (id_,)
            ).fetchone()
            return None if row is None else incident_of(row[0])

    def incidents(self, *, before: float, most: int) -> list[Incident]:
        """Incidents that changed before a moment (Unix seconds), the latest first."""
        with journal_errors("the journal cannot be read"):
            rows = self._database.execute(
                "SELECT body FROM incident WHERE updated < ? ORDER BY updated DESC LIMIT ?",
                (before, most),
            )
            return [incident_of(body) for (body,) in rows]

    def write(self, batches: list[Batch]) -> None:
        """Write all of them or nothing; when it returns, they are on the disk. Raises JournalError."""
        with journal_errors("the journal cannot be written"):
            if self._opened is not None:
                check_path(self.path, self._opened)
            self._write(batches)

    def check(self) -> None:
        """See that what is on the disk can still be read as a journal, from any thread.

        Raises JournalError.
        """
        with journal_errors(f"{self.path}: the journal cannot be read"):
            if self._opened is not None:
                check_path(self.path, self._opened)
                check_contents(self.path)

    def _write(self, batches: list[Batch]) -> None:
        with transaction(self._database):
            check_version_kept(self._database, VERSION)
            last = last_hash(self._database)
            for batch in batches:
                last = self._append(batch, last)

    def _append(self, batch: Batch, last: str) -> str:
        for record in batch.records:
            body = _ENCODER.encode(record)
            last = chained(last, batch.time, batch.actor, body, batch.address)
            self._database.execute(
                "INSERT INTO entry (time, actor, address, body, hash) VALUES (?, ?, ?, ?, ?)",
                (batch.time, batch.actor, batch.address, body, last),
            )
            self._apply(record)
        self._database.executemany(
            "INSERT OR REPLACE INTO event_seen VALUES (?, ?)", batch.fingerprints.items()
        )
        for key, letter in batch.outbox.items():
            if letter is None:
                self._database.execute("DELETE FROM outbox WHERE incident = ? AND sink = ?", key)
            else:
                self._database.execute(
                    "INSERT OR REPLACE INTO outbox VALUES (?, ?, ?)", (*key, letter)
                )
        return last

    def _apply(self, record: Record) -> None:
        match record:
            case IncidentRecord(incident):
                row = (incident.id, incident.is_open, incident.updated, _ENCODER.encode(incident))
                self._database.execute("INSERT OR REPLACE INTO incident VALUES (?, ?, ?, ?)", row)
            case SilenceRecord(silence):
                self._replace("silence", silence.id, silence.ends, silence)
            case MaintenanceRecord(window):
                self._replace("maintenance", window.id, window.ends, window)
            case StateRecord():
                self._set(record)

    def _replace(self, table: str, id_: str, ends: float, body: msgspec.Struct) -> None:
        self._database.execute(
            f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)",  # noqa: S608
            (id_, ends, _ENCODER.encode(body)),
        )

    def _set(self, record: StateRecord) -> None:
        if bytes(record.body) == bytes(GONE):
            self._database.execute(
                "DELETE FROM state WHERE kind = ? AND key = ?", (record.kind, record.key)
            )
            return
        if len(bytes(record.body)) > MOST_BODY:
            raise JournalRefusedError(
                f"{record.kind} {record.key} is larger than {MOST_BODY} bytes"
            )
        try:
            # No OR REPLACE, which would remove the other row of the same claim.
            self._database.execute(
                "INSERT INTO state (kind, key, until, claim, body) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (kind, key) DO UPDATE SET"
                " until = excluded.until, claim = excluded.claim, body = excluded.body",
                (record.kind, record.key, record.until, record.claim or None, bytes(record.body)),
            )
        except sqlite3.IntegrityError as error:
            raise JournalClaimedError(
                f"{record.kind} {record.key}: something else holds {record.claim!r} already"
            ) from error

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """What was written, oldest first, from after a sequence. Raises JournalError."""
        with journal_errors("the journal cannot be read"):
            yield from map(_entry, lines(self._database, after))

    def latest(self, before: int | None = None) -> Iterator[Entry]:
        """What was written, newest first, from before a sequence. Raises JournalError."""
        with journal_errors("the journal cannot be read"):
            to = {} if before is None else {"to": before - 1}
            yield from map(_entry, lines(self._database, newest_first=True, **to))

    def follow(self) -> Verdict:
        """Follow the chain to its end or to the first entry that is not what was written.

        Raises JournalError.
        """
        with journal_errors("the journal cannot be read"):
            return follow(self._database)

    def verify(self) -> int:
        """Check the chain; how many entries it has. Raises JournalDamagedError, naming the first bad."""
        verdict = self.follow()
        if verdict.bad is not None:
            raise JournalDamagedError(f"{self.path}: entry {verdict.bad} is not what was written")
        return verdict.good

    def rebuild(self) -> None:
        """Make the tables of the state again from the entries. Raises JournalError."""
        with journal_errors("the journal cannot be rebuilt"), transaction(self._database):
            for table in STATE_TABLES:
                self._database.execute(f"DELETE FROM {table}")  # noqa: S608
            bodies = self._database.execute("SELECT body FROM entry ORDER BY seq").fetchall()
            for (body,) in bodies:
                self._apply(_DECODER.decode(body))

    def prune(self, now: float) -> None:
        """Forget what is older than it is kept, and fingerprints that are over. Raises JournalError.

        Entries go from the oldest on; the hash of the last that went anchors the chain. What stands is
        written again before its entry goes: the tables can still be made from what is left.
        """
        old = now - KEPT_S
        execute = self._database.execute
        with journal_errors("the journal cannot be pruned"), transaction(self._database):
            self._forget(now, old)
            row = execute(
                "SELECT seq, hash FROM entry WHERE time < ? ORDER BY seq DESC LIMIT 1", (old,)
            ).fetchone()
            if row is not None:
                self._carry_over(row[0], now)
                execute("INSERT OR REPLACE INTO meta VALUES ('anchor', ?)", (row[1],))
                execute("DELETE FROM entry WHERE seq <= ?", (row[0],))

    def _carry_over(self, sequence: int, now: float) -> None:
        """Write again what was written up to `sequence` and stands as it was written."""
        written: dict[tuple[str, ...], Record] = {}
        for line in lines(self._database, to=sequence):
            record = _DECODER.decode(line.body)
            written[key_of(record)] = record
        written.pop((), None)
        records = [record for record in written.values() if self._stands(record)]
        self._append(Batch(time=now, records=records), last_hash(self._database))

    def _stands(self, record: Record) -> bool:
        if isinstance(record, StateRecord):
            body, where = bytes(record.body), ("state", "kind = ? AND key = ?")
        else:
            value = msgspec.structs.astuple(record)[0]
            body, where = _ENCODER.encode(value), (key_of(record)[0], "id = ?")
        row = self._database.execute(
            f"SELECT body FROM {where[0]} WHERE {where[1]}",  # noqa: S608
            key_of(record)[1:],
        ).fetchone()
        return row is not None and row[0] == body

    def _forget(self, now: float, old: float) -> None:
        execute = self._database.execute
        execute("DELETE FROM incident WHERE NOT open AND updated < ?", (old,))
        execute("DELETE FROM silence WHERE ends < ?", (old,))
        execute("DELETE FROM maintenance WHERE ends < ?", (old,))
        execute("DELETE FROM state WHERE until < ?", (now,))
        execute("DELETE FROM event_seen WHERE until < ?", (now,))

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _entry(line: Line) -> Entry:
    return Entry(
        sequence=line.sequence,
        time=line.time,
        actor=line.actor,
        address=line.address,
        record=_DECODER.decode(line.body),
        hash=line.hash,
    )


@contextlib.contextmanager
def journal_errors(doing: str) -> Iterator[None]:
    """Turn what SQLite and bad rows raise into errors of the journal; `doing` says what was tried."""
    try:
        with translated(doing, JournalError, JournalDamagedError):
            yield
    except msgspec.MsgspecError as error:
        raise JournalDamagedError(f"{doing}: a row cannot be read: {error}") from error
