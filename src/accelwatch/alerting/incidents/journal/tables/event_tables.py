"""The tables of a journal that no entry speaks of: events that were evaluated, messages that wait.

Each method runs within the transaction of who calls it, and raises what the database raises.
"""

from collections.abc import Mapping

from accelwatch.alerting.incidents.journal.database import Database

_PUT_EVENT = (
    "INSERT INTO event_seen (fingerprint, until) VALUES (?, ?)"
    " ON CONFLICT (fingerprint) DO UPDATE SET until = excluded.until"
)
_PUT_MESSAGE = (
    "INSERT INTO outbox (incident, sink, body) VALUES (?, ?, ?)"
    " ON CONFLICT (incident, sink) DO UPDATE SET body = excluded.body"
)


class EventTables:
    """Fingerprints of events, and the outbox of messages."""

    def __init__(self, database: Database) -> None:
        """Over a database that is open."""
        self._database = database

    def fingerprints(self) -> dict[str, float]:
        """Of events, and until when (Unix seconds) each is remembered."""
        return dict(self._database.execute("SELECT fingerprint, until FROM event_seen"))

    def outbox(self) -> list[bytes]:
        """Messages that are to be sent, as whoever sends them wrote them."""
        return [body for (body,) in self._database.execute("SELECT body FROM outbox")]

    def put(
        self, fingerprints: Mapping[str, float], outbox: Mapping[tuple[str, str], bytes | None]
    ) -> None:
        """Remember fingerprints and messages; a message of None is sent."""
        self._database.execute_many(_PUT_EVENT, fingerprints.items())
        for key, message in outbox.items():
            if message is None:
                self._database.execute("DELETE FROM outbox WHERE incident = ? AND sink = ?", key)
            else:
                self._database.execute(_PUT_MESSAGE, (*key, message))

    def forget(self, now: float) -> None:
        """Remove fingerprints that are remembered only until `now`, Unix seconds."""
        self._database.execute("DELETE FROM event_seen WHERE until < ?", (now,))
