"""The journal in PostgreSQL: a `Database` that only the hub writes whose token stands there."""

import contextlib
import socket
from collections.abc import Iterable, Iterator, Sequence

from accelwatch.alerting.incidents.journal.database import Row
from accelwatch.alerting.incidents.journal.errors import (
    JournalDamagedError,
    JournalError,
    JournalInUseError,
    JournalVersionError,
    LeaseLostError,
)
from accelwatch.alerting.incidents.journal.lease import (
    NEVER,
    Lease,
    lease_clock,
    next_token,
    timeline_of,
)
from accelwatch.alerting.incidents.journal.postgresql.connection import LEASE_S, Connection
from accelwatch.alerting.incidents.journal.postgresql.failures import translated
from accelwatch.alerting.incidents.journal.postgresql.replication import (
    REPLICATION,
    Replication,
    loss_risk,
)
from accelwatch.alerting.incidents.journal.postgresql.schema import (
    EXISTS,
    HAS_META,
    MIGRATING,
    NOW,
    OLDEST_READ,
    PUT_VERSION,
    SCHEMA,
    STATEMENTS,
    TIMELINE,
    VERSION,
    WRITING,
    WRITTEN_VERSION,
)
from accelwatch.config.journal import PostgreSQL
from accelwatch.schema.timestamps import timestamp_or_none

_WRITER = f"SELECT token, holder, since, {TIMELINE} FROM writer"  # noqa: S608
_TO_WRITE = f"{_WRITER} FOR UPDATE"
_WRITER_COLUMNS = 4
_RENEWAL = f"SELECT * FROM ({_WRITER}) AS of_writer, ({REPLICATION}) AS of_standbys"  # noqa: S608
# Whoever sees that the lease is theirs has half a second to begin what needs it.
_SURE_S = LEASE_S - 0.5
RENEW_EVERY_S = 1.0


