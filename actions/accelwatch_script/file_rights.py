"""Who could change a program before it is run: nobody but root and ourselves may."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from accelwatch.system.files.file_rights import changed_by_others, shown


def complaint(argv: Sequence[str], owners: frozenset[int]) -> str:
    """Why a command is not run, with the mend; empty when only `owners` (uids) can change it.

    Checked are the program and every regular file named by its absolute path among the arguments,
    such as an interpreter's script; the folders that lead there; and the same behind links.
    """
    for number, argument in enumerate(argv):
        if number > 0 and not (argument.startswith("/") and Path(argument).is_file()):
            continue
        if problem := _complaint(Path(argument), owners, program=number == 0):
            return problem
    return ""


def _complaint(path: Path, owners: frozenset[int], *, program: bool) -> str:
    try:
        real = path.resolve(strict=True)
        info = real.stat()
        if program and not stat.S_ISREG(info.st_mode):
            return f"{shown(path)}: not a file"
        if program and not os.access(real, os.X_OK):
            return f"{shown(path)}: cannot be executed; chmod 755 it"
        return changed_by_others(path, owners)
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "a loop of links"
        return f"{shown(path)}: {reason}"
