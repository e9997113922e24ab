"""What a journal needs of the database it is kept in: statements, transactions, errors of its own."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from accelwatch.alerting.incidents.journal.lease import Lease

# A row, in the order of the selected columns: the statement says which types it has.
Row = tuple[Any, ...]


class DuplicateClaimError(Exception):
    """A row of another key has the same value where values are unique."""


class Database(Protocol):
    """Open, and for one thread at a time; `check` is for any thread.

    Statements have `?` for parameters, and are those that SQLite and PostgreSQL both understand.
    """

    # Where it is, for messages; no secret.
    name: str

    # The version of its tables.
    version: int

    # How often it has to receive something from who writes; None where it need not.
    renew_every_s: float | None

    # Of whoever writes; of who only reads it says nothing.
    lease: Lease

    def errors(self, doing: str) -> AbstractContextManager[None]:
        """Turns what the database raises into JournalError; `doing` says what was tried."""

    def writing(self) -> AbstractContextManager[None]:
        """A transaction of the one that may write: all that is executed within, or nothing.

        Sees before that it is still ours to write to.
        """

    def reading(self) -> AbstractContextManager[None]:
        """All that is read within is of one moment."""

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        """The rows. Raises DuplicateClaimError, and what `errors` translates."""

    def execute_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """The same statement for each row, in their order. Raises what `errors` translates."""

    def renew(self) -> None:
        """Show that who writes is still there. Raises what `errors` translates."""

    def check(self) -> None:
        """See that it can still be read as a journal. Raises what `errors` translates."""

    def close(self) -> None:
        """Let go of it."""
