"""Who could change a program before it is run: nobody but root and ourselves may."""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from accelwatch.untrusted_text import escaped

_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def complaint(argv: Sequence[str], owners: frozenset[int]) -> str:
    """Why a command is not run, with the mend; empty when only `owners` (uids) can change it.

    Looked at are the program and every regular file named by its absolute path among the arguments,
    such as an interpreter's script; the folders that lead there; and the same behind links.
    """
    for number, word in enumerate(argv):
        if number > 0 and not (word.startswith("/") and Path(word).is_file()):
            continue
        if said := _complaint(Path(word), owners, program=number == 0):
            return said
    return ""


def _complaint(path: Path, owners: frozenset[int], *, program: bool) -> str:
    try:
        real = path.resolve(strict=True)
        found = real.stat()
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "a loop of links"
        return f"{_shown(path)}: {reason}"
    if program and not stat.S_ISREG(found.st_mode):
        return f"{_shown(path)}: is no file"
    if program and not os.access(real, os.X_OK):
        return f"{_shown(path)}: cannot be executed; chmod 755 it"
    for place in _leading_to(path, real):
        if said := _changeable(place, owners):
            return said
    return ""


def _leading_to(path: Path, real: Path) -> Iterator[Path]:
    yield real
    yield from real.parents
    if path != real:
        yield from path.parents


def _changeable(place: Path, owners: frozenset[int]) -> str:
    try:
        found = place.stat()
    except OSError as error:
        return f"{_shown(place)}: {error.strerror}"
    if found.st_uid not in owners:
        return f"{_shown(place)}: belongs to uid {found.st_uid}; give it to root"
    # In a folder with the sticky bit nobody replaces what belongs to others.
    sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
    if found.st_mode & _OTHERS and not sticky:
        return f"{_shown(place)}: its group or others may write to it; chmod go-w it"
    return ""


def _shown(path: Path) -> str:
    return escaped(str(path))
