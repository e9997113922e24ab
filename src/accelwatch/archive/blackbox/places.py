"""Where black boxes of this machine are, and which file of them somebody means."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from accelwatch.archive.blackbox.files import FOLDER, Frozen, Segment, frozen_files, segments
from accelwatch.base.errors import AccelwatchError, UnmetError, UsageError
from accelwatch.files.state_places import given_by_systemd, state_places

NOW = "now"
"""Means the ring as it is, rather than a frozen file."""


class NothingKeptError(AccelwatchError):
    """No black box is here, or what is wanted of it is empty or may not be read."""


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


def holds_any(known: Iterable[Box]) -> bool:
    """Whether there is a ring, or anything frozen."""
    return any(box.ring or box.frozen for box in known)


def lack_of(known: list[Box], what: str = "nothing is frozen and the ring is empty") -> str:
    """Why there is nothing to look at: no black box, one that may not be read, or `what`."""
    if unread := [f"{box.folder}: {box.lack}" for box in known if box.lack]:
        return "\n".join(unread)
    if not known:
        return "no black box is kept here; an agent keeps one, and a dashboard while it runs"
    return (
        f"{what} in {', '.join(str(box.folder) for box in known)}; an agent or dashboard that runs "
        "fills it within seconds, or its log says what hinders it"
    )


def meant(which: str, known: list[Box]) -> Path:
    """The recording that is meant by a number, a name, a path, or `now`.

    Raises UsageError and UnmetError, which name what there is, NothingKeptError where nothing is.
    """
    if not which:  # a path that is empty would be this folder
        raise UsageError(
            "WHICH is empty; give a number or name of `accelwatch blackbox list`, a recording, "
            f"or `{NOW}`"
        )
    if which == NOW:
        return _ring_of(known)
    frozen = newest_first(known)
    if which.isascii() and which.isdecimal():
        if not holds_any(known):
            raise NothingKeptError(lack_of(known))
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
        raise NothingKeptError(lack_of(known, "the ring is empty"))
    newest = max(running, key=lambda box: box.ring[-1].begun)
    return newest.folder / "ring-*"
