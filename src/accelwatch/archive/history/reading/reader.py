"""Reads an archive in order of time, one row group at a time.

Columns that a file lacks are absent, columns that nobody knows are left out. `Archive.ticks` gives what
an engine needs: for each interval the newest sample of every device and node, as arrays by entity.
"""

import heapq
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from accelwatch.archive.history import layout
from accelwatch.archive.history.arrays import milliseconds
from accelwatch.archive.history.files import damaged, groups, opened
from accelwatch.archive.history.layout import (
    DEVICES,
    EVENTS,
    JOBS,
    MAINTENANCE,
    NODES,
    ArchiveError,
)
from accelwatch.archive.history.names import series_of
from accelwatch.archive.history.reading.samples import Frame, Samples
from accelwatch.archive.history.rows import EventRow, JobRow, MaintenanceRow
from accelwatch.archive.history.tables import FIXED
from accelwatch.schema.metrics import Series
from accelwatch.schema.renamed import current_id


class Tick(NamedTuple):
    """Everything with a time after the tick before and up to `time` (Unix seconds)."""

    time: float
    devices: Frame
    nodes: Frame


_EMPTY = Frame(np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.int64), {})


class Archive:
    """An archive that is there. While it is written, the files of the moment are read."""

    def __init__(self, folder: Path) -> None:
        """Raises ArchiveError for a folder that is none."""
        self.folder = folder
        self.description = layout.describe(folder)

    def samples(self, table: str, requested: Collection[Series] | None = None) -> Samples:
        """The samples of `devices` or `nodes`; all quantities when none is `requested`."""
        return Samples(self.folder, table, requested)

    def series(self) -> frozenset[Series]:
        """Everything that any file has a column of. Raises ArchiveError."""
        all_series: set[Series] = set()
        for table in (DEVICES, NODES):
            for segment in layout.segments(self.folder, table):
                with opened(segment.path) as file:
                    all_series.update(
                        series for name in file.schema_arrow.names if (series := series_of(name))
                    )
        return frozenset(all_series)

    def ticks(
        self,
        devices: Samples,
        nodes: Samples,
        *,
        interval_s: float | None = None,
        start: float | None = None,
        end: float | None = None,
    ) -> Iterator[Tick]:
        """Every interval from the first to the last that has rows, also those that have none.

        Arrays grow as entities are met: `devices.entities` names them. Raises ArchiveError.
        """
        step = interval_s or self.description.interval_s
        origin = self.description.start if start is None else start
        origin -= origin % step
        until = float("inf") if end is None else end
        streams = [
            _named(DEVICES, devices.frames(step, origin, until)),
            _named(NODES, nodes.frames(step, origin, until)),
        ]
        following: int | None = None
        frames = {DEVICES: _EMPTY, NODES: _EMPTY}
        for at, kind, frame in heapq.merge(*streams, key=lambda item: item[0]):
            while following is not None and following < at:
                yield Tick(origin + following * step, frames[DEVICES], frames[NODES])
                frames = {DEVICES: _EMPTY, NODES: _EMPTY}
                following += 1
            following = at
            frames[kind] = frame
        if following is not None:
            yield Tick(origin + following * step, frames[DEVICES], frames[NODES])

    def events(self) -> Iterator[EventRow]:
        """All events in order of the files, ordered by time inside a day. Raises ArchiveError."""
        for segment in layout.segments(self.folder, EVENTS):
            for rows in groups(segment.path, list(FIXED[EVENTS])):
                yield from event_rows(rows)

    def jobs(self) -> list[JobRow]:
        """All jobs; none when it is not known. Raises ArchiveError."""
        return jobs_of(self.folder)

    def maintenance(self) -> list[MaintenanceRow]:
        """All announced windows; none when it is not known. Raises ArchiveError."""
        return maintenance_of(self.folder)


def jobs_of(folder: Path) -> list[JobRow]:
    """All jobs of a folder. Raises ArchiveError."""
    rows = _records(folder / JOBS)
    try:
        return [
            JobRow(
                job=str(row["job"]),
                user=row.get("user") or "",
                node=row["node"],
                device=current_id(row.get("device") or "") or None,
                start=row["start"],
                end=row.get("end"),
                stage=row.get("stage"),
                nodes_wanted=row.get("nodes_wanted"),
            )
            for row in rows
        ]
    except KeyError as error:
        raise ArchiveError(f"{folder / JOBS}: it has no column {error}") from error


def maintenance_of(folder: Path) -> list[MaintenanceRow]:
    """All announced windows of a folder. Raises ArchiveError."""
    rows = _records(folder / MAINTENANCE)
    try:
        return [
            MaintenanceRow(row.get("node"), row["start"], row["end"], row.get("reason") or "")
            for row in rows
        ]
    except KeyError as error:
        text = f"{folder / MAINTENANCE}: it has no column {error}"
        raise ArchiveError(text) from error


def _named(table: str, frames: Iterator[tuple[int, Frame]]) -> Iterator[tuple[int, str, Frame]]:
    for at, frame in frames:
        yield at, table, frame


def event_rows(rows: Any) -> Iterator[EventRow]:
    """Rows of a table of events."""
    times = milliseconds(rows["time"])
    texts = {
        name: rows[name].to_pylist() if name in rows.schema.names else [None] * len(rows)
        for name in ("node", "device", "kind", "code", "text")
    }
    for at, time in enumerate(times):
        yield EventRow(
            time=int(time),
            node=texts["node"][at] or "",
            device=current_id(texts["device"][at] or "") or None,
            kind=texts["kind"][at] or "",
            code=texts["code"][at] or "",
            text=texts["text"][at] or "",
        )


def _records(path: Path) -> list[dict[str, Any]]:
    """The rows of a small file; its times in Unix milliseconds."""
    if not path.exists():
        return []
    try:
        table = pq.read_table(path, use_threads=False)
        for at, field in enumerate(table.schema):
            if pa.types.is_timestamp(field.type):
                converted = table[field.name].cast(pa.timestamp("ms", tz=field.type.tz), safe=False)
                table = table.set_column(at, field.name, converted.cast(pa.int64()))
        records: list[dict[str, Any]] = table.to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise damaged(path, error) from error
    return records
