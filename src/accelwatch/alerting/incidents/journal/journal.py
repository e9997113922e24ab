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
from accelwatch.alerting.incidents.journal.database import Database, Row
from accelwatch.alerting.incidents.journal.errors import (
    JournalDamagedError,
)
from accelwatch.alerting.incidents.journal.lease import Lease
from accelwatch.alerting.incidents.journal.records import (
    Batch,
    Entry,
    Loaded,
    Record,
    encoded,
    key_of,
)
from accelwatch.alerting.incidents.journal.tables.event_tables import EventTables
from accelwatch.alerting.incidents.journal.tables.state_tables import StateTables
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.silence import Maintenance, Silence
from accelwatch.base.decode_errors import DECODE_ERRORS

KEPT_S = 400 * 86_400.0
_PUT_ANCHOR = (
    "INSERT INTO meta (key, value) VALUES ('anchor', ?)"
    " ON CONFLICT (key) DO UPDATE SET value = excluded.value"
)
_DECODER = msgspec.json.Decoder(Record)


class Journal:
    """An open journal."""

    def __init__(self, database: Database) -> None:
        """Over a database that is open."""
        self._database = database
        self._tables = StateTables(database)
        self._events = EventTables(database)
        self.name = database.name

    def changed_since(self, since: float) -> list[Incident]:
        """Open incidents, and those that have changed since then, Unix seconds. Raises JournalError."""
        with self.errors("the journal cannot be read"):
            return self._tables.changed_since(since)

    def mutes_since(self, since: float) -> list[Silence | Maintenance]:
        """Silences and windows that end after then, Unix seconds. Raises JournalError."""
        with self.errors("the journal cannot be read"):
            return self._tables.mutes_since(since)

    def load(self, now: float) -> Loaded:
        """How things stand. Raises JournalError, JournalDamagedError."""
        with self.errors("the journal cannot be read"):
            loaded = self._tables.load(now)
            return msgspec.structs.replace(
                loaded, fingerprints=self._events.fingerprints(), outbox=self._events.outbox()
            )

    def last_sequence(self) -> int:
        """Of the latest entry; 0 before the first. Raises JournalError."""
        with self.errors("the journal cannot be read"):
            ((last,),) = self._database.execute("SELECT coalesce(max(seq), 0) FROM entry")
            return int(last)

    def incident(self, id_: str) -> Incident | None:
        """One incident, however old. Raises JournalError."""
        with self.errors("the journal cannot be read"):
            return self._tables.incident(id_)

    def incidents(self, *, before: float, most: int) -> list[Incident]:
        """Incidents that changed before a moment (Unix seconds), the latest first.

        Raises JournalError.
        """
        with self.errors("the journal cannot be read"):
            return self._tables.incidents(before=before, most=most)

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
            body = encoded(record)
            last = chained(last, batch.time, batch.actor, body, batch.address)
            entries.append((batch.time, batch.actor, batch.address, body, last))
        self._database.execute_many(
            "INSERT INTO entry (time, actor, address, body, hash) VALUES (?, ?, ?, ?, ?)", entries
        )
        self._tables.apply(batch.records)
        self._events.put(batch.fingerprints, batch.outbox)
        return last

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
        with self.errors("the journal cannot be read"):
            return follow(self._database)

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """All that is read within is of one moment, also while a hub writes. Raises JournalError."""
        with self.errors("the journal cannot be read"), self._database.reading():
            yield

    def verify(self) -> int:
        """Check the chain; how many entries it has. Raises JournalDamagedError, naming the first bad."""
        with self.reading():
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
            self._tables.clear()
            for line in lines(journal._database):
                self._tables.apply([_DECODER.decode(line.body)])

    def rows(self, table: str, now: float) -> list[Row]:
        """A table of the state, without what is over and only waits to be forgotten.

        `now` in Unix seconds. Raises JournalError.
        """
        with self.errors("the journal cannot be read"):
            return self._tables.rows(table, now)

    def prune(self, now: float) -> None:
        """Forget what is older than it is kept, and fingerprints that are over. Raises JournalError.

        Entries go from the oldest on; the hash of the last that went anchors the chain. What stands is
        written again before its entry goes: the tables can still be made from what is left.
        """
        old = now - KEPT_S
        execute = self._database.execute
        with self.errors("the journal cannot be pruned"), self._database.writing():
            self._tables.forget(now, old)
            self._events.forget(now)
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
        records = [record for record in written.values() if self._tables.is_current(record)]
        self._append(Batch(time=now, records=records), last_hash(self._database))

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    @contextlib.contextmanager
    def errors(self, doing: str) -> Iterator[None]:
        """Turn what the database and bad rows raise into errors of the journal."""
        try:
            with self._database.errors(doing):
                yield
        except (*DECODE_ERRORS, msgspec.MsgspecError) as error:
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
