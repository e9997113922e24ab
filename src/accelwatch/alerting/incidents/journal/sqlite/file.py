"""The journal's SQLite file; everything here blocks and is for one thread at a time."""

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

from accelwatch.alerting.incidents.journal.database import DuplicateClaimError, Row
from accelwatch.alerting.incidents.journal.errors import (
    JournalDamagedError,
    JournalError,
    JournalVersionError,
)
from accelwatch.alerting.incidents.journal.journal import Journal
from accelwatch.alerting.incidents.journal.lease import Lease
from accelwatch.alerting.incidents.journal.sqlite.checking import (
    Identity,
    check_contents,
    check_path,
    check_version_kept,
    identity,
)
from accelwatch.alerting.incidents.journal.sqlite.schema import VERSION, migrate, version_of
from accelwatch.system.files.sqlite_files import (
    OtherVersionError,
    check_version,
    open_database,
    open_to_read,
    transaction,
    translated,
)

FILE = "journal.sqlite"


class SQLiteFile:
    """A file that is open; a `Database`."""

    renew_every_s: float | None = None

    def __init__(self, path: Path, *, read_only: bool = False, had_journal: bool = False) -> None:
        """Raises JournalError; a missing file is created, unless it shall only be read.

        `had_journal`: there was a journal here before, so an empty file is a lost one.
        """
        self.path, self.name = path, str(path)
        # A lock of its folder lets one process write.
        self.lease = Lease()
        with self.errors(f"{path}: the journal cannot be opened"):
            if read_only:
                self.connection = open_to_read(path)
            else:
                self.connection = open_database(
                    path, version=VERSION, oldest=1, must_exist=had_journal
                )
            try:
                if read_only:
                    check_version(self.connection, VERSION, oldest=1)
                else:
                    migrate(self.connection)
                self.version = version_of(self.connection)
            except BaseException:
                self.connection.close()
                raise
        self._opened: Identity | None = identity(path)

    @classmethod
    def over(cls, name: str, connection: sqlite3.Connection) -> Self:
        """A journal in a database that is open, from `name`. Raises sqlite3.Error."""
        file = cls.__new__(cls)
        file.path, file.name, file.connection, file._opened = Path(name), name, connection, None
        file.lease = Lease()
        migrate(connection)
        file.version = VERSION
        return file

    @contextlib.contextmanager
    def errors(self, doing: str) -> Iterator[None]:
        """Turn what SQLite raises into errors of the journal."""
        try:
            with translated(doing, JournalError, JournalDamagedError):
                yield
        except JournalError as error:
            if isinstance(error.__cause__, OtherVersionError):
                raise JournalVersionError(str(error)) from error.__cause__
            raise

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction, of a file that is still the one that was opened. Raises sqlite3.Error."""
        if self._opened is not None:
            check_path(self.path, self._opened)
        with transaction(self.connection):
            check_version_kept(self.connection, VERSION)
            yield

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """A transaction that only reads. Raises sqlite3.Error."""
        self.connection.execute("BEGIN")
        try:
            yield
        finally:
            self.connection.execute("ROLLBACK")

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        """The rows. Raises sqlite3.Error, DuplicateClaimError."""
        try:
            return self.connection.execute(statement, parameters).fetchall()
        except sqlite3.IntegrityError as error:
            raise DuplicateClaimError(str(error)) from error

    def execute_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """The statement for each row. Raises sqlite3.Error."""
        self.connection.executemany(statement, rows)

    def renew(self) -> None:
        """Nothing has to be shown: the folder's lock lasts as long as the process."""

    def check(self) -> None:
        """See that the file on the disk can still be read, from any thread. Raises sqlite3.Error."""
        if self._opened is not None:
            check_path(self.path, self._opened)
            check_contents(self.path)

    def close(self) -> None:
        """Close the file."""
        self.connection.close()


def open_file(path: Path, *, read_only: bool = False, had_journal: bool = False) -> Journal:
    """The journal of a file. Raises JournalError."""
    return Journal(SQLiteFile(path, read_only=read_only, had_journal=had_journal))


def in_memory(name: str) -> Journal:
    """An empty journal that is kept nowhere, named as another."""
    return Journal(SQLiteFile.over(name, sqlite3.connect(":memory:", isolation_level=None)))
