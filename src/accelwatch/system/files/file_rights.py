"""Who could change a file or folder before it is used, and what to do about it.

A program that is run, or the state folder of root, must be safe from everybody but root and ourselves. A
file that is read is refused where everybody can write it: who writes the configuration acts as we do.
"""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from accelwatch.base.errors import ConfigError
from accelwatch.base.untrusted_text import escaped

# Mode bits that let users besides the owner write.
GROUP_OR_OTHERS = stat.S_IWGRP | stat.S_IWOTH
# The map of user ids outside of user namespaces (user_namespaces(7)).
ALL_UIDS = ["0", "0", "4294967295"]


def changed_by_others(path: Path, owners: frozenset[int]) -> str:
    """Who else can change what a path leads to, with what to do; empty when only `owners` (uids) can.

    Checked are the file itself, the folders that lead there, and the same behind links.
    In a user namespace, a folder that leads there may belong to a user that the namespace does not know.
    Raises OSError, or RuntimeError for a loop of links.
    """
    real = path.resolve(strict=True)
    trusted = owners | _unmapped_uids()
    for entry in _leading_to(path.absolute(), real):
        file_status = entry.stat()
        if file_status.st_uid not in (owners if entry == real else trusted):
            return f"{shown(entry)}: belongs to uid {file_status.st_uid}; give it to root"
        if file_status.st_mode & GROUP_OR_OTHERS and not (
            _is_sticky(file_status) and entry != real
        ):
            return f"{shown(entry)}: its group or others may write to it; chmod go-w it"
    return ""


def written_by_everybody(path: Path, status: os.stat_result) -> str:
    """Why a file that was opened, with its status, is not to be believed; empty when it is.

    Only regular files are checked: a pipe or a device has nobody who could have changed it before.
    Nobody writes to what is mounted read-only, as Kubernetes mounts its ConfigMaps, whatever its mode.
    """
    if not stat.S_ISREG(status.st_mode):
        return ""
    real = Path(os.path.realpath(path))
    for entry in _leading_to(path.absolute(), real):
        file_status = status if entry == real else entry.stat()
        if (
            file_status.st_mode & stat.S_IWOTH
            and not _is_sticky(file_status)
            and not is_read_only(entry)
        ):
            return (
                f"everybody may write to {shown(entry)}; chmod o-w {shown(entry)}, "
                "or in a container mount the volume readOnly"
            )
    return ""


def check_not_open(*paths: str) -> None:
    """Raise ConfigError for a file that everybody may write to, before another library reads it.

    Empty names are passed over; the library that opens a missing file reports it.
    """
    for path in map(Path, filter(None, paths)):
        try:
            unsafe = written_by_everybody(path, path.stat())
        except OSError:
            continue
        if unsafe:
            raise ConfigError(f"{shown(path)}: {unsafe}")


class UnsafeFolderError(PermissionError):
    """Root must not keep state in this folder."""


def make_state_folder(folder: Path) -> None:
    """Make a folder for state, if need be. Raises OSError, UnsafeFolderError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if why := unsafe_for_state(folder):
        raise UnsafeFolderError(errno.EPERM, why)


def unsafe_for_state(folder: Path) -> str:
    """Why root must not keep state in a folder; empty where it may, or where there is none yet.

    Another user who may write there could put a link where root writes next, and undo what was decided.
    """
    if os.geteuid() != 0:
        return ""
    try:
        why = changed_by_others(folder, frozenset({0}))
    except (OSError, RuntimeError):
        return ""  # the caller that uses it reports what is wrong
    if not why:
        return ""
    return (
        f"root keeps no state where others may write: {why}; where it is a container's volume, "
        "run as another user (--user 65532, runAsUser), or use a hostPath that only root may write to"
    )


def shown(path: Path) -> str:
    """A path for people."""
    return escaped(str(path))


def _leading_to(path: Path, real: Path) -> Iterator[Path]:
    yield real
    yield from real.parents
    if path != real:
        yield from path.parents


def _unmapped_uids() -> frozenset[int]:
    """The user id that stands for every unmapped user of a user namespace; none outside of one."""
    try:
        if Path("/proc/self/uid_map").read_text().split() == ALL_UIDS:
            return frozenset()
        return frozenset({int(Path("/proc/sys/kernel/overflowuid").read_text())})
    except (OSError, ValueError):
        return frozenset()


def _is_sticky(file_status: os.stat_result) -> bool:
    """Whether it is a folder in which nobody replaces what belongs to others."""
    return stat.S_ISDIR(file_status.st_mode) and bool(file_status.st_mode & stat.S_ISVTX)


def is_read_only(path: Path) -> bool:
    """Whether nobody writes there, as Kubernetes mounts ConfigMaps and secrets. Raises OSError."""
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
