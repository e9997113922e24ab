"""SQLite files of ours: their companions, and that nobody else reads them."""

import contextlib
import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

from accelwatch.base.errors import AccelwatchError

# What SQLite adds to the name of a file in WAL mode, besides the file itself.
COMPANIONS = ("", "-wal", "-shm")
_MODE = 0o600
# How long to wait for a file that another process has locked.
WAIT_S = 2.0
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class OtherVersionError(sqlite3.DatabaseError):
    """Another version has written the file, and this one does not read what that writes."""


@contextlib.contextmanager
def translated(
    doing: str, error_type: type[AccelwatchError], damaged_type: type[AccelwatchError]
) -> Iterator[None]:
    """Turn what SQLite raises into our errors; `doing` says what was tried."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        kind = damaged_type if code in _DAMAGED else error_type
        raise kind(f"{doing}: {error}") from error


def open_database(
    path: Path, *, version: int, oldest: int | None = None, must_exist: bool = False
) -> sqlite3.Connection:
    """Open a database of ours to write to it, for any thread, one at a time; nobody else reads it.

    A new file is made, unless there `must_exist` one. Its writer sets `user_version`; `oldest`
    is the first version that can be read. Raises sqlite3.Error, and what is not ours is not written to.
    """
    check_no_links(path)
    make_private(path)
    database = sqlite3.connect(path, timeout=WAIT_S, check_same_thread=False, isolation_level=None)
    try:
        if must_exist:
            check_has_tables(database)
        check_version(database, version, oldest=oldest)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
    except BaseException:
        database.close()
        raise
    return database


def open_to_read(path: Path, *, immutable: bool = False) -> sqlite3.Connection:
    """Open a database and leave it as it is. Raises sqlite3.Error.

    `immutable`: without its log, which SQLite cannot read where it may not write.
    """
    how = "mode=ro&immutable=1" if immutable else "mode=ro"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=WAIT_S)


@contextlib.contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """All that is executed within, or nothing. Raises sqlite3.Error."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    finally:
        if database.in_transaction:  # a full disk ends it by itself
            database.execute("ROLLBACK")


def make_private(path: Path) -> None:
    """Let nobody else read a database that is there or about to be: names and serials of a fleet.

    SQLite gives its companions the mode of the file, but does not mend those that are there. What cannot
    be changed is another user's, and opening it says what is wrong. Rights are only removed: a file
    that was made read-only stays so.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with contextlib.suppress(OSError):
        os.close(os.open(path, flags, _MODE))
    for companion in COMPANIONS:
        file = Path(f"{path}{companion}")
        with contextlib.suppress(OSError):
            file_status = file.lstat()
            if stat.S_ISREG(file_status.st_mode):
                file.chmod(stat.S_IMODE(file_status.st_mode) & _MODE)


def check_no_links(path: Path) -> None:
    """Raise sqlite3.Error for a database that is a symbolic link, or whose companions are.

    SQLite would follow it and write to what it leads to.
    """
    for companion in COMPANIONS:
        file = Path(f"{path}{companion}")
        if file.is_symlink():
            text = (
                f"{file.name} is a symbolic link, which is not followed; put the file itself there"
            )
            raise sqlite3.OperationalError(text)


def check_has_tables(database: sqlite3.Connection) -> None:
    """Raise sqlite3.Error for a file that must be ours and has nothing of ours, as an emptied one.

    SQLite opens a file of 0 bytes as a new database.
    """
    (written,) = database.execute("PRAGMA user_version").fetchone()
    if not written:
        text = "it was emptied, or another file was put in its place; restore it from a backup"
        emptied = sqlite3.DatabaseError(text)
        emptied.sqlite_errorcode = sqlite3.SQLITE_NOTADB
        raise emptied


def check_version(database: sqlite3.Connection, version: int, *, oldest: int | None = None) -> None:
    """Raise sqlite3.Error for a file that is damaged or written by another version.

    From `oldest` on, earlier versions are well too.
    """
    (written,) = database.execute("PRAGMA user_version").fetchone()
    if written and not (version if oldest is None else oldest) <= written <= version:
        raise OtherVersionError(f"written by another version ({written})")
    (verdict,) = database.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        damaged = sqlite3.DatabaseError(" ".join(f"it is damaged: {verdict}".split()))
        damaged.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise damaged
