"""Where what outlives a program is kept: systemd's folder, the system's, the user's."""

import os
from collections.abc import Mapping
from pathlib import Path

from accelwatch.system.files.file_rights import make_state_folder

SYSTEM_STATE = Path("/var/lib/accelwatch")


def systemd_state_folder(environ: Mapping[str, str]) -> Path | None:
    """The first folder of STATE_DIRECTORY, which systemd sets for a unit that has one."""
    first = environ.get("STATE_DIRECTORY", "").partition(":")[0]
    return Path(first) if first else None


def state_folders(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """The folders that are tried where none is configured, the first one first."""
    home = environ.get("XDG_STATE_HOME") or (
        f"{environ['HOME']}/.local/state" if environ.get("HOME") else ""
    )
    return (SYSTEM_STATE, *([Path(home) / "accelwatch"] if home else []))


def writable(folder: Path) -> bool:
    """Whether there is such a folder, made if need be, that this program may keep its state in."""
    try:
        make_state_folder(folder)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)
