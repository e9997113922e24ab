"""A hub's second session in a shared journal: it reads what is new, and says that the hub is there.

It needs no lease, and goes on while another hub leads.
"""

import contextlib
import threading
from typing import NamedTuple

import msgspec

from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.journal.journal import Journal
from accelwatch.alerting.incidents.journal.lease import lease_clock
from accelwatch.alerting.incidents.journal.postgresql.database import PostgreSQLDatabase
from accelwatch.alerting.incidents.journal.postgresql.schema import HAS_HUBS, NOW, SCHEMA
from accelwatch.alerting.incidents.journal.records import Loaded, Record
from accelwatch.alerting.incidents.journal.shared import HubEntry, ListedHub, SharedJournal
from accelwatch.config.journal import PostgreSQL

# Who is further behind reads the tables instead of the entries.
_MOST_ENTRIES = 5000
# Seconds after which a hub that is gone is not listed any more.
_LISTED_S = 7 * 86_400.0
_PUT_HUB = (
    f"INSERT INTO hub (id, seen, body) VALUES (?, {NOW}, ?)"  # noqa: S608
    " ON CONFLICT (id) DO UPDATE SET seen = excluded.seen, body = excluded.body"
)
_FORGET_HUBS = f"DELETE FROM hub WHERE seen < {NOW} - ?"  # noqa: S608
_HUBS = f"SELECT body, seen, {NOW} - seen FROM hub ORDER BY id"  # noqa: S608
_WRITER = "SELECT token, holder, since FROM writer"


class Polled(NamedTuple):
    """What a poll has brought."""

    shared: SharedJournal
    # The whole state, where it was read again; None where only `records` are new.
    loaded: Loaded | None
    records: list[Record]
    # Why this hub could not say that it is there; empty when it has.
    unannounced: str


class SharedReader:
    """Everything here blocks; polls run in turn, whichever threads they are on."""

    def __init__(self, settings: PostgreSQL) -> None:
        self._settings = settings
        self._database: PostgreSQLDatabase | None = None
        # Polls run on threads, and a session serves one at a time; closing waits for the poll.
        self._turn = threading.Lock()
        self._is_closed = False
        # Of what was read last: the token of who wrote it, and the sequence of its last entry.
        self._read_to: tuple[int, int] | None = None
        self._has_forgotten = False
        # By `lease_clock`: what was committed before it has been read; None before the first poll.
        self.current_at: float | None = None

    def poll(self, own: HubEntry, now: float, *, copies: bool) -> Polled:
        """Read what is new since the last poll, then say that this hub is there.

        `now`: Unix seconds; states that end before are not read. Who has the state anyway `copies`
        nothing. Raises JournalError.
        """
        with self._turn:
            if self._is_closed:
                raise JournalError("the journal is closed")
            started = lease_clock()
            if self._database is None:
                self._database = PostgreSQLDatabase(self._settings, read_only=True)
            database = self._database
            with database.errors(f"{database.name}: the journal cannot be read"):
                has_hubs = _has_hubs(database)
                polled = self._read(database, now, copies=copies, has_hubs=has_hubs)
            self.current_at = started
            late = msgspec.structs.replace(own, late_s=round(lease_clock() - started, 3))
            return polled._replace(unannounced=self._announce(database, late, has_hubs=has_hubs))

    def reset_position(self) -> None:
        """Have the next poll read the whole state."""
        with self._turn:
            self._read_to = None

    def _read(
        self, database: PostgreSQLDatabase, now: float, *, copies: bool, has_hubs: bool
    ) -> Polled:
        journal, before = Journal(database), self._read_to
        with database.reading():
            shared = _shared(database, has_hubs=has_hubs)
            if not copies:
                self._read_to = None
                return Polled(shared, None, [], "")
            last = journal.last_sequence()
            # Another leader may have started from a database that has lost what was read here.
            is_continued = before is not None and before[0] == shared.token
            if before is not None and is_continued and last - before[1] <= _MOST_ENTRIES:
                records = [entry.record for entry in journal.entries(before[1])]
                polled = Polled(shared, None, records, "")
            else:
                polled = Polled(shared, journal.load(now), [], "")
        self._read_to = shared.token, last
        return polled

    def _announce(self, database: PostgreSQLDatabase, own: HubEntry, *, has_hubs: bool) -> str:
        """Why it could not be said; empty when it was."""
        if not has_hubs:
            return f"{database.name}: the hub that leads is older and keeps no list of hubs"
        try:
            with database.errors(f"{database.name}: this hub cannot say that it is there"):
                database.execute(_PUT_HUB, (own.id, msgspec.json.encode(own)))
                if not self._has_forgotten:
                    database.execute(_FORGET_HUBS, (_LISTED_S,))
                    self._has_forgotten = True
        except JournalError as error:
            return str(error)
        return ""

    def close(self) -> None:
        """End the session, after a poll that is under way."""
        with self._turn:
            self._is_closed = True
            if self._database is not None:
                self._database.close()


def _has_hubs(database: PostgreSQLDatabase) -> bool:
    ((there,),) = database.execute(HAS_HUBS, (f"{SCHEMA}.hub",))
    return bool(there)


def _shared(database: PostgreSQLDatabase, *, has_hubs: bool) -> SharedJournal:
    rows = database.execute(_WRITER)
    token, holder, since = rows[0] if rows else (0, "", 0.0)
    hubs: list[ListedHub] = []
    for body, last_contact, age_s in database.execute(_HUBS) if has_hubs else []:
        with contextlib.suppress(msgspec.MsgspecError):  # by another version, or by hand
            entry = msgspec.json.decode(body, type=HubEntry)
            hubs.append(ListedHub(entry=entry, last_contact=last_contact, age_s=max(age_s, 0.0)))
    return SharedJournal(token=token, holder=holder, since=since, hubs=tuple(hubs))
