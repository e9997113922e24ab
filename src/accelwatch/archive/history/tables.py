"""Arrow tables of an archive: their columns, and rows turned into them."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accelwatch.archive.history.arrays import milliseconds, ranks
from accelwatch.archive.history.layout import DEVICES, EVENTS, NODES
from accelwatch.archive.history.names import column_of
from accelwatch.archive.history.rows import Block, EventRow, JobRow, MaintenanceRow

TIME = pa.timestamp("ms", tz="UTC")
TEXT = pa.dictionary(pa.int32(), pa.string())
_NODE = {"time": TIME, "node": TEXT}
# The columns that are no quantities, by table.
FIXED: dict[str, dict[str, Any]] = {
    DEVICES: {**_NODE, "device": TEXT, "model": TEXT},
    NODES: _NODE,
    EVENTS: {**_NODE, "device": TEXT, "kind": TEXT, "code": TEXT, "text": pa.string()},
}
JOB_COLUMNS = {
    "job": pa.string(),
    "user": pa.string(),
    "node": TEXT,
    "device": TEXT,
    "start": TIME,
    "end": TIME,
    "stage": pa.string(),
    "nodes_wanted": pa.int32(),
}
MAINTENANCE_COLUMNS = {"node": TEXT, "start": TIME, "end": TIME, "reason": pa.string()}
# By which columns rows are ordered inside a row group, before their time.
ORDER = {DEVICES: ("node", "device"), NODES: ("node",), EVENTS: ()}


def block_table(table: str, block: Block) -> Any:
    """Rows of a block as a table; what is not finite is null."""
    columns: dict[str, Any] = {
        "time": pa.array(np.frombuffer(block.times, dtype=np.int64)).cast(TIME),
        "node": _texts(block.nodes),
    }
    if table == DEVICES:
        columns |= {"device": _texts(block.devices), "model": _texts(block.models)}
    count = len(block.series)
    numbers = np.frombuffer(block.values, dtype=np.float64).reshape(len(block.times), count)
    for at, series in enumerate(block.series):
        column = np.ascontiguousarray(numbers[:, at])
        columns.setdefault(column_of(series), pa.array(column, mask=~np.isfinite(column)))
    return pa.table(columns)


def event_table(events: Sequence[EventRow]) -> Any:
    """Events as a table."""
    rows = {name: [getattr(event, name) for event in events] for name in FIXED[EVENTS]}
    return pa.table(rows, schema=pa.schema(FIXED[EVENTS]))


def job_table(jobs: Sequence[JobRow]) -> Any:
    """Jobs as a table."""
    rows = {name: [getattr(job, name) for job in jobs] for name in JOB_COLUMNS}
    return pa.table(rows, schema=pa.schema(JOB_COLUMNS))


def maintenance_table(windows: Sequence[MaintenanceRow]) -> Any:
    """Windows of maintenance as a table."""
    rows = {name: [getattr(row, name) for row in windows] for name in MAINTENANCE_COLUMNS}
    return pa.table(rows, schema=pa.schema(MAINTENANCE_COLUMNS))


def _texts(texts: Sequence[str | None]) -> Any:
    return pa.array(texts, type=pa.string()).dictionary_encode()


def columns_within(extents: Iterable[tuple[int, Iterable[str]]], most: int) -> frozenset[str]:
    """Names of the columns with which all rows of some tables together have at most `most` cells.

    `extents` are rows and column names of each table. Columns that the fewest rows have go first.
    """
    rows = 0
    rows_with: dict[str, int] = {}
    for count, names in extents:
        rows += count
        for name in names:
            rows_with[name] = rows_with.get(name, 0) + count
    if rows * len(rows_with) <= most:
        return frozenset(rows_with)
    fixed = {name for columns in FIXED.values() for name in columns}
    by_use = sorted(rows_with, key=lambda name: (name not in fixed, -rows_with[name], name))
    return frozenset(by_use[: max(most // rows, len(fixed & rows_with.keys()))])


def within_cells(tables: Sequence[Any], most: int) -> tuple[list[Any], int]:
    """The tables without the columns that are too many, and how many values went with them."""
    kept = columns_within(((len(table), table.schema.names) for table in tables), most)
    narrow, lost = [], 0
    for table in tables:
        names = [name for name in table.schema.names if name in kept]
        lost += len(table) * (table.num_columns - len(names))
        narrow.append(table.select(names))
    return narrow, lost


def joined(tables: Sequence[Any]) -> Any:
    """One table of several, which lack some of each other's columns."""
    return pa.concat_tables(tables, promote_options="default").unify_dictionaries()


def ordered(table: str, rows: Any) -> Any:
    """The rows in the order of a row group."""
    keys = [ranks(rows[name]) for name in ORDER[table]]
    times = milliseconds(rows["time"])
    return rows.take(pa.array(np.lexsort((times, *reversed(keys))))).combine_chunks()


def between(rows: Any, start: int, end: int) -> Any:
    """The rows from a moment up to before another, Unix milliseconds."""
    time = rows["time"].cast(pa.int64())
    return rows.filter(pc.and_(pc.greater_equal(time, start), pc.less(time, end)))


def span(rows: Any) -> tuple[int, int]:
    """The first and last moment of rows that are some, Unix milliseconds."""
    extremes = pc.min_max(rows["time"].cast(pa.int64()))
    return extremes["min"].as_py(), extremes["max"].as_py()
