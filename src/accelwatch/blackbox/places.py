"""Where black boxes of this machine are, and which file of them somebody means."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from accelwatch.blackbox.files import FOLDER, Frozen, Segment, frozen_files, segments
from accelwatch.errors import UnmetError, UsageError
from accelwatch.state_places import given_by_systemd, state_places

NOW = "now"
"""Means the ring as it is, rather than a frozen file."""


class Box(msgspec.Struct, frozen=True, kw_only=True):
    """A folder with what is in it; `lack` is why it cannot be read."""

    folder: Path
    frozen: tuple[Frozen, ...] = ()
    """Newest first."""
    ring: tuple[Segment, ...] = ()
    lack: str = ""


def folders(environ: Mapping[str, str], configured: str | None = None) -> tuple[Path, ...]:
    """Where agents and dashboards keep one, of which some need not exist."""
    known = [
        *([Path(configured)] if configured else []),
        *([given] if (given := given_by_systemd(environ)) else []),
        *state_places(environ),
    ]
    return tuple(dict.fromkeys(place / FOLDER for place in known))


def boxes(places: Iterable[Path]) -> list[Box]:
    """Those that exist."""
    known = []
    for place in places:
        try:
            box = Box(folder=place, frozen=tuple(frozen_files(place)), ring=tuple(segments(place)))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            box = Box(folder=place, lack=error.strerror or str(error))
        known.append(box)
    return known


def newest_first(known: Iterable[Box]) -> list[Frozen]:
    """The frozen files of all boxes; the place in this list, from 1, is what people call them by."""
    frozen = [one for box in known for one in box.frozen]
    return sorted(frozen, key=lambda one: (one.time, one.path.name), reverse=True)


def meant(which: str, known: list[Box]) -> Path:
    """The recording that is meant by a number, a name, a path, or `now`.

    Raises UsageError and UnmetError, which name what there is.
    """
    if which == NOW:
        return _ring_of(known)
    frozen = newest_first(known)
    if which.isascii() and which.isdecimal():
        if not 1 <= int(which) <= len(frozen):
            raise UnmetError(f"there is no frozen file {which}; {_there_are(frozen)}")
        return frozen[int(which) - 1].path
    named = [one.path for one in frozen if one.path.name == which]
    if named:
        return named[0]
    if Path(which).exists():
        return Path(which)
    raise UsageError(f"no frozen file and no recording {which!r}; {_there_are(frozen)}")


def _there_are(frozen: list[Frozen]) -> str:
    if not frozen:
        return f"nothing is frozen; `{NOW}` means the last minutes"
    return f"there are 1 to {len(frozen)}: accelwatch blackbox list"


def _ring_of(known: list[Box]) -> Path:
    """A pattern for the newest ring."""
    running = [box for box in known if box.ring]
    if not running:
        raise UnmetError("no black box is kept here; an agent keeps one, and a dashboard")
    newest = max(running, key=lambda box: box.ring[-1].begun)
    return newest.folder / "ring-*"
