"""Where an embedded hub keeps what it expects: a folder for each set of targets, used by one at a time.

Two fleets never share an inventory, nor does a dashboard share one with a hub that runs by itself: what
one of them expects would be missing in the other.
"""

import contextlib
import hashlib
import os
import shutil
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.state.inventory.file import FILE
from accelwatch.system.files.file_rights import make_state_folder
from accelwatch.system.files.folder_lock import lock_file
from accelwatch.system.files.sqlite_files import make_private, open_to_read

_LOCK = "lock"
# After this time a fleet that nobody opens any more is forgotten.
_UNUSED_S = 90 * 86400.0


class InventoryFolder(msgspec.Struct, frozen=True, kw_only=True):
    """Where the inventory is."""

    # None: in memory only.
    folder: Path | None
    # Why it is not kept, for people; empty when it is, or when nobody wanted it to be.
    remark: str = ""


def fleet_folder(settings: HubSettings, environ: Mapping[str, str]) -> Path | None:
    """The folder of these targets below the user's state directory; None where there is none."""
    home = environ.get("HOME")
    state = environ.get("XDG_STATE_HOME") or (f"{home}/.local/state" if home else "")
    if not state:
        return None
    identity = msgspec.json.encode(
        (settings.targets, settings.prometheus.url), order="deterministic"
    )
    name = hashlib.sha256(identity).hexdigest()[:16]
    return Path(state) / "accelwatch" / "fleets" / name


def acquire_folder(folder: Path | None, spare: Path, *, configured: bool) -> InventoryFolder:
    """The folder for this process alone, until it ends.

    When another dashboard has it, a copy in `spare` replaces it. A folder that was `configured` and
    cannot be used is an error; another is done without. Raises AccelwatchError.
    """
    if folder is None:
        return InventoryFolder(folder=None)
    try:
        make_state_folder(folder)
        free = _locked(folder)
    except OSError as error:
        text = f"{folder}: cannot keep the inventory: {error.strerror or error}"
        if configured:
            raise AccelwatchError(text) from error
        return InventoryFolder(folder=None, remark=text)
    if free:
        if not configured:
            _tidy(folder)
        return InventoryFolder(folder=folder)
    remark = "another dashboard follows these targets: what is acknowledged here is not kept"
    return InventoryFolder(folder=_copied(folder, spare), remark=remark)


def _locked(folder: Path) -> bool:
    """Whether the lock was free and is ours now. The descriptor is left open on purpose."""
    try:
        lock = lock_file(folder / _LOCK)
    except BlockingIOError:
        return False
    os.utime(lock)
    return True


def _tidy(folder: Path) -> None:
    """Remove other fleets' folders that have not been used for long."""
    for other in folder.parent.iterdir():
        with contextlib.suppress(OSError):
            age_s = time.time() - (other / _LOCK).stat().st_mtime
            if other != folder and age_s > _UNUSED_S and _locked(other):
                shutil.rmtree(other)


def _copied(folder: Path, spare: Path) -> Path | None:
    """What is expected there, copied as it is now."""
    try:
        make_private(spare / FILE)
        with (
            contextlib.closing(open_to_read(folder / FILE)) as original,
            contextlib.closing(sqlite3.connect(spare / FILE)) as copy,
        ):
            original.backup(copy)
    except sqlite3.Error:
        return None
    return spare
