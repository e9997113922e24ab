"""Where black boxes of this machine are, and which of their files a user means."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from accelwatch.archive.blackbox.files import FOLDER, Frozen, Segment, frozen_files, segments
from accelwatch.base.errors import AccelwatchError, UnmetError, UsageError
from accelwatch.system.files.state_folders import state_folders, systemd_state_folder

# Means the ring as it is, rather than a frozen file.
NOW = "now"


class NothingKeptError(AccelwatchError):
    """No black box is here, or what is wanted of it is empty or may not be read."""


class Box(msgspec.Struct, frozen=True, kw_only=True):
    """A folder with what is in it; `lack` is why it cannot be read."""

    folder: Path
    # Newest first.
    frozen: tuple[Frozen, ...] = ()
    ring: tuple[Segment, ...] = ()
    lack: str = ""


def folders(environ: Mapping[str, str], configured: str | None = None) -> tuple[Path, ...]:
    """Where agents and dashboards keep one, of which some need not exist."""
    roots = [
        *([Path(configured)] if configured else []),
        *([provided] if (provided := systemd_state_folder(environ)) else []),
        *state_folders(environ),
    ]
    return tuple(dict.fromkeys(root / FOLDER for root in roots))


def boxes(paths: Iterable[Path]) -> list[Box]:
    """Those that exist."""
    existing = []
    for path in paths:
        try:
            box = Box(folder=path, frozen=tuple(frozen_files(path)), ring=tuple(segments(path)))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            box = Box(folder=path, lack=error.strerror or str(error))
        existing.append(box)
    return existing


def newest_first(existing: Iterable[Box]) -> list[Frozen]:
    """The frozen files of all boxes; people name them by their number in this list, from 1."""
    frozen = [file for box in existing for file in box.frozen]
    return sorted(frozen, key=lambda file: (file.time, file.path.name), reverse=True)


def has_content(existing: Iterable[Box]) -> bool:
    """Whether there is a ring, or anything frozen."""
    return any(box.ring or box.frozen for box in existing)


def lack_of(existing: list[Box], what: str = "nothing is frozen and the ring is empty") -> str:
    """Why there is nothing to show: no black box, one that may not be read, or `what`."""
    if unread := [f"{box.folder}: {box.lack}" for box in existing if box.lack]:
        return "\n".join(unread)
    if not existing:
        return "no black box is kept here; an agent keeps one, and a dashboard while it runs"
    return (
        f"{what} in {', '.join(str(box.folder) for box in existing)}; an agent or dashboard that runs "
        "fills it within seconds, or its log says why not"
    )


def meant(which: str, existing: list[Box]) -> Path:
    """The recording that is meant by a number, a name, a path, or `now`.

    Raises UsageError and UnmetError, which name what there is, NothingKeptError where nothing is.
    """
    if not which:  # a path that is empty would be this folder
        raise UsageError(
            "WHICH is empty; give a number or name of `accelwatch blackbox list`, a recording, "
            f"or `{NOW}`"
        )
    if which == NOW:
        return _ring_of(existing)
    frozen = newest_first(existing)
    if which.isascii() and which.isdecimal():
        if not has_content(existing):
            raise NothingKeptError(lack_of(existing))
        if not 1 <= int(which) <= len(frozen):
            raise UnmetError(f"there is no frozen file {which}; {_there_are(frozen)}")
        return frozen[int(which) - 1].path
    named = [file.path for file in frozen if file.path.name == which]
    if named:
        return named[0]
    if Path(which).exists():
        return Path(which)
    raise UsageError(f"no frozen file and no recording {which!r}; {_there_are(frozen)}")


def _there_are(frozen: list[Frozen]) -> str:
    if not frozen:
        return f"nothing is frozen; `{NOW}` means the last minutes"
    return f"there are 1 to {len(frozen)}: accelwatch blackbox list"


def _ring_of(existing: list[Box]) -> Path:
    """A pattern for the newest ring."""
    running = [box for box in existing if box.ring]
    if not running:
        raise NothingKeptError(lack_of(existing, "the ring is empty"))
    newest = max(running, key=lambda box: box.ring[-1].started)
    return newest.folder / "ring-*"
