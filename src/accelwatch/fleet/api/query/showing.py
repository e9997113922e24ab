"""Columns of the table as JSON's values: an integer stays one, what is absent is None."""

from collections.abc import Sequence

import numpy as np

from accelwatch.fleet.api.query.names import Column
from accelwatch.fleet.state.rows.table import Indices, Table
from accelwatch.fleet.table.belief import Bools
from accelwatch.fleet.table.pick import DOUBLE, LARGE
from accelwatch.schema.reading import Number


def shown(
    table: Table, rows: Indices, hidden: Bools, columns: Sequence[Column]
) -> list[Sequence[Number | None]]:
    """The values of each column by row, the first series' that has one; none of hidden rows."""
    return [_column(table, rows, hidden, candidates) for _, candidates in columns]


def _column(
    table: Table, rows: Indices, hidden: Bools, candidates: Sequence[tuple[str, ...]]
) -> Sequence[Number | None]:
    values = np.full(len(rows), np.nan)
    flags = np.zeros(len(rows), dtype=np.uint8)
    which = np.zeros(len(rows), dtype=np.intp)
    for number, series in enumerate(candidates):
        column = table.planes.column(series)
        here = column.values[rows]
        better = np.isnan(values) & ~np.isnan(here) & ~hidden
        values[better] = here[better]
        flags[better] = column.tags[rows][better]
        which[better] = number
    absent = np.isnan(values)
    is_integer = ~absent & (flags != DOUBLE)
    if not absent.any() and not is_integer.any():
        plain: list[float] = values.tolist()
        return plain
    if is_integer.all() and not (flags == LARGE).any():
        integers: list[int] = values.astype(np.int64).tolist()
        return integers
    mixed = values.astype(object)
    small = is_integer & (flags != LARGE)
    mixed[small] = values[small].astype(np.int64)
    mixed[absent] = None
    for at in np.flatnonzero(flags == LARGE).tolist():
        mixed[at] = table.number(int(rows[at]), candidates[which[at]])
    numbers: list[Number | None] = mixed.tolist()
    return numbers