class PostgreSQLDatabase:
    """A database that is open; everything here blocks.

    The session that writes holds a lock of the database, which ends with it: two never write at once.
    The token says whether another has written meanwhile; it is compared in each transaction.
    """

    def __init__(self, settings: PostgreSQL, *, read_only: bool = False) -> None:
        """Raises JournalError; tables are made where there are none, unless it shall only be read."""
        self.name = database_name(settings)
        self.version = VERSION
        self._settings = settings
        self.lease = Lease(NEVER, _SURE_S)
        # Whether there was a standby since it is open: one that is cut off may be promoted.
        self._is_replicated = len(settings.hosts) > 1
        self.renew_every_s = None if read_only else RENEW_EVERY_S
        self._connection = (
            Connection(settings, synchronous=False)
            if read_only
            else Connection(settings, self._lock, self._expire_lease)
        )
        try:
            with self.errors(f"{self.name}: the journal cannot be opened"):
                if not read_only:
                    self._migrate()
                self._check_version(OLDEST_READ if read_only else VERSION)
        except BaseException:
            self._connection.close()
            raise

    def acquire(self, latest: int) -> None:
        """Begin to write, with a new token. `latest` is the greatest that was observed before.

        Since when is by the database's clock: that of a hub may be wrong.

        Raises LeaseLostError for a database that is older than what was seen, JournalError.
        """
        with self.errors(f"{self.name}: the journal cannot be opened"), self._transaction():
            token, _, _, timeline = self._writer()
            ours = next_token(timeline, token)
            if ours <= max(latest, token):
                raise LeaseLostError(
                    f"{self.name}: the database knows less than was written before (its token"
                    f" would be {ours}, {max(latest, token)} was there): it was restored or is another."
                    " If that is so on purpose, remove journal.token from the state_dir"
                )
            self.execute(
                f"UPDATE writer SET token = ?, holder = ?, since = {NOW}",  # noqa: S608
                (ours, socket.gethostname()),
            )
        self.lease.token = ours
        with self.errors(f"{self.name}: the lease cannot be read"):
            self.renew()

    def _writer(self) -> Row:
        rows = self.execute(_TO_WRITE)
        if not rows:
            raise JournalDamagedError(f"{self.name}: the row of the table writer is gone")
        return rows[0]

    def _lock(self) -> None:
        """With each session: no other may write while it lasts. Raises JournalError."""
        ((locked,),) = self._connection.execute("SELECT pg_try_advisory_lock(?)", (WRITING,))
        if not locked:
            self._check_holder()
            raise JournalInUseError(f"{self.name}: another hub writes there{self._holder()}")

    def _check_holder(self) -> None:
        """Whoever has the lock may still be a session of ours, which the database has not given up."""
        for row in self._connection.execute(_WRITER) if self.lease.token else []:
            self._check_lease(row)

    def _expire_lease(self) -> None:
        self.lease.valid_until = NEVER

    def _holder(self) -> str:
        ((there,),) = self._connection.execute(HAS_META, (SCHEMA,))
        rows = self._connection.execute("SELECT holder, since FROM writer") if there else []
        for holder, since in rows:
            since_text = timestamp_or_none(since)
            if holder:
                return f": the one on {holder}" + (f" since {since_text}" if since_text else "")
        return ""

    @contextlib.contextmanager
    def errors(self, doing: str) -> Iterator[None]:
        """Turn what PostgreSQL raises into errors of the journal."""
        with translated(doing):
            yield

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction, as long as nobody else has written meanwhile."""
        with self._transaction():
            requested_at = lease_clock()
            self._confirm_lease(self._writer(), requested_at)
            yield

    def renew(self) -> None:
        """Renew the lease, and see that nobody else has written meanwhile."""
        requested_at = lease_clock()
        for row in self.execute(_RENEWAL):
            self._confirm_lease(row[:_WRITER_COLUMNS], requested_at)
            replication = Replication(*row[_WRITER_COLUMNS:])
            self._is_replicated |= replication.is_replicated
            self.lease.loss_risk = loss_risk(
                self.name, replication, is_replicated=self._is_replicated
            )

    def _confirm_lease(self, row: Row, requested_at: float) -> None:
        self._check_lease(row)
        self.lease.valid_until = requested_at + _SURE_S

    def _check_lease(self, row: Row) -> None:
        token, holder, _, timeline = row
        if token != self.lease.token:
            self.lease.lost = f"{self.name}: the hub on {holder} has written meanwhile"
        elif timeline != timeline_of(self.lease.token):
            self.lease.lost = (
                f"{self.name}: the database has failed over and may lack what came last"
            )
        if self.lease.lost:
            raise LeaseLostError(self.lease.lost)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.start_transaction()
        try:
            yield
        except BaseException:
            self._connection.roll_back()
            raise
        self._connection.commit()

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """A transaction that sees one moment."""
        self._connection.start_transaction("ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            yield
        finally:
            self._connection.roll_back()

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        """The rows."""
        return self._connection.execute(statement, parameters)

    def execute_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """The statement for each row."""
        self._connection.execute_many(statement, rows)

    def check(self) -> None:
        """See over a session of its own, from any thread, that the journal is there to be written."""
        with contextlib.closing(Connection(self._settings)) as connection:
            ((standby, read_only),) = connection.execute(
                "SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only')"
            )
            if standby or read_only == "on":
                raise JournalError(f"{self.name}: it is read-only; name the primary")
            connection.execute("SELECT body, hash FROM entry ORDER BY seq DESC LIMIT 1")

    def close(self) -> None:
        """Let go of the session, and with it of the lock."""
        self._connection.close()

    def _migrate(self) -> None:
        with self._transaction():
            self.execute("SELECT pg_advisory_xact_lock(?)", (MIGRATING,))
            ((there,),) = self.execute(EXISTS, (SCHEMA,))
            if not there:
                self.execute(f"CREATE SCHEMA {SCHEMA}")
            written = self._written_version()
            if written > VERSION:
                return
            for version, statements in STATEMENTS.items():
                if version > written:
                    for statement in statements:
                        self.execute(statement)
            if written < VERSION:
                self.execute(PUT_VERSION, (str(VERSION),))

    def _written_version(self) -> int:
        ((there,),) = self.execute(HAS_META, (SCHEMA,))
        rows = self.execute(WRITTEN_VERSION) if there else []
        return int(rows[0][0]) if rows else 0

    def _check_version(self, oldest: int) -> None:
        written = self._written_version()
        if not oldest <= written <= VERSION:
            what = f"written by another version ({written})" if written else "there is no journal"
            raise JournalVersionError(f"{self.name}: {what}")
        self.version = written


def database_name(settings: PostgreSQL) -> str:
    """A database for messages."""
    return f"PostgreSQL {settings.database} on {', '.join(settings.hosts)}"
