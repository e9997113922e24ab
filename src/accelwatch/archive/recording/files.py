"""Which files a name means: a file, the one that is still being written, a folder, or a pattern."""

import glob
from pathlib import Path

from accelwatch.archive.recording.layout import PARTIAL_SUFFIX, is_recording
from accelwatch.archive.recording.window import Window
from accelwatch.base.errors import AccelwatchError, UsageError

_MAX_FILES = 256
# How much of a file says what it is.
_HEAD = 4096


def windows(path: Path) -> list[Window]:
    """The files, open. Raises UsageError for a name without a file, AccelwatchError for unreadable ones.

    A folder or pattern gives the files that begin as a recording does; links are not followed.
    """
    if path.is_dir():
        return _several(sorted(path.iterdir()), path)
    if path.exists():
        return [Window(path)]
    partial = path.with_name(path.name + PARTIAL_SUFFIX)
    if partial.exists():
        return [Window(partial)]
    if glob.has_magic(str(path)):
        return _several(_matching(path), path)
    raise UsageError(f"no recording {str(path)!r}")


def may_be_recording(path: Path) -> bool:
    """Whether a name is of snapshots, not of a scenario; folders, patterns and what is not there are."""
    if not path.is_file():
        return True
    with path.open("rb") as file:
        return is_recording(file.read(_HEAD))


def names_recording(path: Path) -> bool:
    """Whether there is something to open under a name: a file, FILE.part, a folder, a match."""
    if path.exists() or path.with_name(path.name + PARTIAL_SUFFIX).exists():
        return True
    try:
        return glob.has_magic(str(path)) and bool(_matching(path))
    except UsageError:
        return False


def _matching(pattern: Path) -> list[Path]:
    try:
        return sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))))
    except ValueError as error:
        raise UsageError(f"{str(pattern)!r} is not a valid pattern: {error}") from error


def _several(paths: list[Path], requested: Path) -> list[Window]:
    opened: list[Window] = []
    try:
        for path in paths:
            if path.is_symlink() or not path.is_file():
                continue
            window = Window(path, follow=False)
            if not is_recording(window.read(0, _HEAD)):
                window.close()
                continue
            opened.append(window)
            if len(opened) > _MAX_FILES:
                raise AccelwatchError(f"{requested} names more than {_MAX_FILES} recordings")
    except BaseException:
        for window in opened:
            window.close()
        raise
    if not opened:
        raise UsageError(f"no recording in {str(requested)!r}")
    return opened


def older_files(path: Path) -> int:
    """How many finished files of the same recording are beside a file."""
    count = 0
    while path.with_name(f"{path.name}.{count + 1}").is_file():
        count += 1
    return count
