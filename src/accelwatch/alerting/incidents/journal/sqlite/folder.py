"""Opening the journal when it fails: the caller goes on without, and reports it.

The opposite of what an inventory does. A journal that was recreated would forget silences, judged
events and, later, running operations: so a file that is damaged, locked, of another version, not
writable, or gone is left as it is, and incidents are kept in memory until a person has checked. A
mark beside the file says that there was one.
"""

import contextlib
import os
from pathlib import Path

from accelwatch.alerting.incidents.journal.errors import (
    JournalDamagedError,
    JournalError,
    JournalVersionError,
)
from accelwatch.alerting.incidents.journal.opening_result import OpeningResult, not_opened
from accelwatch.alerting.incidents.journal.sqlite.file import FILE, open_file
from accelwatch.system.files.folder_lock import FLAGS, PRIVATE, lock_file

LOCK = "journal.lock"
MARKER_FILE = "journal.begun"
# File systems on which SQLite's locks and shared memory cannot be trusted (sqlite.org/useovernet).
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "afs", "ceph", "lustre"})


def open_in_folder(folder: Path, now: float) -> OpeningResult:
    """The journal of a folder."""
    kind = _file_system(folder)
    if kind in _NETWORK:
        return not_opened(
            f"{folder}: {kind} is not suitable for a journal; set state_dir to a local disk"
        )
    try:
        descriptor = lock_file(folder / LOCK)
    except BlockingIOError:
        return not_opened(f"{folder}: another process keeps its journal here")
    except OSError as error:
        why = f"{folder}: nothing can be kept here: {error.strerror}"
        return not_opened(why, "see that this user may write there, and restart")
    opened = _open(folder, now)
    if opened.file is None:
        os.close(descriptor)
        return opened
    return opened._replace(lock=descriptor)


def _open(folder: Path, now: float) -> OpeningResult:
    path, marker = folder / FILE, folder / MARKER_FILE
    existed = marker.exists()
    if existed and not path.exists():
        return not_opened(
            f"{path} is gone; restore it from a backup, or remove {marker.name} to begin a new one"
        )
    file = None
    try:
        file = open_file(path, had_journal=existed)
        loaded = file.load(now)
        file.prune(now)
        os.close(os.open(marker, FLAGS, PRIVATE))
    except (JournalError, OSError) as error:
        if file is not None:
            file.close()
        return not_opened(f"{error}; it is left as it is", _what_to_do(error, path, marker))
    return OpeningResult(file, loaded, "", None)


def _what_to_do(error: Exception, path: Path, marker: Path) -> str:
    if isinstance(error, JournalVersionError):
        return "start the version that wrote it"
    if isinstance(error, JournalDamagedError):
        return (
            f"put {path.name} back from a backup, or move it and {marker.name} away to start a new one, "
            "and restart"
        )
    return "see that this user may write there and that the disk has room, and restart"


def _file_system(folder: Path) -> str:
    """The type of the file system that a folder is on, as the kernel names it; empty if not known."""
    with contextlib.suppress(OSError):
        device = os.stat(folder).st_dev  # noqa: PTH116
        device_number = f"{os.major(device)}:{os.minor(device)}"
        for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
            fields, _, filesystem = line.partition(" - ")
            if fields.split()[2] == device_number and filesystem:
                return filesystem.split()[0]
    return ""
