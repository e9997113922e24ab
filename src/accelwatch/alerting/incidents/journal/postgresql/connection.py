"""A connection that blocks, over asyncpg, and never for longer than a journal may be waited for."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import cache
from typing import TypeVar

import asyncpg

from accelwatch.alerting.incidents.journal.database import DuplicateClaimError, Row
from accelwatch.alerting.incidents.journal.postgresql.failures import NotAnsweredError
from accelwatch.alerting.incidents.journal.postgresql.hosts import connect
from accelwatch.alerting.incidents.journal.postgresql.schema import SCHEMA
from accelwatch.config.journal import PostgreSQL

# A slower database is as good as away: every write waits for it for 2 s.
ANSWER_S = 2.0
# For a session to close; one that does not is dropped.
_CLOSE_S = 0.5
# A writer that says nothing for so long has been stopped, or cut off: the database lets go of it, and
# another may write. It says something each second.
LEASE_S = 3.0
_SETTINGS = {
    "application_name": "accelwatch",
    "search_path": SCHEMA,
    "synchronous_commit": "on",
    "statement_timeout": "1500",
    "lock_timeout": "1000",
    # A hub that was stopped in the middle of writing keeps nobody waiting.
    "idle_in_transaction_session_timeout": "2500",
    # The database lets go of a hub that was cut off, and of what it holds, within some seconds.
    "tcp_keepalives_idle": "1",
    "tcp_keepalives_interval": "1",
    "tcp_keepalives_count": "3",
}


_T = TypeVar("_T")


class Connection:
    """One session, made when it is needed and again when it was lost; for one thread at a time.

    A transaction that was lost in the middle is not resumed.
    """

    def __init__(
        self,
        settings: PostgreSQL,
        on_connected: Callable[[], None] | None = None,
        on_dropped: Callable[[], None] = lambda: None,
        *,
        synchronous: bool = True,
    ) -> None:
        """`on_connected` is called with each new session, before any other statement.

        Who gives one writes, and has to say something more often than every LEASE_S. `on_dropped` is
        called when a session is over. Commits that are not `synchronous` may be lost, and wait for no
        standby.
        """
        self._settings = settings
        self._on_connected = on_connected
        self._on_dropped = on_dropped
        of_writer = {"idle_session_timeout": str(int(LEASE_S * 1000))} if on_connected else {}
        commits = {} if synchronous else {"synchronous_commit": "off"}
        self._session_settings = {**_SETTINGS, **of_writer, **commits}
        # Of the last transaction: the warnings of the database at its commit.
        self._warnings: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._session: asyncpg.Connection | None = None
        self._in_transaction = False

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        """The rows. Raises PostgresError, NotAnsweredError, OSError, DuplicateClaimError."""
        session = self._connected()
        try:
            rows = self._run(session.fetch(numbered(statement), *parameters))
        except asyncpg.UniqueViolationError as error:
            raise DuplicateClaimError(str(error)) from error
        return [tuple(row) for row in rows]

    def execute_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """The statement for each row, all on their way at once. Raises as `execute`."""
        rows = list(rows)
        if rows:
            self._run(self._connected().executemany(numbered(statement), rows))

    def start_transaction(self, how: str = "") -> None:
        """Begin a transaction. Raises as `execute`."""
        self._run(self._connected().execute(f"BEGIN {how}"))
        self._in_transaction = True

    def commit(self) -> None:
        """End it; when this returns, it is on the disk. Raises as `execute`."""
        self._in_transaction = False
        session = self._session
        if session is None:
            raise NotAnsweredError("the connection was lost")
        self._warnings.clear()
        if self._run(session.execute("COMMIT")) != "COMMIT":
            raise NotAnsweredError("the database rolled the write back")
        if self._warnings:
            # Where a synchronous standby does not answer in time, a commit counts all the same.
            raise NotAnsweredError(f"the commit is not confirmed: {self._warnings[-1]}")

    def roll_back(self) -> None:
        """Roll back, or drop the session that has the transaction. Raises nothing."""
        self._in_transaction = False
        session = self._session
        if session is not None:
            try:
                self._run(session.execute("ROLLBACK"))
            except (asyncpg.PostgresError, asyncpg.InterfaceError, NotAnsweredError, OSError):
                self.drop()

    def drop(self) -> None:
        """Let go of the session, without a word to a database that may not answer."""
        session, self._session = self._session, None
        if session is not None:
            self._on_dropped()
            with contextlib.suppress(Exception):  # a session that is broken already
                session.terminate()
            # Its transport is closed by the loop.
            self._loop.run_until_complete(asyncio.sleep(0))

    def close(self) -> None:
        """Let go of everything; a database that answers has dropped the session by then."""
        session = self._session
        if session is not None:
            # What it holds is free for the next hub at once, not when the database sees the end.
            with contextlib.suppress(
                asyncpg.PostgresError, asyncpg.InterfaceError, OSError, NotAnsweredError
            ):
                self._run(session.close(timeout=_CLOSE_S))
        self.drop()
        if not self._loop.is_closed():
            self._loop.close()

    def _connected(self) -> asyncpg.Connection:
        if self._session is not None and self._session.is_closed():
            self.drop()
        if self._session is None:
            if self._in_transaction:
                raise NotAnsweredError("the connection was lost")
            self._session = self._run(connect(self._settings, self._session_settings, ANSWER_S))
            self._session.add_log_listener(self._record_warning)
            try:
                if self._on_connected is not None:
                    self._on_connected()
            except BaseException:
                self.drop()
                raise
        return self._session

    def _record_warning(self, _: object, message: asyncpg.PostgresLogMessage) -> None:
        if getattr(message, "severity_en", "") == "WARNING":
            self._warnings.append(str(message))

    def _run(self, work: Coroutine[object, object, _T]) -> _T:
        async def in_time() -> _T:
            async with asyncio.timeout(ANSWER_S):
                return await work

        try:
            return self._loop.run_until_complete(in_time())
        except TimeoutError as error:
            self.drop()
            raise NotAnsweredError(f"it has not answered for {ANSWER_S:g} s") from error
        except (asyncpg.PostgresConnectionError, asyncpg.InterfaceError, OSError):
            self.drop()
            raise


# Statements are constants, and each is sent many times.
@cache
def numbered(statement: str) -> str:
    """A statement with its parameters as PostgreSQL writes them."""
    first, *others = statement.split("?")
    return first + "".join(f"${number}{text}" for number, text in enumerate(others, start=1))
