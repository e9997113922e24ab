"""The tables of a journal that say how things stand; they can be made again from its entries.

Each method runs within the transaction of who calls it, and raises what the database raises.
"""

from collections.abc import Iterable, Iterator

import msgspec

from accelwatch.alerting.incidents.journal.database import Database, DuplicateClaimError, Row
from accelwatch.alerting.incidents.journal.errors import JournalClaimedError, JournalRefusedError
from accelwatch.alerting.incidents.journal.records import (
    MOST_BODY,
    IncidentRecord,
    Loaded,
    MaintenanceRecord,
    Record,
    SilenceRecord,
    StateRecord,
    encoded,
    key_of,
    number_of,
)
from accelwatch.alerting.incidents.journal.tables.renamed import incident_of, with_current_vendors
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.silence import Maintenance, Silence

# Incidents closed within this time are loaded: they may come back.
RECENT_S = 86_400.0
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


class StateTables:
    """Incidents, silences, maintenance windows and the state of remedies: the newest of each."""

    def __init__(self, database: Database) -> None:
        """Over a database that is open."""
        self._database = database

    def load(self, now: float) -> Loaded:
        """How things stand at `now` (Unix seconds), without events and messages."""
        execute = self._database.execute
        rows = execute(
            "SELECT body FROM incident WHERE open = 1 OR updated > ? ORDER BY updated",
            (now - RECENT_S,),
        )
        return Loaded(
            incidents=[incident_of(body) for (body,) in rows],
            silences=[silence for silence in self._silences() if silence.ends > now],
            windows=[window for window in self._windows() if window.ends > now],
            states=list(self._states(now)),
            number=max((number_of(id_) for id_ in self._ids()), default=0),
        )

    def changed_since(self, since: float) -> list[Incident]:
        """Open incidents, and those that have changed since then, Unix seconds."""
        rows = self._database.execute(
            "SELECT body FROM incident WHERE open = 1 OR updated >= ?", (since,)
        )
        return [incident_of(body) for (body,) in rows]

    def mutes_since(self, since: float) -> list[Silence | Maintenance]:
        """Silences and windows that end after then, Unix seconds."""
        sources: list[Silence | Maintenance] = [*self._silences(), *self._windows()]
        return [source for source in sources if source.ends > since]

    def incident(self, id_: str) -> Incident | None:
        """One incident, however old."""
        rows = self._database.execute("SELECT body FROM incident WHERE id = ?", (id_,))
        return incident_of(rows[0][0]) if rows else None

    def incidents(self, *, before: float, most: int) -> list[Incident]:
        """Incidents that changed before a moment (Unix seconds), the latest first."""
        rows = self._database.execute(
            "SELECT body FROM incident WHERE updated < ? ORDER BY updated DESC LIMIT ?",
            (before, most),
        )
        return [incident_of(body) for (body,) in rows]

    def rows(self, table: str, now: float) -> list[Row]:
        """A table, without what is over and only waits to be forgotten; `now` in Unix seconds."""
        columns = _COLUMNS[table]
        if table == "state" and self._database.version < HAS_STATES:
            return []
        condition = " WHERE until IS NULL OR until > ?" if table == "state" else ""
        return self._database.execute(
            f"SELECT {columns} FROM {table}{condition} ORDER BY 1, 2",  # noqa: S608
            (now,) if condition else (),
        )

    def _silences(self) -> list[Silence]:
        return [with_current_vendors(silence) for silence in self._all("silence", Silence)]

    def _windows(self) -> list[Maintenance]:
        return self._all("maintenance", Maintenance)

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

    def apply(self, records: Iterable[Record]) -> None:
        """Let the tables follow; the order counts among records of one table only.

        Raises JournalRefusedError for what is too large, JournalClaimedError for what is held already.
        """
        incidents: list[Row] = []
        for record in records:
            match record:
                case IncidentRecord(incident):
                    body = encoded(incident)
                    row = (incident.id, int(incident.is_open), incident.updated, body)
                    incidents.append(row)
                case SilenceRecord(silence):
                    self._put_mute("silence", silence)
                case MaintenanceRecord(window):
                    self._put_mute("maintenance", window)
                case StateRecord():
                    self._put_state(record)
        self._database.execute_many(_PUT_INCIDENT, incidents)

    def _put_mute(self, table: str, mute: Silence | Maintenance) -> None:
        row = (mute.id, mute.ends, encoded(mute))
        self._database.execute(_PUT_MUTE.format(table=table), row)

    def _put_state(self, record: StateRecord) -> None:
        if record.is_gone:
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

    def clear(self) -> None:
        """Empty them, to be made again from the entries."""
        for table in STATE_TABLES:
            self._database.execute(f"DELETE FROM {table}")  # noqa: S608

    def is_current(self, record: Record) -> bool:
        """Whether a record is the newest of what it is about."""
        if isinstance(record, StateRecord):
            body, where = bytes(record.body), ("state", "kind = ? AND key = ?")
        else:
            value: msgspec.Struct = msgspec.structs.astuple(record)[0]
            body, where = encoded(value), (key_of(record)[0], "id = ?")
        rows = self._database.execute(
            f"SELECT body FROM {where[0]} WHERE {where[1]}",  # noqa: S608
            key_of(record)[1:],
        )
        return bool(rows) and rows[0][0] == body

    def forget(self, now: float, old: float) -> None:
        """Remove what was over before `old`, and what is remembered only until `now` (Unix seconds)."""
        execute = self._database.execute
        execute("DELETE FROM incident WHERE open = 0 AND updated < ?", (old,))
        execute("DELETE FROM silence WHERE ends < ?", (old,))
        execute("DELETE FROM maintenance WHERE ends < ?", (old,))
        execute("DELETE FROM state WHERE until < ?", (now,))
