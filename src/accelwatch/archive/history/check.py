"""Reads an archive and names every mistake with file and row group."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from accelwatch.archive.history import layout
from accelwatch.archive.history.arrays import milliseconds, numbers, ranks
from accelwatch.archive.history.files import groups, opened
from accelwatch.archive.history.layout import (
    DAY_MS,
    DEVICES,
    EVENTS,
    JOBS,
    MAINTENANCE,
    OPEN,
    SPAN_MS,
    TABLES,
    ArchiveError,
    Segment,
)
from accelwatch.archive.history.names import KINDS, series_of
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.archive.history.tables import FIXED, ORDER
from accelwatch.schema.catalogue.lookup import by_key

# A row group covers about three hours.
_SPAN_LEAVE_MS = 5 * 60 * 1000
_GAP_INTERVALS = 3
_REQUIRED = {
    DEVICES: ("time", "node", "device"),
    "nodes": ("time", "node"),
    EVENTS: ("time", "node"),
}
_SHOWN = 5


class Finding(NamedTuple):
    """Something in an archive; `group` is the number of a row group in the file."""

    file: Path
    group: int | None
    text: str
    # False: readers cope with it, such as a column that this version does not know.
    mistake: bool


def check(
    folder: Path, on_progress: Callable[[float, float], None] = lambda _done, _total: None
) -> Iterator[Finding]:
    """All findings, file by file. Raises ArchiveError for what is no archive at all.

    `on_progress` gets how many files of how many were read.
    """
    archive = Archive(folder)
    total = sum(len(layout.segments(folder, table)) for table in TABLES)
    done = itertools.count(1)
    for table in TABLES:
        yield from _Check(archive, table).run(lambda: on_progress(next(done), total))
    for path, read in ((folder / JOBS, archive.jobs), (folder / MAINTENANCE, archive.maintenance)):
        try:
            rows: list[Any] = [*read()]
        except ArchiveError as error:
            yield Finding(path, None, str(error).removeprefix(f"{path}: "), True)
        else:
            for at, row in enumerate(rows):
                if row.end is not None and row.end < row.start:
                    yield Finding(path, None, f"row {at} ends before it starts", True)


class _Check:
    """One table."""

    def __init__(self, archive: Archive, table: str) -> None:
        self._folder = archive.folder
        self._table = table
        self._interval_ms = archive.description.interval_s * 1000
        # Last moment of the row groups so far.
        self._end = 0

    def run(self, on_progress: Callable[[], None]) -> Iterator[Finding]:
        """File by file; `on_progress` is called after each."""
        for segment in layout.segments(self._folder, self._table):
            yield from self._file(segment)
            on_progress()

    def _file(self, segment: Segment) -> Iterator[Finding]:
        try:
            with opened(segment.path) as file:
                schema = file.schema_arrow
        except ArchiveError as error:
            yield self._mistake(segment, None, str(error).removeprefix(f"{segment.path}: "))
            return
        columns = [*self._columns(segment, schema)]
        yield from columns
        if not any(finding.mistake for finding in columns):
            yield from self._groups(segment)

    def _columns(self, segment: Segment, schema: Any) -> Iterator[Finding]:
        names = Counter(schema.names)
        for name, count in names.items():
            if count > 1:
                yield self._mistake(segment, None, f"{count} columns are called {name}")
        for name in _REQUIRED[self._table]:
            if name not in names:
                yield self._mistake(segment, None, f"it has no column {name}")
        if "time" in names and not pa.types.is_timestamp(schema.field("time").type):
            kind = schema.field("time").type
            yield self._mistake(segment, None, f"time is a timestamp, not {kind}")
        if self._table != EVENTS:
            yield from self._quantities(segment, schema, names)

    def _quantities(self, segment: Segment, schema: Any, names: Counter[str]) -> Iterator[Finding]:
        for field in schema:
            if field.name in FIXED[self._table] or names[field.name] > 1:
                continue
            if series_of(field.name) is None:
                yield Finding(segment.path, None, _unknown(field.name), False)
            elif not (pa.types.is_integer(field.type) or pa.types.is_floating(field.type)):
                text = f"{field.name} is a column of numbers, not of {field.type}"
                yield self._mistake(segment, None, text)

    def _groups(self, segment: Segment) -> Iterator[Finding]:
        at = -1
        try:
            for at, rows in enumerate(groups(segment.path)):
                if len(rows):
                    yield from self._group(segment, at, rows)
        except ArchiveError as error:
            text = str(error).partition(": ")[2]
            yield self._mistake(segment, at + 1, text)

    def _group(self, segment: Segment, at: int, rows: Any) -> Iterator[Finding]:
        try:
            times = milliseconds(rows["time"])
        except ValueError as error:
            yield self._mistake(segment, at, str(error))
            return
        first, last = int(times.min()), int(times.max())
        if self._table != EVENTS or segment.path.parent.name != OPEN:
            yield from self._time_range(segment, at, first, last)
        yield from self._order(segment, at, rows, times)
        self._end = max(self._end, last)
        if self._table != EVENTS:
            yield from self._values(segment, at, rows)

    def _time_range(self, segment: Segment, at: int, first: int, last: int) -> Iterator[Finding]:
        if first < segment.start or last >= segment.end:
            what = "the day of its file" if segment.end - segment.start == DAY_MS else "its span"
            yield self._mistake(segment, at, f"rows are outside {what} (UTC)")
        if self._end and first <= self._end:
            text = (
                f"it begins at {_time_text(first)}, but those before go to {_time_text(self._end)}"
            )
            yield self._mistake(segment, at, text)
        elif self._end and self._table != EVENTS:
            gap = first - self._end
            if gap > _GAP_INTERVALS * self._interval_ms:
                text = f"nothing for {gap / 1000:.0f} s before {_time_text(first)}"
                yield Finding(segment.path, at, text, False)
        if last - first > SPAN_MS + _SPAN_LEAVE_MS and self._table != EVENTS:
            hours = (last - first) / 3_600_000
            text = f"it covers {hours:.1f} h; more than about three costs readers memory"
            yield self._mistake(segment, at, text)

    def _order(self, segment: Segment, at: int, rows: Any, times: Any) -> Iterator[Finding]:
        """Rows are by node, device, time; events by time."""
        if self._table == EVENTS:
            if (np.diff(times) < 0).any():
                yield self._mistake(segment, at, "events are not ordered by time")
            return
        names = ORDER[self._table]
        keys = [ranks(rows[name]) for name in names]
        key = np.lexsort((times, *reversed(keys)))
        if (np.diff(key) < 0).any():
            order = ", ".join([*names, "time"])
            yield self._mistake(segment, at, f"rows are not ordered by {order}")
        same = np.diff(times[key]) == 0
        for rank in keys:
            same &= np.diff(rank[key]) == 0
        if same.any():
            what = "device" if self._table == DEVICES else "node"
            text = f"{int(same.sum())} rows repeat the time of the same {what}"
            yield self._mistake(segment, at, text)

    def _values(self, segment: Segment, at: int, rows: Any) -> Iterator[Finding]:
        for name in rows.schema.names:
            if name in FIXED[self._table] or series_of(name) is None:
                continue
            values = numbers(rows[name])
            if np.isinf(values).any():
                yield self._mistake(segment, at, f"{name} is infinite in some rows")
            kind = by_key()[name.partition(".")[0]].kind
            if kind == "counter" and (values < 0).any():
                yield self._mistake(segment, at, f"{name} is a counter and below 0 in some rows")

    def _mistake(self, segment: Segment, group: int | None, text: str) -> Finding:
        return Finding(segment.path, group, text, True)


def _unknown(name: str) -> str:
    row = by_key().get(name.partition(".")[0])
    if row is None:
        return f"column {name[:80]}: no such quantity in this version; readers leave it out"
    if row.kind not in KINDS:
        return f"column {name[:80]}: {row.kind.value} quantities are not kept; readers leave it out"
    labels = ".".join(f"<{label}>" for label in row.labels)
    form = f"{row.key}.{labels}" if labels else row.key
    return f"column {name[:80]}: it is written {form}; readers leave it out"


def _time_text(milliseconds_: int) -> str:
    from datetime import UTC, datetime

    try:
        timestamp = datetime.fromtimestamp(milliseconds_ / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{milliseconds_} ms"
    return timestamp.strftime("%Y-%m-%d %H:%M:%SZ")
