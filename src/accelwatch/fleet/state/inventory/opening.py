"""Opening the inventory on a bad day: the hub goes on, and says what it cannot keep.

A hub that does not start because of a file leaves everybody blind, so no state of the file stops it. A
damaged file is set aside and a new one created; one that cannot be written is read if that is possible,
and what changes from then on is kept in memory.
"""

import contextlib
import logging
import os
import sqlite3
from pathlib import Path
from typing import NamedTuple

from accelwatch.fleet.state.inventory.file import (
    FILE,
    OLDEST_VERSION,
    VERSION,
    DamagedError,
    Expected,
    InventoryError,
    InventoryFile,
    read_all,
)
from accelwatch.system.files.damaged import set_aside
from accelwatch.system.files.folder_lock import lock_file
from accelwatch.system.files.sqlite_files import COMPANIONS, check_version, open_to_read

logger = logging.getLogger(__name__)

LOCK = "inventory.lock"


class Opened(NamedTuple):
    """An inventory that can be worked with."""

    file: InventoryFile
    expected: dict[str, Expected]
    # What is wrong with it; empty when nothing is.
    problem: str
    # Descriptor that holds the folder for this hub.
    lock: int | None
    # Whether what changes outlives the hub; false for one in memory.
    kept: bool = True


def open_inventory(folder: Path | None) -> Opened:
    """The inventory of a folder, or one in memory."""
    if folder is None:
        return Opened(InventoryFile(None), {}, "", None, kept=False)
    try:
        lock = _lock(folder)
    except BlockingIOError:
        return _in_memory(folder, f"{folder}: another hub keeps its inventory here")
    try:
        file = InventoryFile(folder)
        return Opened(file, _loaded(file), "", lock)
    except DamagedError as error:
        opened = _start_new(folder, str(error))
    except InventoryError as error:
        opened = _in_memory(folder, str(error))
    return opened._replace(lock=lock)


def open_again(folder: Path, lock: int | None) -> Opened | None:
    """The inventory of a folder that could not be kept; None while it still cannot.

    `lock` is held already, or None. What was damaged at the start was set aside then.
    """
    descriptor = lock
    try:
        descriptor = _lock(folder) if lock is None else lock
        file = InventoryFile(folder)
        return Opened(file, _loaded(file), "", descriptor)
    except (BlockingIOError, InventoryError):
        if descriptor is not None and lock is None:
            os.close(descriptor)
        return None


def _loaded(file: InventoryFile) -> dict[str, Expected]:
    try:
        return file.load()
    except InventoryError:
        file.close()
        raise


def _lock(folder: Path) -> int | None:
    """Hold the folder; None where nothing can be written. Raises BlockingIOError."""
    try:
        return lock_file(folder / LOCK)
    except BlockingIOError:
        raise
    except OSError:  # no rights, a full disk, a file system without locks
        return None


def _start_new(folder: Path, why: str) -> Opened:
    try:
        aside = set_aside(folder / FILE, COMPANIONS)
        file = InventoryFile(folder)
    except (OSError, InventoryError) as error:
        return _in_memory(folder, f"{why}; and no new one can be created: {error}")
    problem = f"{why}; it is set aside as {aside.name}, and what was expected before is not known"
    logger.error("%s", problem)
    return Opened(file, {}, problem, None)


def _in_memory(folder: Path, why: str) -> Opened:
    expected = _read_only(folder / FILE)
    note = "its content is known" if expected is not None else "its content is unknown"
    problem = f"{why}; {note}, and what changes is in memory only until it can be written"
    logger.error("%s", problem)
    return Opened(InventoryFile(None), expected or {}, problem, None, kept=False)


def _read_only(path: Path) -> dict[str, Expected] | None:
    """What a file holds that cannot be written; as it is on the disk where even its log is closed."""
    for immutable in (False, True):
        with (
            contextlib.suppress(sqlite3.Error),
            contextlib.closing(open_to_read(path, immutable=immutable)) as database,
        ):
            check_version(database, VERSION, oldest=OLDEST_VERSION)
            return read_all(database)
    return None
