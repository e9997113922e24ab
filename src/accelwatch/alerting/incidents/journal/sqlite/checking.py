"""Whether the file of a journal that is open is still the one that was opened, and can be written.

SQLite goes on writing to a file that was deleted, and reads again only what has changed by its own
doing: what happens to the file from outside has to be looked for.
"""

import contextlib
import os
import sqlite3
from pathlib import Path

from accelwatch.alerting.incidents.journal.sqlite.schema import version_of
from accelwatch.system.files.sqlite_files import open_to_read

# Bytes that have to be free: SQLite writes whole pages, and a little more than requested.
LEAST_ROOM = 256 * 1024
# Device and inode.
Identity = tuple[int, int]


def identity(path: Path) -> Identity:
    """By what the file that was opened is known again. Raises OSError."""
    status = path.stat()
    return status.st_dev, status.st_ino


def check_path(path: Path, opened: Identity) -> None:
    """Raise sqlite3.Error when the file is not there any more, or its disk is full."""
    try:
        there = identity(path)
    except OSError as error:
        raise sqlite3.OperationalError(
            f"{path} is gone ({error.strerror}); restore it from a backup and restart"
        ) from error
    if there != opened:
        raise sqlite3.OperationalError(
            f"{path} is another file than the one that was opened; restart to read it"
        )
    if room(path.parent) < LEAST_ROOM:
        raise sqlite3.OperationalError(f"the disk of {path.parent} is full; free space there")


def room(folder: Path) -> int:
    """Bytes that this process may still write to the disk of a folder. Raises OSError."""
    status = os.statvfs(folder)
    blocks = status.f_bfree if os.geteuid() == 0 else status.f_bavail
    return blocks * status.f_frsize


def check_version_kept(database: sqlite3.Connection, version: int) -> None:
    """Raise sqlite3.Error when a newer version has written to the file meanwhile."""
    written = version_of(database)
    if written > version:
        raise sqlite3.OperationalError(
            f"a newer version has written it ({written}; this one reads up to {version}); "
            "start the newer version"
        )


def check_contents(path: Path) -> None:
    """Raise sqlite3.Error when the file on the disk cannot be read as a journal.

    Through a connection of its own: the one that writes keeps what it has read in memory.
    """
    with contextlib.closing(open_to_read(path)) as database:
        version_of(database)
        for query in (
            "SELECT body, hash FROM entry ORDER BY seq DESC LIMIT 1",
            "SELECT * FROM meta",
        ):
            database.execute(query).fetchall()
