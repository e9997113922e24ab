"""The journal's SQLite file: entries that are only ever added, each chained to the one before.

The other tables say how things stand; they follow from the entries (`rebuild`) and are written in the
same transaction. Everything here blocks and is for one thread at a time.
"""

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec

from accelwatch.errors import AccelwatchError
from accelwatch.incidents.incident import Incident
from accelwatch.incidents.journal.records import (
    Batch,
    Entry,
    IncidentRecord,
    Loaded,
    MaintenanceRecord,
    Record,
    SilenceRecord,
    number_of,
)
from accelwatch.incidents.silence import Maintenance, Silence
from accelwatch.sqlite_files import WAIT_S, check_version, keep_private, translated

FILE = "journal.sqlite"
VERSION = 1
RECENT_S = 86_400.0
"""Incidents closed within this time are loaded: they may come back."""
KEPT_S = 400 * 86_400.0
_STATE_TABLES = ("incident", "silence", "maintenance")
_TABLES = (
    "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS entry (seq INTEGER PRIMARY KEY, time REAL NOT NULL,"
    " actor TEXT NOT NULL, body BLOB NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS incident (id TEXT PRIMARY KEY, open INTEGER NOT NULL,"
    " updated REAL NOT NULL, body BLOB NOT NULL) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS incident_by_time ON incident (updated)",
    "CREATE TABLE IF NOT EXISTS silence (id TEXT PRIMARY KEY, ends REAL NOT NULL,"
    " body BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS maintenance (id TEXT PRIMARY KEY, ends REAL NOT NULL,"
    " body BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS event_seen (fingerprint TEXT PRIMARY KEY, until REAL NOT NULL)"
    " WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS outbox (incident TEXT NOT NULL, sink TEXT NOT NULL,"
    " body BLOB NOT NULL, PRIMARY KEY (incident, sink)) WITHOUT ROWID",
)
_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder(Record)


class JournalError(AccelwatchError):
    """The journal cannot be read or written now."""


class JournalDamagedError(JournalError):
    """What the file holds is no journal any more, or its chain is broken."""


