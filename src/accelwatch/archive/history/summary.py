"""What is in an archive: span, entities, columns with the share of rows that have a value, size.

Shares come from the files' own figures; only the names of nodes and devices are read.
"""

from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa

from accelwatch.archive.history import layout
from accelwatch.archive.history.arrays import coded, milliseconds
from accelwatch.archive.history.bounds import size_of
from accelwatch.archive.history.files import damaged, groups, opened
from accelwatch.archive.history.layout import DEVICES, EVENTS, NODES, Description
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.archive.history.tables import FIXED
from accelwatch.schema.renamed import current_id


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column of quantities."""

    name: str
    # Of the table's rows that have a value.
    share: float


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A whole archive; times in Unix seconds, of the rows that are there."""

    folder: str
    description: Description
    start: float | None
    end: float | None
    days: tuple[str, ...]
    nodes: int
    devices: int
    # Devices by model.
    models: dict[str, int]
    # By table.
    rows: dict[str, int]
    jobs: int
    size_bytes: int
    device_columns: tuple[Column, ...]
    node_columns: tuple[Column, ...]


class _Table:
    def __init__(self, folder: Path, table: str) -> None:
        self.rows = 0
        self.values: Counter[str] = Counter()
        self.entities: dict[tuple[str, str], str] = {}
        self.first: int | None = None
        self.last: int | None = None
        for segment in layout.segments(folder, table):
            self._count(segment.path, table)
            for rows in groups(segment.path, ["time", "node", "device", "model"]):
                if len(rows):
                    try:
                        self._names(rows, table)
                    except (pa.ArrowException, ValueError, KeyError) as error:
                        raise damaged(segment.path, error) from error

    def _count(self, path: Path, table: str) -> None:
        with opened(path) as file:
            metadata = file.metadata
            self.rows += metadata.num_rows
            for at in range(metadata.num_row_groups):
                group = metadata.row_group(at)
                for index in range(group.num_columns):
                    column = group.column(index)
                    if column.path_in_schema not in FIXED[table]:
                        statistics = column.statistics
                        nulls = (statistics.null_count if statistics else 0) or 0
                        self.values[column.path_in_schema] += group.num_rows - nulls

    def _names(self, rows: pa.Table, table: str) -> None:
        times = milliseconds(rows["time"])
        first, last = int(times.min()), int(times.max())
        self.first = first if self.first is None else min(first, self.first)
        self.last = last if self.last is None else max(last, self.last)
        if table == EVENTS:
            return
        nodes, node_at = coded(rows["node"])
        if table == NODES:
            self.entities.update(((nodes[at], ""), "") for at in set(node_at.tolist()))
            return
        devices, device_at = coded(rows["device"])
        has_model = "model" in rows.schema.names
        models, model_at = coded(rows["model"]) if has_model else ([""], np.zeros_like(node_at))
        _, first = np.unique(node_at * len(devices) + device_at, return_index=True)
        for at in first:
            entity = nodes[node_at[at]], current_id(devices[device_at[at]])
            self.entities[entity] = models[model_at[at]]

    def columns(self) -> tuple[Column, ...]:
        return tuple(
            Column(name=name, share=round(count / self.rows, 4) if self.rows else 0.0)
            for name, count in sorted(self.values.items())
        )


def summary(folder: Path) -> Summary:
    """What is in an archive. Raises ArchiveError."""
    archive = Archive(folder)
    tables = {table: _Table(folder, table) for table in layout.TABLES}
    devices, nodes = tables[DEVICES], tables[NODES]
    firsts = [table.first for table in tables.values() if table.first is not None]
    lasts = [table.last for table in tables.values() if table.last is not None]
    all_days = {
        layout.day_of(segment.start)
        for table in layout.TABLES
        for segment in layout.segments(folder, table)
    }
    names = {node for table in (devices, nodes) for node, _ in table.entities}
    return Summary(
        folder=str(folder),
        description=archive.description,
        start=min(firsts) / 1000 if firsts else None,
        end=max(lasts) / 1000 if lasts else None,
        days=tuple(sorted(all_days)),
        nodes=len(names),
        devices=len(devices.entities),
        models=dict(sorted(Counter(devices.entities.values()).items())),
        rows={name: table.rows for name, table in tables.items()},
        jobs=len({row.job for row in archive.jobs()}),
        size_bytes=size_of(folder),
        device_columns=devices.columns(),
        node_columns=nodes.columns(),
    )
