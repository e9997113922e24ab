"""The journal: entries that are only ever added, each chained to the one before.

The other tables say how things stand; they follow from the entries (`rebuild`) and are written in the
same transaction. Everything here blocks and is for one thread at a time.
"""

import contextlib
from collections.abc import Iterator

import msgspec

from accelwatch.alerting.incidents.journal.chain import (
    Line,
    Verdict,
    chained,
    follow,
    last_hash,
    lines,
)
from accelwatch.alerting.incidents.journal.database import Database, DuplicateClaimError, Row
from accelwatch.alerting.incidents.journal.errors import (
    JournalClaimedError,
    JournalDamagedError,
    JournalRefusedError,
)
from accelwatch.alerting.incidents.journal.lease import Lease
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
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.silence import Maintenance, Silence

# Incidents closed within this time are loaded: they may come back.
RECENT_S = 86_400.0
KEPT_S = 400 * 86_400.0
# Those that follow from the entries.
STATE_TABLES = ("incident", "silence", "maintenance", "state")
# The version of the tables from which on states and addresses are kept.
HAS_STATES = 2
_NUMBERED = ("incident", "silence", "maintenance")
_COLUMNS = {
    "incident": "id, open, updated, body",
    "silence": "id, ends, body",
    "maintenance": "id, ends, body",
    "state": "kind, key, until, claim, body",
}
_PUT_INCIDENT = (
    "INSERT INTO incident (id, open, updated, body) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE"
    " SET open = excluded.open, updated = excluded.updated, body = excluded.body"
)
_PUT_MUTE = (
    "INSERT INTO {table} (id, ends, body) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE"
    " SET ends = excluded.ends, body = excluded.body"
)
# Nothing that would remove the other row of the same claim.
_PUT_STATE = (
    "INSERT INTO state (kind, key, until, claim, body) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (kind, key) DO UPDATE SET"
    " until = excluded.until, claim = excluded.claim, body = excluded.body"
)
_PUT_EVENT = (
    "INSERT INTO event_seen (fingerprint, until) VALUES (?, ?)"
    " ON CONFLICT (fingerprint) DO UPDATE SET until = excluded.until"
)
_PUT_LETTER = (
    "INSERT INTO outbox (incident, sink, body) VALUES (?, ?, ?)"
    " ON CONFLICT (incident, sink) DO UPDATE SET body = excluded.body"
)
_PUT_ANCHOR = (
    "INSERT INTO meta (key, value) VALUES ('anchor', ?)"
    " ON CONFLICT (key) DO UPDATE SET value = excluded.value"
)
_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder(Record)


