"""Events of an archive by time: those before a moment, the next one, and when they all were."""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from accelwatch.archive.history.arrays import Indices, Timestamps, milliseconds
from accelwatch.archive.history.files import damaged, opened
from accelwatch.archive.history.layout import EVENTS, ArchiveError
from accelwatch.archive.history.reading.reader import event_rows
from accelwatch.archive.history.reading.row_groups import RowGroup, RowGroups
from accelwatch.archive.history.rows import EventRow
from accelwatch.archive.history.tables import FIXED

# Rows of the row groups that stay in memory, beside the newest.
_CACHED_ROWS = 200_000


class _CachedEvents(NamedTuple):
    rows: Any
    # Ascending, Unix milliseconds.
    times: Timestamps
    # Where in `rows` each of them is.
    order: Indices


class EventSearch:
    """Reads row groups of events when they are needed, and keeps the last few."""

    def __init__(self, groups: RowGroups) -> None:
        self._groups = groups
        # Archives do not change, so a row group stays valid; the least recently used go beyond
        # _CACHED_ROWS.
        self._cached: OrderedDict[RowGroup, _CachedEvents] = OrderedDict()

    def until(self, timestamp: int, *, since: int, most: int) -> list[EventRow]:
        """The newest events from `since` to `timestamp` (Unix milliseconds), oldest first."""
        chunks: list[list[EventRow]] = []
        left = most
        for group in self._groups.before(timestamp):
            if left <= 0 or group.last < since:
                break
            cached = self._read(group)
            if cached is None:
                continue
            low, high = np.searchsorted(cached.times, [since, timestamp + 1])
            chosen = cached.order[max(low, high - left) : high]
            chunks.append(list(event_rows(cached.rows.take(pa.array(chosen)))))
            left -= len(chosen)
        return [event for chunk in reversed(chunks) for event in chunk]

    def following(self, timestamp: int) -> EventRow | None:
        """The first event after a moment."""
        for group in self._groups.after(timestamp):
            cached = self._read(group)
            if cached is None:
                continue
            at = int(np.searchsorted(cached.times, timestamp, side="right"))
            if at < len(cached.times):
                return self._row(cached, at)
        return None

    def preceding(self, timestamp: int) -> EventRow | None:
        """The last event before a moment."""
        for group in self._groups.before(timestamp):
            cached = self._read(group)
            if cached is None:
                continue
            at = int(np.searchsorted(cached.times, timestamp, side="left")) - 1
            if at >= 0:
                return self._row(cached, at)
        return None

    def times(self) -> Iterator[Timestamps]:
        """When all events were, a row group at a time; those that cannot be read are left out."""
        for group in self._groups:
            try:
                times = _times(group, _table(group, ["time"]))
            except ArchiveError as error:
                self._groups.faults.setdefault(group.path, str(error))
                continue
            yield times

    def _row(self, cached: _CachedEvents, at: int) -> EventRow:
        return next(event_rows(cached.rows.take(pa.array(cached.order[at : at + 1]))))

    def _read(self, group: RowGroup) -> _CachedEvents | None:
        """A row group's events; None where they cannot be read, which is noted."""
        cached = self._cached.get(group)
        if cached is None:
            try:
                rows = _table(group, list(FIXED[EVENTS]))
                times = _times(group, rows)
            except ArchiveError as error:
                self._groups.faults.setdefault(group.path, str(error))
                return None
            order = np.argsort(times, kind="stable")
            cached = self._cached[group] = _CachedEvents(rows, times[order], order)
            while (
                len(self._cached) > 1 and sum(entry.rows for entry in self._cached) > _CACHED_ROWS
            ):
                self._cached.popitem(last=False)
        self._cached.move_to_end(group)
        return cached


def _table(group: RowGroup, columns: list[str]) -> Any:
    with opened(group.path) as file:
        there = [name for name in columns if name in file.schema_arrow.names]
        try:
            return file.read_row_group(group.at, columns=there, use_threads=False)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise damaged(group.path, error, group.at) from error


def _times(group: RowGroup, rows: Any) -> Timestamps:
    try:
        return milliseconds(rows["time"])
    except (pa.ArrowException, ValueError) as error:
        raise damaged(group.path, error, group.at) from error
