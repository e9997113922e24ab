"""The folder of a black box: names of ring segments and frozen files, who may write, what is there.

A segment is `ring-NUMBER-MILLISECONDS-BOOT.ndjson.zst`, a frozen file `20260301T031207Z-nvidia3-lost
.ndjson.zst`: the name says what the file is, so there is no index that could be wrong.
"""

import contextlib
import datetime
import os
import re
from pathlib import Path

import msgspec

from accelwatch.archive.blackbox.triggers import Trigger
from accelwatch.archive.recording.layout import PARTIAL_SUFFIX
from accelwatch.system.files.folder_lock import lock_file

# Within the state folder.
FOLDER = "blackbox"
SUFFIX = ".ndjson.zst"
_LOCK = "lock"
_SEGMENT = re.compile(r"ring-(\d{1,12})-(\d{1,15})-([0-9a-z]*)\.ndjson\.zst(\.part)?")
_FROZEN = re.compile(r"(\d{8}T\d{6}Z)-([0-9a-z_.+]*)-([0-9a-z_.+]+)(?:-(\d{1,4}))?\.ndjson\.zst")
_STAMP = "%Y%m%dT%H%M%SZ"
_UNFIT = re.compile(r"[^0-9a-z_.+]+")
_LONGEST = 48


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """One file of the ring. `started` in Unix seconds; `left` when its writer was killed."""

    path: Path
    number: int
    started: float
    boot: str
    left: bool
    bytes: int


class Frozen(msgspec.Struct, frozen=True, kw_only=True):
    """One frozen file; `time` is that of what froze it, Unix seconds."""

    path: Path
    time: float
    # Empty: the machine.
    device: str
    reason: str
    bytes: int


def segments(folder: Path) -> list[Segment]:
    """The ring, oldest first. Raises OSError."""
    existing = []
    for path, size in _files(folder):
        if match := _SEGMENT.fullmatch(path.name):
            existing.append(
                Segment(
                    path=path,
                    number=int(match[1]),
                    started=int(match[2]) / 1000,
                    boot=match[3],
                    left=match[4] is not None,
                    bytes=size,
                )
            )
    return sorted(existing, key=lambda segment: (segment.number, segment.left))


def segment_path(folder: Path, number: int, started: float, boot: str) -> Path:
    """Where a segment is written."""
    return folder / f"ring-{number}-{max(int(started * 1000), 0)}-{short_boot(boot)}{SUFFIX}"


def short_boot(boot_id: str) -> str:
    """As much of a boot's id as identifies it."""
    return boot_id.replace("-", "")[:8].lower()


def frozen_files(folder: Path) -> list[Frozen]:
    """What is frozen, newest first. Raises OSError."""
    existing = []
    for path, size in _files(folder):
        if frozen := frozen_by_name(path, size):
            existing.append(frozen)
    return sorted(existing, key=lambda file: (file.time, file.path.name), reverse=True)


def frozen_by_name(path: Path, size: int) -> Frozen | None:
    """The frozen file that a name describes; None for the name of another file."""
    match = _FROZEN.fullmatch(path.name)
    if match is None:
        return None
    try:
        parsed = datetime.datetime.strptime(match[1], _STAMP).replace(tzinfo=datetime.UTC)
    except ValueError:
        return None
    return Frozen(path=path, time=parsed.timestamp(), device=match[2], reason=match[3], bytes=size)


def froze(device: str, frozen: Frozen) -> bool:
    """Whether a device, by its name on the machine, is what froze a file; nothing: the machine."""
    return frozen.device == _fit(device)


def frozen_path(folder: Path, trigger: Trigger) -> Path:
    """A free name for what a trigger freezes."""
    stamp = datetime.datetime.fromtimestamp(trigger.time, datetime.UTC).strftime(_STAMP)
    stem = f"{stamp}-{_fit(trigger.device)}-{_fit(trigger.reason) or 'event'}"
    names = [stem, *(f"{stem}-{number}" for number in range(2, 100))]
    paths = [folder / f"{name}{SUFFIX}" for name in names]
    return next((path for path in paths if not path.exists()), paths[-1])


def _fit(text: str) -> str:
    return _UNFIT.sub("_", text.lower())[:_LONGEST]


def _files(folder: Path) -> list[tuple[Path, int]]:
    """Regular files, not links, with their sizes."""
    existing = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                if entry.is_file(follow_symlinks=False):
                    existing.append((Path(entry.path), entry.stat(follow_symlinks=False).st_size))
    return existing


def lock(folder: Path) -> int | None:
    """A descriptor that keeps others from writing; None where another process has it. Raises OSError."""
    try:
        return lock_file(folder / _LOCK)
    except BlockingIOError:
        return None


def partial_path(path: Path) -> Path:
    """The name of a file while it is written."""
    return path.with_name(path.name + PARTIAL_SUFFIX)
