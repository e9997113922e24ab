"""Samples of one table in order of time: row groups as arrays, or the newest sample of each interval."""

from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from accelwatch.archive.history import layout
from accelwatch.archive.history.arrays import (
    Floats,
    Indices,
    Timestamps,
    coded,
    milliseconds,
    numbers,
)
from accelwatch.archive.history.files import check_size, damaged, groups, opened
from accelwatch.archive.history.layout import DEVICES, ArchiveError
from accelwatch.archive.history.names import series_of
from accelwatch.archive.history.tables import FIXED
from accelwatch.schema.metrics import Series
from accelwatch.schema.renamed import current_id

_EVER, _FOREVER = -(1 << 62), 1 << 62
_COLUMNS_AT_ONCE = 8


class Entity(NamedTuple):
    """A device, or a node where `device` is empty."""

    node: str
    device: str = ""
    model: str = ""


class Group(NamedTuple):
    """The rows of a row group, ordered by time."""

    # Unix milliseconds.
    times: Timestamps
    # Number of each row's entity in `Samples.entities`.
    entity: Indices
    # NaN where a quantity was absent.
    columns: dict[Series, Floats]


class Frame(NamedTuple):
    """What one interval says of a table's entities; arrays are by number of the entity."""

    # Whether a sample arrived.
    present: npt.NDArray[np.bool_]
    # Timestamp of the newest sample, Unix milliseconds; 0 where there is none.
    times: Timestamps
    # NaN where absent; a series without values is not in it.
    columns: dict[Series, Floats]


