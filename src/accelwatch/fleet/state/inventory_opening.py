"""Opening the inventory on a bad day: the hub goes on, and says what it cannot keep.

A hub that does not start because of a file leaves everybody blind, so no state of the file stops it. A
damaged file is set aside and a new one begun; one that cannot be written is read if that is possible,
and what changes from then on is kept in memory.
"""

import contextlib
import fcntl
import logging
import os
import sqlite3
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from accelwatch.files.sqlite_files import COMPANIONS, check_version
from accelwatch.fleet.state.inventory import (
    FILE,
    VERSION,
    DamagedError,
    Expected,
    InventoryError,
    InventoryFile,
    read_all,
)

logger = logging.getLogger(__name__)

_LOCK_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
LOCK = "inventory.lock"
_MAX_ASIDE = 1000


class Opened(NamedTuple):
    """An inventory that can be worked with."""

    file: InventoryFile
    expected: dict[str, Expected]
    problem: str
    """What is wrong with it; empty when nothing is."""
    lock: int | None
    """Descriptor that holds the folder for this hub."""
    kept: bool = True
    """Whether what changes outlives the hub; false for one in memory."""


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
        lock = os.open(folder / LOCK, _LOCK_FLAGS, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise
    except OSError:  # a file system without locks
        os.close(lock)
        return None
    return lock


def _start_new(folder: Path, why: str) -> Opened:
    aside = next(
        name
        for number in range(1, _MAX_ASIDE)
        if not (name := folder / f"{FILE}.damaged-{number}").exists()
    )
    try:
        for companion in COMPANIONS:
            with contextlib.suppress(FileNotFoundError):
                (folder / f"{FILE}{companion}").replace(f"{aside}{companion}")
        file = InventoryFile(folder)
    except (OSError, InventoryError) as error:
        return _in_memory(folder, f"{why}; and no new one can be begun: {error}")
    problem = f"{why}; it is set aside as {aside.name}, and what was expected before is not known"
    logger.error("%s", problem)
    return Opened(file, {}, problem, None)


def _in_memory(folder: Path, why: str) -> Opened:
    expected = _read_only(folder / FILE)
    note = "what it held is known" if expected is not None else "what it held is not known"
    problem = f"{why}; {note}, and what changes is in memory only until it can be written"
    logger.error("%s", problem)
    return Opened(InventoryFile(None), expected or {}, problem, None, kept=False)


def _read_only(path: Path) -> dict[str, Expected] | None:
    """What a file holds that cannot be written; as it is on the disk where even its log is closed."""
    for how in ("mode=ro", "mode=ro&immutable=1"):
        try:
            database = sqlite3.connect(f"file:{quote(str(path))}?{how}", uri=True, timeout=0.5)
        except sqlite3.Error:
            continue
        try:
            check_version(database, VERSION)
            return read_all(database)
        except sqlite3.Error:
            continue
        finally:
            database.close()
    return None
