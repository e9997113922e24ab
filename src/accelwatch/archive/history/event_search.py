"""Events of an archive by time: those before a moment, the next one, and when they all were."""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from accelwatch.archive.history.arrays import Moments, Places, milliseconds
from accelwatch.archive.history.files import damaged, opened
from accelwatch.archive.history.layout import EVENTS, ArchiveError
from accelwatch.archive.history.reader import event_rows
from accelwatch.archive.history.row_groups import RowGroup, RowGroups
from accelwatch.archive.history.rows import EventRow
from accelwatch.archive.history.tables import FIXED

_HELD_ROWS = 200_000
"""Rows of the row groups that stay in memory, beside the newest."""


class _Held(NamedTuple):
    rows: Any
    times: Moments
    """Ascending, Unix milliseconds."""
    order: Places
    """Where in `rows` each of them is."""


class EventSearch:
    """Reads row groups of events when they are needed, and keeps the last few."""

    def __init__(self, groups: RowGroups) -> None:
        self._groups = groups
        self._held: OrderedDict[RowGroup, _Held] = OrderedDict()

    def until(self, moment: int, *, since: int, most: int) -> list[EventRow]:
        """The newest events from `since` to `moment` (Unix milliseconds), oldest first."""
        parts: list[list[EventRow]] = []
        left = most
        for group in self._groups.before(moment):
            if left <= 0 or group.last < since:
                break
            held = self._read(group)
            if held is None:
                continue
            low, high = np.searchsorted(held.times, [since, moment + 1])
            chosen = held.order[max(low, high - left) : high]
            parts.append(list(event_rows(held.rows.take(pa.array(chosen)))))
            left -= len(chosen)
        return [event for part in reversed(parts) for event in part]

    def following(self, moment: int) -> EventRow | None:
        """The first event after a moment."""
        for group in self._groups.after(moment):
            held = self._read(group)
            if held is None:
                continue
            at = int(np.searchsorted(held.times, moment, side="right"))
            if at < len(held.times):
                return self._row(held, at)
        return None

    def preceding(self, moment: int) -> EventRow | None:
        """The last event before a moment."""
        for group in self._groups.before(moment):
            held = self._read(group)
            if held is None:
                continue
            at = int(np.searchsorted(held.times, moment, side="left")) - 1
            if at >= 0:
                return self._row(held, at)
        return None

    def times(self) -> Iterator[Moments]:
        """When all events were, a row group at a time; those that cannot be read are left out."""
        for group in self._groups:
            try:
                times = _times(group, _table(group, ["time"]))
            except ArchiveError as error:
                self._groups.faults.setdefault(group.path, str(error))
                continue
            yield times

    def _row(self, held: _Held, at: int) -> EventRow:
        return next(event_rows(held.rows.take(pa.array(held.order[at : at + 1]))))

    def _read(self, group: RowGroup) -> _Held | None:
        """A row group's events; None where they cannot be read, which is noted."""
        held = self._held.get(group)
        if held is None:
            try:
                rows = _table(group, list(FIXED[EVENTS]))
                times = _times(group, rows)
            except ArchiveError as error:
                self._groups.faults.setdefault(group.path, str(error))
                return None
            order = np.argsort(times, kind="stable")
            held = self._held[group] = _Held(rows, times[order], order)
            while len(self._held) > 1 and sum(one.rows for one in self._held) > _HELD_ROWS:
                self._held.popitem(last=False)
        self._held.move_to_end(group)
        return held


def _table(group: RowGroup, columns: list[str]) -> Any:
    with opened(group.path) as file:
        there = [name for name in columns if name in file.schema_arrow.names]
        try:
            return file.read_row_group(group.at, columns=there, use_threads=False)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise damaged(group.path, error, group.at) from error


def _times(group: RowGroup, rows: Any) -> Moments:
    try:
        return milliseconds(rows["time"])
    except (pa.ArrowException, ValueError) as error:
        raise damaged(group.path, error, group.at) from error