class Samples:
    """Samples of one table; entities are numbered as they are met and keep their number."""

    def __init__(
        self, folder: Path, table: str, requested: Collection[Series] | None = None
    ) -> None:
        """All quantities when none is `requested`; `(key,)` stands for every series of a quantity."""
        self._folder = folder
        self._table = table
        self._requested = None if requested is None else frozenset(requested)
        self.entities: list[Entity] = []
        self._numbers: dict[tuple[str, str], int] = {}

    def groups(self, start: float = 0.0, end: float = float("inf")) -> Iterator[Group]:
        """Row groups with rows from `start` up to before `end` (Unix seconds). Raises ArchiveError."""
        low, high = int(start * 1000), int(min(end * 1000, 1e15))
        for segment in layout.segments(self._folder, self._table):
            if segment.end > low and segment.start < high:
                chosen = self._columns(segment.path)
                for at, rows in enumerate(groups(segment.path, [*FIXED[self._table], *chosen])):
                    try:
                        group = self._group(rows, chosen, low, high)
                    except (pa.ArrowException, ValueError, KeyError) as error:
                        raise damaged(segment.path, error, at) from error
                    if len(group.times):
                        yield group

    def _columns(self, path: Path) -> dict[str, Series]:
        with opened(path) as file:
            names = file.schema_arrow.names
        columns = {name: series_of(name) for name in names}
        return {
            name: series
            for name, series in columns.items()
            if series is not None and self._is_requested(series)
        }

    def _is_requested(self, series: Series) -> bool:
        requested = self._requested
        return requested is None or series in requested or series[:1] in requested

    def read(self, path: Path, at: int) -> Group:
        """A whole row group. Raises ArchiveError."""
        chosen = self._columns(path)
        with opened(path) as file:
            there = [name for name in FIXED[self._table] if name in file.schema_arrow.names]
            check_size(file, path, at, len(there) + len(chosen))
            try:
                rows = file.read_row_group(at, columns=[*there, *chosen], use_threads=False)
                return self._group(rows, chosen, _EVER, _FOREVER)
            except (pa.ArrowException, OSError, ValueError, KeyError) as error:
                raise damaged(path, error, at) from error

    def read_node(self, path: Path, at: int, node: str) -> Group:
        """The rows of one node in a row group, a few columns at a time. Raises ArchiveError."""
        chosen = self._columns(path)
        with opened(path) as file:
            there = [name for name in FIXED[self._table] if name in file.schema_arrow.names]
            try:
                rows = file.read_row_group(at, columns=there, use_threads=False)
                names, node_at = coded(rows["node"])
                mine = np.flatnonzero(np.array([name == node for name in names])[node_at])
                rows = rows.take(pa.array(mine))
                for chunk in batched(chosen, _COLUMNS_AT_ONCE):
                    more = file.read_row_group(at, columns=list(chunk), use_threads=False)
                    more = more.take(pa.array(mine))
                    for name in chunk:
                        rows = rows.append_column(name, more[name])
                return self._group(rows, chosen, _EVER, _FOREVER)
            except (pa.ArrowException, OSError, ValueError, KeyError) as error:
                raise damaged(path, error, at) from error

    def _group(self, rows: Any, chosen: dict[str, Series], low: int, high: int) -> Group:
        times = milliseconds(rows["time"])
        order = np.argsort(times, kind="stable")
        first, last = np.searchsorted(times, [low, high], sorter=order)
        order = order[first:last]
        columns = {
            series: numbers(rows[name])[order]
            for name, series in chosen.items()
            if name in rows.schema.names
        }
        return Group(times[order], self._entity(rows)[order], columns)

    def _entity(self, rows: Any) -> Indices:
        """The number of each row's entity."""
        nodes, node_at = coded(rows["node"])
        if self._table != DEVICES:
            there, back = np.unique(node_at, return_inverse=True)
            numbers_ = [self._number(nodes[at], "", "") for at in there]
            return np.array(numbers_, dtype=np.intp)[back]
        devices, device_at = coded(rows["device"])
        models, model_at = coded(rows["model"]) if "model" in rows.schema.names else ([""], None)
        pair = node_at.astype(np.int64) * max(1, len(devices)) + device_at
        _, first, back = np.unique(pair, return_index=True, return_inverse=True)
        entity_numbers = [
            self._number(
                nodes[node_at[at]],
                current_id(devices[device_at[at]]),
                models[0] if model_at is None else models[model_at[at]],
            )
            for at in first
        ]
        return np.array(entity_numbers, dtype=np.intp)[back]

    def _number(self, node: str, device: str, model: str) -> int:
        number = self._numbers.get((node, device))
        if number is None:
            number = self._numbers[node, device] = len(self.entities)
            self.entities.append(Entity(node, device, model))
        return number

    def frames(self, interval_s: float, start: float, end: float) -> Iterator[tuple[int, Frame]]:
        """Numbers of intervals counted from `start`, and what each says; none for one without rows.

        Interval k is after start + (k - 1) * interval_s and up to start + k * interval_s. Raises
        ArchiveError, also where row groups go back in time.
        """
        step, zero = round(interval_s * 1000), round(start * 1000)
        current: int | None = None
        frame = _Growing()
        for group in self.groups(start, end):
            ticks = -((zero - group.times) // step)
            edges = np.flatnonzero(np.diff(ticks)) + 1
            for first, stop in zip([0, *edges], [*edges, len(ticks)], strict=True):
                tick = int(ticks[first])
                if current is not None and tick != current:
                    if tick < current:
                        folder = self._folder / self._table
                        raise ArchiveError(
                            f"{folder}: row groups go back in time; see history check"
                        )
                    yield current, frame.finish(len(self.entities))
                current = tick
                frame.add_rows(group, int(first), int(stop))
        if current is not None:
            yield current, frame.finish(len(self.entities))


class _Growing:
    """The frame of an interval that may go on in the next row group."""

    def __init__(self) -> None:
        self._chunks: list[tuple[Group, int, int]] = []

    def add_rows(self, group: Group, start: int, stop: int) -> None:
        self._chunks.append((group, start, stop))

    def finish(self, size: int) -> Frame:
        frame = Frame(np.zeros(size, dtype=np.bool_), np.zeros(size, dtype=np.int64), {})
        for group, start, stop in self._chunks:
            at = group.entity[start:stop]
            frame.present[at] = True
            frame.times[at] = group.times[start:stop]
            for series, values in group.columns.items():
                column = frame.columns.get(series)
                if column is None:
                    column = frame.columns[series] = np.full(size, np.nan)
                column[at] = values[start:stop]
        self._chunks = []
        return frame


def batched(names: Iterable[str], size: int) -> Iterator[tuple[str, ...]]:
    """The names, so many at a time."""
    remaining = iter(names)
    while chunk := tuple(islice(remaining, size)):
        yield chunk
