"""State files that cannot be read are set aside beside their place and stay there until a person looks.

An emptied file, one that holds something else and one of another version are lost alike.
"""

import contextlib
import re
from pathlib import Path

SUFFIX = ".damaged"
_SET_ASIDE = re.compile(r".+\.damaged(-\d+)?")
"""With a number where several of one name are kept, as of an inventory."""


def set_aside(path: Path) -> Path:
    """Move a file out of the way of the one that is begun anew, and return where it is. Never raises."""
    aside = path.with_name(f"{path.name}{SUFFIX}")
    with contextlib.suppress(OSError):
        path.replace(aside)
    return aside


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
