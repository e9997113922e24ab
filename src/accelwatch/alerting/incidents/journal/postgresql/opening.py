"""Opening a journal in PostgreSQL: reports what cannot be written, and creates nothing anew."""

from pathlib import Path

from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.journal.journal import Journal
from accelwatch.alerting.incidents.journal.location import DatabaseLocation
from accelwatch.alerting.incidents.journal.opening_result import OpeningResult
from accelwatch.alerting.incidents.journal.postgresql.database import PostgreSQLDatabase
from accelwatch.system.files.atomic_file import PRIVATE, read_replaced, replace_file

# The greatest token that this hub has written with, or has seen in the database.
TOKEN_FILE = "journal.token"  # noqa: S105 - of a lease, no secret


def open_in_postgresql(location: DatabaseLocation, now: float) -> OpeningResult:
    """The journal of a database, to be written by this process alone.

    Raises JournalError: without it nothing is evaluated, for another may do so already.
    """
    database = None
    try:
        latest = latest_token(location.folder)
        database = PostgreSQLDatabase(location.settings)
        database.acquire(latest)
        if location.folder is not None:
            write_token(location.folder, database.lease.token)
        journal = Journal(database)
        loaded = journal.load(now)
        journal.prune(now)
    except BaseException:
        if database is not None:
            database.close()
        raise
    return OpeningResult(journal, loaded, "", None)


def write_token(folder: Path, token: int) -> None:
    """Remember that there was this token. Raises JournalError."""
    try:
        replace_file(folder / TOKEN_FILE, str(token).encode(), mode=PRIVATE)
    except OSError as error:
        text = f"{folder / TOKEN_FILE} cannot be written: {error.strerror}"
        raise JournalError(text) from error


def latest_token(folder: Path | None) -> int:
    """The greatest by which this hub has written, or that it has seen. Raises JournalError."""
    if folder is None:
        return 0
    file = folder / TOKEN_FILE
    try:
        return int(read_replaced(file))
    except FileNotFoundError:
        return 0
    except (OSError, ValueError) as error:
        raise JournalError(
            f"{file} cannot be read: {error}; see what it was, or remove it"
        ) from error
