"""Which row groups a table has and what time each covers, from the footers of its files.

A footer is read when its file is first needed, so that a moment in a long archive costs one or two
of them. A file that cannot be read has no row groups, and stands in `faults`.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from accelwatch.archive.history.arrays import milliseconds
from accelwatch.archive.history.files import damaged, opened
from accelwatch.archive.history.layout import ArchiveError, Segment

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class RowGroup(NamedTuple):
    """One row group with its first and last moment, Unix milliseconds."""

    path: Path
    at: int
    first: int
    last: int
    rows: int


class RowGroups:
    """The row groups of one table in order of time."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._segments = sorted(segments, key=lambda segment: segment.start)
        self._starts = [segment.start for segment in self._segments]
        # The footer of a file is read once: a finished segment does not change.
        self._read: dict[Path, list[RowGroup]] = {}
        # What could not be read, and why.
        self.faults: dict[Path, str] = {}

    def __iter__(self) -> Iterator[RowGroup]:
        """All of them, oldest first."""
        for segment in self._segments:
            yield from self._of(segment)

    def __len__(self) -> int:
        """How many files there are."""
        return len(self._segments)

    def between(self, first: int, last: int) -> list[RowGroup]:
        """Those with a row from `first` to `last`, Unix milliseconds."""
        groups = []
        for segment in self._segments[: bisect_right(self._starts, last)]:
            if segment.end > first:
                its = self._of(segment)
                groups += [group for group in its if group.first <= last and group.last >= first]
        return groups

    def before(self, timestamp: int) -> Iterator[RowGroup]:
        """Those that begin at a moment or before it, newest first."""
        for segment in reversed(self._segments[: bisect_right(self._starts, timestamp)]):
            yield from (group for group in reversed(self._of(segment)) if group.first <= timestamp)

    def after(self, timestamp: int) -> Iterator[RowGroup]:
        """Those that have a row after a moment, oldest first."""
        start = max(bisect_left(self._starts, timestamp) - 1, 0)
        for segment in self._segments[start:]:
            yield from (group for group in self._of(segment) if group.last > timestamp)

    def span(self) -> tuple[int, int] | None:
        """The first and the last moment of all rows; None without any."""
        first = next(iter(self), None)
        if first is None:
            return None
        newest = (
            group for segment in reversed(self._segments) for group in self._of(segment)[::-1]
        )
        return first.first, next(newest).last

    def _of(self, segment: Segment) -> list[RowGroup]:
        cached = self._read.get(segment.path)
        if cached is None:
            try:
                cached = list(_footer(segment.path))
            except ArchiveError as error:
                cached = []
                self.faults[segment.path] = str(error)
            self._read[segment.path] = cached
        return cached


def _footer(path: Path) -> Iterator[RowGroup]:
    """Raises ArchiveError, also for a file that is no table of an archive."""
    with opened(path) as file:
        metadata = file.metadata
        names = file.schema_arrow.names
        if "time" not in names:
            raise damaged(path, ValueError("it has no column `time`"))
        column = [metadata.schema.column(at).path for at in range(metadata.num_columns)].index(
            "time"
        )
        for at in range(metadata.num_row_groups):
            group = metadata.row_group(at)
            if not group.num_rows:
                continue
            first, last = _extremes(group.column(column).statistics) or _read(file, path, at)
            yield RowGroup(path, at, first, last, group.num_rows)


def _extremes(statistics: Any) -> tuple[int, int] | None:
    """What a footer says of the times; None where it says nothing."""
    if statistics is None or not statistics.has_min_max:
        return None
    least, most = statistics.min, statistics.max
    if not isinstance(least, datetime) or not isinstance(most, datetime):
        return None
    return _unix_ms(least), _unix_ms(most)


def _unix_ms(timestamp: datetime) -> int:
    aware = timestamp if timestamp.tzinfo is not None else timestamp.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(milliseconds=1)


def _read(file: Any, path: Path, at: int) -> tuple[int, int]:
    try:
        times = milliseconds(file.read_row_group(at, columns=["time"], use_threads=False)["time"])
    except (pa.ArrowException, OSError, ValueError) as error:
        raise damaged(path, error, at) from error
    return int(times.min()), int(times.max())
