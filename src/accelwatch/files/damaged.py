"""State files that cannot be read are set aside beside their place and stay there until a person looks.

An emptied file, one that holds something else and one of another version are lost alike.
"""

import contextlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

SUFFIX = ".damaged"
_SET_ASIDE = re.compile(r".+\.damaged(-\d+)?")
"""With a number from the second of a name on."""
_MOST = 1000
"""Of one name; a file that is damaged after them stays where it is."""


def set_aside(path: Path, companions: Iterable[str] = ("",)) -> Path | None:
    """Move a file out of the way of the one that is begun anew; where it is then, or None if it stays.

    `companions` are endings of files that go with it, as SQLite's. Never raises, and replaces nothing
    that was set aside before.
    """
    aside = _free_name(path)
    if aside is None:
        return None
    try:
        for ending in companions:
            with contextlib.suppress(FileNotFoundError):
                Path(f"{path}{ending}").replace(f"{aside}{ending}")
    except OSError:
        return None
    return aside


def _free_name(path: Path) -> Path | None:
    for number in range(1, _MOST + 1):
        aside = path.with_name(f"{path.name}{SUFFIX}{f'-{number}' if number > 1 else ''}")
        if not os.path.lexists(aside):
            return aside
    return None


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
