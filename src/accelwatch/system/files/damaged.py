"""Unreadable state files are set aside in their folder and stay there until a person looks.

A file that is recreated anyway is set aside a few times only: its copies must not fill the disk. An
emptied file, one that holds something else and one of another version are lost alike.
"""

import contextlib
import errno
import os
import re
from collections.abc import Iterable
from pathlib import Path

SUFFIX = ".damaged"
# With a number from the second of a name on.
_SET_ASIDE = re.compile(r".+\.damaged(-\d+)?")
# Of one name; a file that is damaged after them stays where it is.
_MOST = 1000


def set_aside(path: Path, companions: Iterable[str] = ("",), *, most: int | None = None) -> Path:
    """Move a file out of the way of its successor; returns its new path. Raises OSError.

    `companions` are endings of files that go with it, as SQLite's. What was set aside before stays,
    but for the oldest where there are `most` of them then.
    """
    if most is not None:
        for old in _newest_first(path)[most - 1 :]:
            old.unlink(missing_ok=True)
    aside = _free_name(path)
    for suffix in companions:
        with contextlib.suppress(FileNotFoundError):
            Path(f"{path}{suffix}").replace(f"{aside}{suffix}")
    return aside


def _newest_first(path: Path) -> list[Path]:
    """The copies of a file that were set aside, by the time at which they were written."""
    pattern = re.compile(re.escape(path.name + SUFFIX) + r"(-\d+)?")
    copies = [other for other in path.parent.iterdir() if pattern.fullmatch(other.name)]
    return sorted(copies, key=lambda copy: copy.lstat().st_mtime, reverse=True)


def _free_name(path: Path) -> Path:
    for number in range(1, _MOST + 1):
        aside = path.with_name(f"{path.name}{SUFFIX}{f'-{number}' if number > 1 else ''}")
        if not os.path.lexists(aside):
            return aside
    raise FileExistsError(errno.EEXIST, f"{_MOST} files were set aside before", str(path))


def damaged_files(folder: Path | None) -> tuple[Path, ...]:
    """The files of a state folder, and of the folders in it, that were set aside.

    Of no folder, or one that is gone, none.
    """
    if folder is None:
        return ()
    with contextlib.suppress(OSError):
        candidates = (*folder.glob(f"*{SUFFIX}*"), *folder.glob(f"*/*{SUFFIX}*"))
        return tuple(sorted(path for path in candidates if _SET_ASIDE.fullmatch(path.name)))
    return ()
