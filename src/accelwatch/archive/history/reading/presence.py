"""From when to when each entity of an archive has rows: who is expected, and where data is missing.

Only times and names are read, one row group after the other, so that memory does not grow with the rows.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from accelwatch.archive.history.arrays import Indices, Timestamps, coded, milliseconds
from accelwatch.archive.history.files import damaged, opened
from accelwatch.archive.history.layout import DEVICES
from accelwatch.archive.history.reading.row_groups import RowGroup
from accelwatch.schema.renamed import current_id

# Node and device; of a host the device is empty.
Entity = tuple[str, str]


class LastSeen(NamedTuple):
    """When entities last had rows, up to some moment."""

    entities: list[Entity]
    # By entity, Unix milliseconds; -1 for an entity without rows before.
    last: Timestamps


class Presence:
    """Spans with rows by entity; a pause up to `gap_ms` does not end one.

    Row groups may come in any order; in order of time, what goes on makes one span.
    """

    def __init__(self, gap_ms: int) -> None:
        self._gap = gap_ms
        self.entities: list[Entity] = []
        # By entity; empty for a host.
        self.models: list[str] = []
        self._numbers: dict[Entity, int] = {}
        # Where in the lists the last span of each entity is.
        self._open: dict[int, int] = {}
        self._entity: list[int] = []
        self._first: list[int] = []
        self._last: list[int] = []

    def add(self, table: str, group: RowGroup) -> None:
        """Add a row group. Raises ArchiveError."""
        try:
            for entity, model, first, last in _spans(table, group, self._gap):
                self._add_span(entity, model, first, last)
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            raise damaged(group.path, error, group.at) from error

    def _add_span(self, entity: Entity, model: str, first: int, last: int) -> None:
        number = self._numbers.get(entity)
        if number is None:
            number = self._numbers[entity] = len(self.entities)
            self.entities.append(entity)
            self.models.append(model)
        index = self._open.get(number)
        follows = index is not None and first >= self._first[index]
        if index is not None and follows and first - self._last[index] <= self._gap:
            self._last[index] = max(self._last[index], last)
            return
        self._open[number] = len(self._entity)
        self._entity.append(number)
        self._first.append(first)
        self._last.append(last)

    def last_seen(self, timestamp: int, since: int = 0) -> LastSeen:
        """When each entity last had rows between `since` and a moment, Unix milliseconds."""
        last = np.full(len(self.entities), -1, dtype=np.int64)
        first = np.array(self._first, dtype=np.int64)
        started = np.flatnonzero(first <= timestamp)
        until = np.minimum(np.array(self._last, dtype=np.int64)[started], timestamp)
        np.maximum.at(last, np.array(self._entity, dtype=np.intp)[started], until)
        last[last < since] = -1
        return LastSeen(self.entities, last)

    def silences(self) -> list[tuple[int, int]]:
        """From when to when no data, Unix milliseconds."""
        if not self._first:
            return []
        order = np.argsort(self._first, kind="stable")
        first = np.array(self._first, dtype=np.int64)[order]
        reached = np.maximum.accumulate(np.array(self._last, dtype=np.int64)[order])
        at = np.flatnonzero(first[1:] - reached[:-1] > self._gap)
        return [(int(reached[index]), int(first[index + 1])) for index in at]


def _spans(table: str, group: RowGroup, gap: int) -> list[tuple[Entity, str, int, int]]:
    names = ["time", "node", *(["device", "model"] if table == DEVICES else [])]
    with opened(group.path) as file:
        there = [name for name in names if name in file.schema_arrow.names]
        rows = file.read_row_group(group.at, columns=there, use_threads=False)
    times = milliseconds(rows["time"])
    nodes, node_at = coded(rows["node"])
    devices, device_at = coded(rows["device"]) if "device" in there else ([""], _zeros(times))
    models, model_at = coded(rows["model"]) if "model" in there else ([""], _zeros(times))
    whose = node_at.astype(np.int64) * len(devices) + device_at
    order = _order(whose, times)
    whose, times = whose[order], times[order]
    edges = np.flatnonzero((np.diff(whose) != 0) | (np.diff(times) > gap)) + 1
    starts = np.concatenate([np.zeros(1, dtype=np.intp), edges])
    stops = np.concatenate([edges - 1, np.array([len(times) - 1])])
    rows_at = order[starts]
    return [
        (
            (nodes[node_at[row]], current_id(devices[device_at[row]])),
            models[model_at[row]],
            int(first),
            int(last),
        )
        for row, first, last in zip(rows_at, times[starts], times[stops], strict=True)
    ]


def _zeros(times: Timestamps) -> Indices:
    return np.zeros(len(times), dtype=np.intp)


def _order(whose: npt.NDArray[np.int64], times: Timestamps) -> Indices:
    """By entity, then time; mostly the rows are so already, but for the numbers of the names."""
    changed = np.diff(whose) != 0
    runs = int(changed.sum()) + 1
    rising = bool(np.all((np.diff(times) >= 0) | changed))
    if rising and runs == len(np.unique(whose)):
        return np.arange(len(times), dtype=np.intp)
    return np.lexsort((times, whose))
