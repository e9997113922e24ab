"""How much an archive may hold; what is oldest goes first."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import msgspec

from accelwatch.archive.history import layout
from accelwatch.archive.history.layout import TABLES, Segment


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """None: without end."""

    keep_s: float | None = None
    max_bytes: int | None = None


UNBOUNDED = Bounds()


def size_of(folder: Path) -> int:
    """Bytes of all files of an archive."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def enforce(folder: Path, bounds: Bounds, now: int) -> Iterator[str]:
    """Remove what is too old or too much, oldest days first; yields messages for people.

    `now` is in Unix milliseconds. Raises OSError.
    """
    by_day = _by_day(folder)
    if bounds.keep_s is not None:
        limit = now - int(bounds.keep_s * 1000)
        for day in [day for day in by_day if (day + 1) * layout.DAY_MS <= limit]:
            _remove(by_day.pop(day))
    if bounds.max_bytes is not None and size_of(folder) > bounds.max_bytes:
        yield from _shrink(folder, bounds.max_bytes, by_day)


def _by_day(folder: Path) -> dict[int, list[Segment]]:
    """The files that count, the oldest day first."""
    by_day: dict[int, list[Segment]] = {}
    for table in TABLES:
        for segment in layout.segments(folder, table):
            by_day.setdefault(segment.start // layout.DAY_MS, []).append(segment)
    return dict(sorted(by_day.items()))


def _shrink(folder: Path, max_bytes: int, by_day: dict[int, list[Segment]]) -> Iterator[str]:
    for damaged in folder.rglob("*.damaged"):
        damaged.unlink(missing_ok=True)
    for day in list(by_day)[:-1]:
        if size_of(folder) <= max_bytes:
            return
        _remove(by_day.pop(day))
    if size_of(folder) <= max_bytes:
        return
    yield f"{folder}: max_size is too small for a day; raise it"
    # What is left of this day are its newest parts.
    for segment in sorted(chain.from_iterable(by_day.values()), key=lambda segment: segment.end)[
        :-1
    ]:
        if size_of(folder) <= max_bytes:
            return
        _remove([segment])


def _remove(segments: list[Segment]) -> None:
    for segment in segments:
        segment.path.unlink(missing_ok=True)
