"""Looks for folders by name in the tree of cgroups, with a bound on how many are read."""

import os
import re
from itertools import islice
from pathlib import Path

MAX_FOLDERS = 20_000


class CgroupTree:
    """One walk; when its bound is used up, further folders look empty."""

    def __init__(self, root: Path) -> None:
        self.top = root / "sys/fs/cgroup"
        self._left = MAX_FOLDERS

    @property
    def is_used_up(self) -> bool:
        """Whether some folders may not have been read."""
        return self._left <= 0

    def matching(
        self, folder: Path, name: re.Pattern[str], depth: int, skip: re.Pattern[str] | None = None
    ) -> list[Path]:
        """Folders of that name, at most `depth` levels below; not looking below a match or `skip`."""
        folders: list[Path] = []
        for entry in self.folders(folder):
            if name.fullmatch(entry.name):
                folders.append(entry)
            elif depth > 1 and not (skip and skip.fullmatch(entry.name)):
                folders += self.matching(entry, name, depth - 1, skip)
        return folders

    def folders(self, folder: Path) -> list[Path]:
        """Folders in a folder, by name; empty where it cannot be read."""
        try:
            with os.scandir(folder) as entries:
                folders = [Path(entry.path) for entry in entries if _is_folder(entry)]
        except OSError:
            return []
        folders = list(islice(sorted(folders), max(self._left, 0)))
        self._left -= len(folders)
        return folders


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False
