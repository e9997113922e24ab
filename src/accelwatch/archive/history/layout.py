"""Where everything is in an archive, and which of its files count; knows no Parquet.

A day that is over is one file. Until then its rows are in parts below `_open/`, each of a closed span
of time that its name says. A part inside a longer one, or of a day that has its file, was merged and
does not count: the merging process was killed before it could remove it.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError

FORMAT = "accelwatch-history/1"
DESCRIPTION = "history.json"
DEVICES, NODES, EVENTS = "devices", "nodes", "events"
TABLES = (DEVICES, NODES, EVENTS)
JOBS, MAINTENANCE = "jobs.parquet", "maintenance.parquet"
OPEN = "_open"
# What a row group covers at most; a day has a whole number of them.
SPAN_MS = 3 * 3600 * 1000
DAY_MS = 24 * 3600 * 1000
_DAY = re.compile(r"date=(\d{4}-\d\d-\d\d)\.parquet")
_CHUNK = re.compile(r"(\d{1,15})-(\d{1,15})\.parquet")


class ArchiveError(AccelwatchError):
    """An archive cannot be read or written; the message names the file, and the row group if one."""


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """`history.json`; times in Unix seconds."""

    format: str = FORMAT
    interval_s: float
    start: float
    end: float
    source: str = ""


class Segment(NamedTuple):
    """A file of one table with the span it may cover, Unix milliseconds; `end` is not in it."""

    path: Path
    start: int
    end: int


def span_of(milliseconds: int) -> int:
    """When the span of a moment begins."""
    return milliseconds - milliseconds % SPAN_MS


def day_of(milliseconds: int) -> str:
    """The day of a moment in UTC: `2026-03-01`."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).date().isoformat()


def day_file(folder: Path, table: str, milliseconds: int) -> Path:
    """The file of the day of a moment."""
    return folder / table / f"date={day_of(milliseconds)}.parquet"


def chunk_file(folder: Path, table: str, start: int, end: int) -> Path:
    """A part of a day that is not over, or not merged yet."""
    return folder / table / OPEN / f"{start}-{end}.parquet"


def days(folder: Path, table: str) -> list[Segment]:
    """The files of whole days, oldest first. Raises ArchiveError."""
    existing = []
    for path in _files(folder / table):
        match = _DAY.fullmatch(path.name)
        if match is None:
            continue
        with contextlib.suppress(ValueError, OverflowError):
            start = _milliseconds(date.fromisoformat(match[1]))
            existing.append(Segment(path, start, start + DAY_MS))
    return sorted(existing, key=lambda segment: segment.start)


def chunks(folder: Path, table: str) -> list[Segment]:
    """All parts, oldest first, a longer one before those inside it."""
    existing = []
    for path in _files(folder / table / OPEN):
        match = _CHUNK.fullmatch(path.name)
        if match is not None and int(match[1]) < int(match[2]):
            existing.append(Segment(path, int(match[1]), int(match[2])))
    return sorted(existing, key=lambda segment: (segment.start, -segment.end))


def segments(folder: Path, table: str) -> list[Segment]:
    """The files that count, in order of time."""
    counted = days(folder, table)
    merged = {segment.start for segment in counted}
    end = 0
    for chunk in chunks(folder, table):
        if chunk.end > end and chunk.start - chunk.start % DAY_MS not in merged:
            counted.append(chunk)
            end = chunk.end
    return sorted(counted, key=lambda segment: segment.start)


def obsolete(folder: Path, table: str) -> Iterator[Path]:
    """Parts that were merged into something longer, and what a killed writer left half written."""
    counted = {segment.path for segment in segments(folder, table)}
    yield from (chunk.path for chunk in chunks(folder, table) if chunk.path not in counted)
    for directory in (folder / table, folder / table / OPEN):
        yield from (path for path in _files(directory) if path.name.startswith(".writing-"))


def _files(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_file()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ArchiveError(f"{folder}: cannot be listed: {error.strerror}") from error


def _milliseconds(day: date) -> int:
    return (day - date(1970, 1, 1)) // timedelta(milliseconds=1)


def describe(folder: Path) -> Description:
    """What `history.json` says. Raises ArchiveError."""
    path = folder / DESCRIPTION
    try:
        description = msgspec.json.decode(path.read_bytes(), type=Description)
    except FileNotFoundError as error:
        text = f"{folder}: no history archive: it has no {DESCRIPTION}"
        raise ArchiveError(text) from error
    except OSError as error:
        raise ArchiveError(f"{path}: cannot be read: {error.strerror}") from error
    except DECODE_ERRORS as error:
        raise ArchiveError(f"{path}: {error}") from error
    if description.format != FORMAT:
        text = f"{path}: format {description.format[:60]!r}; this version reads {FORMAT!r}"
        raise ArchiveError(text)
    if not 0 < description.interval_s < float("inf"):
        raise ArchiveError(f"{path}: interval_s is above 0, not {description.interval_s!r}")
    return description


def write_description(folder: Path, description: Description) -> None:
    """Replace `history.json`. Raises OSError."""
    replace(
        folder / DESCRIPTION,
        lambda path: _write(path, msgspec.json.encode(description) + b"\n"),
    )


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def replace(target: Path, write: Callable[[Path], None]) -> None:
    """A file under its name whole or not at all, and on the disk before it is called by it.

    Raises what `write` raises; then nothing is left behind.
    """
    temporary = target.parent / f".writing-{target.name}"
    try:
        temporary.unlink(
            missing_ok=True
        )  # what a killed writer left, or a link, which is not followed
        write(temporary)
        descriptor = os.open(temporary, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