class JournalFile:
    """An open journal."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Raises JournalError; what is not there is begun, unless it shall only be read."""
        self.path = path
        with _told(f"{path}: the journal cannot be opened"):
            if read_only:
                self._database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
            else:
                keep_private(path)
                self._database = sqlite3.connect(
                    path, timeout=WAIT_S, check_same_thread=False, isolation_level=None
                )
            try:
                check_version(self._database, VERSION)
                if not read_only:
                    self._prepare()
            except BaseException:
                self._database.close()
                raise

    def _prepare(self) -> None:
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=FULL")
        for statement in _TABLES:
            self._database.execute(statement)
        self._database.execute(f"PRAGMA user_version={VERSION}")

    def load(self, now: float) -> Loaded:
        """How things stand. Raises JournalError, JournalDamagedError."""
        with _told("the journal cannot be read"):
            rows = self._database.execute(
                "SELECT body FROM incident WHERE open OR updated > ? ORDER BY updated",
                (now - RECENT_S,),
            )
            incidents = [msgspec.json.decode(body, type=Incident) for (body,) in rows]
            return Loaded(
                incidents=incidents,
                silences=[one for one in self._all("silence", Silence) if one.ends > now],
                windows=[one for one in self._all("maintenance", Maintenance) if one.ends > now],
                seen=dict(self._database.execute("SELECT fingerprint, until FROM event_seen")),
                outbox=[body for (body,) in self._database.execute("SELECT body FROM outbox")],
                number=max((number_of(id_) for id_ in self._ids()), default=0),
            )

    def _ids(self) -> Iterator[str]:
        for table in _STATE_TABLES:
            for (id_,) in self._database.execute(f"SELECT id FROM {table}"):  # noqa: S608
                yield id_

    def _all(self, table: str, kind: type[msgspec.Struct]) -> list:  # type: ignore[type-arg]
        rows = self._database.execute(f"SELECT body FROM {table} ORDER BY id")  # noqa: S608
        return [msgspec.json.decode(body, type=kind) for (body,) in rows]

    def incident(self, id_: str) -> Incident | None:
        """One incident, however old."""
        with _told("the journal cannot be read"):
            row = self._database.execute(
                "SELECT body FROM incident WHERE id = ?", (id_,)
            ).fetchone()
            return None if row is None else msgspec.json.decode(row[0], type=Incident)

    def incidents(self, *, before: float, most: int) -> list[Incident]:
        """Incidents that changed before a moment (Unix seconds), the latest first."""
        with _told("the journal cannot be read"):
            rows = self._database.execute(
                "SELECT body FROM incident WHERE updated < ? ORDER BY updated DESC LIMIT ?",
                (before, most),
            )
            return [msgspec.json.decode(body, type=Incident) for (body,) in rows]

    def write(self, batches: list[Batch]) -> None:
        """Write all of them or nothing; when it returns, they are on the disk. Raises JournalError."""
        with _told("the journal cannot be written"), self._transaction():
            last = self._last_hash()
            for batch in batches:
                last = self._append(batch, last)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        finally:
            if self._database.in_transaction:  # a full disk ends it by itself
                self._database.execute("ROLLBACK")

    def _last_hash(self) -> str:
        row = self._database.execute("SELECT hash FROM entry ORDER BY seq DESC LIMIT 1").fetchone()
        return self._anchor() if row is None else str(row[0])

    def _anchor(self) -> str:
        """What the oldest entry is chained to: nothing, or the last of those that were removed."""
        row = self._database.execute("SELECT value FROM meta WHERE key = 'anchor'").fetchone()
        return "" if row is None else str(row[0])

    def _append(self, batch: Batch, last: str) -> str:
        for record in batch.records:
            body = _ENCODER.encode(record)
            last = chained(last, batch.time, batch.actor, body)
            self._database.execute(
                "INSERT INTO entry (time, actor, body, hash) VALUES (?, ?, ?, ?)",
                (batch.time, batch.actor, body, last),
            )
            self._apply(record)
        self._database.executemany(
            "INSERT OR REPLACE INTO event_seen VALUES (?, ?)", batch.seen.items()
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

    def _replace(self, table: str, id_: str, ends: float, body: msgspec.Struct) -> None:
        self._database.execute(
            f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)",  # noqa: S608
            (id_, ends, _ENCODER.encode(body)),
        )

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """What was written, oldest first, from after a sequence. Raises JournalError."""
        with _told("the journal cannot be read"):
            rows = self._database.execute(
                "SELECT seq, time, actor, body, hash FROM entry WHERE seq > ? ORDER BY seq",
                (after,),
            )
            for sequence, time, actor, body, hash_ in rows:
                record = _DECODER.decode(body)
                yield Entry(sequence=sequence, time=time, actor=actor, record=record, hash=hash_)

    def verify(self) -> int:
        """Check the chain; how many entries it has. Raises JournalDamagedError, naming the first bad."""
        count = 0
        with _told("the journal cannot be read"):
            last = self._anchor()
            rows = self._database.execute(
                "SELECT seq, time, actor, body, hash FROM entry ORDER BY seq"
            )
            for sequence, time, actor, body, hash_ in rows:
                # Somebody else's hand may have left text where bytes were written.
                last = chained(last, time, actor, body if isinstance(body, bytes) else b"")
                if last != hash_:
                    raise JournalDamagedError(
                        f"{self.path}: entry {sequence} is not what was written"
                    )
                count += 1
        return count

    def rebuild(self) -> None:
        """Make the tables of the state again from the entries. Raises JournalError."""
        with _told("the journal cannot be rebuilt"), self._transaction():
            for table in _STATE_TABLES:
                self._database.execute(f"DELETE FROM {table}")  # noqa: S608
            bodies = self._database.execute("SELECT body FROM entry ORDER BY seq").fetchall()
            for (body,) in bodies:
                self._apply(_DECODER.decode(body))

    def prune(self, now: float) -> None:
        """Forget what is older than it is kept, and fingerprints that are over. Raises JournalError.

        Entries go from the oldest on; the hash of the last that went anchors the chain. An incident
        that is open stays.
        """
        old = now - KEPT_S
        execute = self._database.execute
        with _told("the journal cannot be pruned"), self._transaction():
            row = execute(
                "SELECT seq, hash FROM entry WHERE time < ? ORDER BY seq DESC LIMIT 1", (old,)
            ).fetchone()
            if row is not None:
                execute("INSERT OR REPLACE INTO meta VALUES ('anchor', ?)", (row[1],))
                execute("DELETE FROM entry WHERE seq <= ?", (row[0],))
            execute("DELETE FROM incident WHERE NOT open AND updated < ?", (old,))
            execute("DELETE FROM silence WHERE ends < ?", (old,))
            execute("DELETE FROM maintenance WHERE ends < ?", (old,))
            execute("DELETE FROM event_seen WHERE until < ?", (now,))

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def chained(last: str, time: float, actor: str, body: bytes) -> str:
    """The hash of an entry after the one with the hash `last`."""
    head = f"{last}\n{time!r}\n{actor}\n".encode()
    return hashlib.sha256(head + body).hexdigest()


@contextlib.contextmanager
def _told(doing: str) -> Iterator[None]:
    try:
        with translated(doing, JournalError, JournalDamagedError):
            yield
    except msgspec.MsgspecError as error:
        raise JournalDamagedError(f"{doing}: a row cannot be read: {error}") from error