class Journal:
    """An open journal."""

    def __init__(self, database: Database) -> None:
        """Over a database that is open."""
        self._database = database
        self.name = database.name

    def changed_since(self, since: float) -> list[Incident]:
        """Open incidents, and those that have changed since then, Unix seconds. Raises JournalError."""
        with self.errors("the journal cannot be read"):
            rows = self._database.execute(
                "SELECT body FROM incident WHERE open = 1 OR updated >= ?", (since,)
            )
            return [incident_of(body) for (body,) in rows]

    def mutes_since(self, since: float) -> list[Silence | Maintenance]:
        """Silences and windows that end after then, Unix seconds. Raises JournalError."""
        with self.errors("the journal cannot be read"):
            sources: list[Silence | Maintenance] = [
                *map(with_current_vendors, self._all("silence", Silence)),
                *self._all("maintenance", Maintenance),
            ]
            return [source for source in sources if source.ends > since]

    def load(self, now: float) -> Loaded:
        """How things stand. Raises JournalError, JournalDamagedError."""
        execute = self._database.execute
        with self.errors("the journal cannot be read"):
            rows = execute(
                "SELECT body FROM incident WHERE open = 1 OR updated > ? ORDER BY updated",
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
                fingerprints=dict(execute("SELECT fingerprint, until FROM event_seen")),
                outbox=[body for (body,) in execute("SELECT body FROM outbox")],
                states=list(self._states(now)),
                number=max((number_of(id_) for id_ in self._ids()), default=0),
            )

    def _ids(self) -> Iterator[str]:
        for table in _NUMBERED:
            for (id_,) in self._database.execute(f"SELECT id FROM {table}"):  # noqa: S608
                yield id_

    def _states(self, now: float) -> Iterator[StateRecord]:
        if self._database.version < HAS_STATES:  # only read
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
        with self.errors("the journal cannot be read"):
            rows = self._database.execute("SELECT body FROM incident WHERE id = ?", (id_,))
            return incident_of(rows[0][0]) if rows else None

    def incidents(self, *, before: float, most: int) -> list[Incident]:
        """Incidents that changed before a moment (Unix seconds), the latest first."""
        with self.errors("the journal cannot be read"):
            rows = self._database.execute(
                "SELECT body FROM incident WHERE updated < ? ORDER BY updated DESC LIMIT ?",
                (before, most),
            )
            return [incident_of(body) for (body,) in rows]

    def write(self, batches: list[Batch]) -> None:
        """Write all of them or nothing; when it returns, they are on the disk. Raises JournalError."""
        with self.errors("the journal cannot be written"), self._database.writing():
            last = last_hash(self._database)
            for batch in batches:
                last = self._append(batch, last)

    @property
    def renew_every_s(self) -> float | None:
        """How often `renew` has to be called; None for never."""
        return self._database.renew_every_s

    @property
    def lease(self) -> Lease:
        """By which it is written."""
        return self._database.lease

    def renew(self) -> None:
        """Show that who writes is still there. Raises JournalError."""
        with self.errors(f"{self.name}: the lease cannot be renewed"):
            self._database.renew()

    def check(self) -> None:
        """See that what is kept can still be read as a journal, from any thread.

        Raises JournalError.
        """
        with self.errors(f"{self.name}: the journal cannot be read"):
            self._database.check()

    def _append(self, batch: Batch, last: str) -> str:
        entries: list[Row] = []
        for record in batch.records:
            body = _ENCODER.encode(record)
            last = chained(last, batch.time, batch.actor, body, batch.address)
            entries.append((batch.time, batch.actor, batch.address, body, last))
        self._database.execute_many(
            "INSERT INTO entry (time, actor, address, body, hash) VALUES (?, ?, ?, ?, ?)", entries
        )
        self._apply(batch.records)
        self._database.execute_many(_PUT_EVENT, batch.fingerprints.items())
        for key, letter in batch.outbox.items():
            if letter is None:
                self._database.execute("DELETE FROM outbox WHERE incident = ? AND sink = ?", key)
            else:
                self._database.execute(_PUT_LETTER, (*key, letter))
        return last

    def _apply(self, records: list[Record]) -> None:
        """Let the tables follow; the order counts among records of one table only."""
        incidents: list[Row] = []
        for record in records:
            match record:
                case IncidentRecord(incident):
                    body = _ENCODER.encode(incident)
                    row = (incident.id, int(incident.is_open), incident.updated, body)
                    incidents.append(row)
                case SilenceRecord(silence):
                    self._put_mute("silence", silence)
                case MaintenanceRecord(window):
                    self._put_mute("maintenance", window)
                case StateRecord():
                    self._set(record)
        self._database.execute_many(_PUT_INCIDENT, incidents)

    def _put_mute(self, table: str, mute: Silence | Maintenance) -> None:
        row = (mute.id, mute.ends, _ENCODER.encode(mute))
        self._database.execute(_PUT_MUTE.format(table=table), row)

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
            self._database.execute(
                _PUT_STATE,
                (record.kind, record.key, record.until, record.claim or None, bytes(record.body)),
            )
        except DuplicateClaimError as error:
            raise JournalClaimedError(
                f"{record.kind} {record.key}: something else holds {record.claim!r} already"
            ) from error

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """What was written, oldest first, from after a sequence. Raises JournalError."""
        with self.errors("the journal cannot be read"):
            yield from map(_entry, lines(self._database, after))

    def latest(self, before: int | None = None) -> Iterator[Entry]:
        """What was written, newest first, from before a sequence. Raises JournalError."""
        with self.errors("the journal cannot be read"):
            to = {} if before is None else {"to": before - 1}
            yield from map(_entry, lines(self._database, newest_first=True, **to))

    def follow(self) -> Verdict:
        """Follow the chain to its end or to the first entry that is not what was written.

        Raises JournalError.
        """
        with self.errors("the journal cannot be read"), self._database.reading():
            return follow(self._database)

    def verify(self) -> int:
        """Check the chain; how many entries it has. Raises JournalDamagedError, naming the first bad."""
        verdict = self.follow()
        if verdict.bad is not None:
            raise JournalDamagedError(f"{self.name}: entry {verdict.bad} is not what was written")
        return verdict.good

    def rebuild(self) -> None:
        """Make the tables of the state again from the entries. Raises JournalError."""
        self.follow_entries_of(self)

    def follow_entries_of(self, journal: "Journal") -> None:
        """Make the tables of the state from the entries of a journal. Raises JournalError."""
        with self.errors("the journal cannot be rebuilt"), self._database.writing():
            for table in STATE_TABLES:
                self._database.execute(f"DELETE FROM {table}")  # noqa: S608
            for line in lines(journal._database):
                self._apply([_DECODER.decode(line.body)])

    def rows(self, table: str, now: float) -> list[Row]:
        """A table of the state, without what is over and only waits to be forgotten.

        `now` in Unix seconds. Raises JournalError.
        """
        columns = _COLUMNS[table]
        if table == "state" and self._database.version < HAS_STATES:
            return []
        condition = " WHERE until IS NULL OR until > ?" if table == "state" else ""
        with self.errors("the journal cannot be read"):
            return self._database.execute(
                f"SELECT {columns} FROM {table}{condition} ORDER BY 1, 2",  # noqa: S608
                (now,) if condition else (),
            )

    def prune(self, now: float) -> None:
        """Forget what is older than it is kept, and fingerprints that are over. Raises JournalError.

        Entries go from the oldest on; the hash of the last that went anchors the chain. What stands is
        written again before its entry goes: the tables can still be made from what is left.
        """
        old = now - KEPT_S
        execute = self._database.execute
        with self.errors("the journal cannot be pruned"), self._database.writing():
            self._forget(now, old)
            rows = execute(
                "SELECT seq, hash FROM entry WHERE time < ? ORDER BY seq DESC LIMIT 1", (old,)
            )
            for sequence, hash_ in rows:
                self._carry_over(sequence, now)
                execute(_PUT_ANCHOR, (hash_,))
                execute("DELETE FROM entry WHERE seq <= ?", (sequence,))

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
        rows = self._database.execute(
            f"SELECT body FROM {where[0]} WHERE {where[1]}",  # noqa: S608
            key_of(record)[1:],
        )
        return bool(rows) and rows[0][0] == body

    def _forget(self, now: float, old: float) -> None:
        execute = self._database.execute
        execute("DELETE FROM incident WHERE open = 0 AND updated < ?", (old,))
        execute("DELETE FROM silence WHERE ends < ?", (old,))
        execute("DELETE FROM maintenance WHERE ends < ?", (old,))
        execute("DELETE FROM state WHERE until < ?", (now,))
        execute("DELETE FROM event_seen WHERE until < ?", (now,))

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    @contextlib.contextmanager
    def errors(self, doing: str) -> Iterator[None]:
        """Turn what the database and bad rows raise into errors of the journal."""
        try:
            with self._database.errors(doing):
                yield
        except msgspec.MsgspecError as error:
            raise JournalDamagedError(f"{doing}: a row cannot be read: {error}") from error


def _entry(line: Line) -> Entry:
    return Entry(
        sequence=line.sequence,
        time=line.time,
        actor=line.actor,
        address=line.address,
        record=_DECODER.decode(line.body),
        hash=line.hash,
    )
