"""Columns of the table as JSON's values: an integer stays one, what is absent is None."""

from collections.abc import Sequence

import numpy as np

from accelwatch.fleet.api.names import Column
from accelwatch.fleet.state.table import Places, Table
from accelwatch.fleet.table.belief import Bools
from accelwatch.fleet.table.pick import DOUBLE, LARGE
from accelwatch.schema.reading import Number


def shown(
    table: Table, rows: Places, hidden: Bools, columns: Sequence[Column]
) -> list[Sequence[Number | None]]:
    """The values of each column by row, the first series' that has one; none of hidden rows."""
    return [_column(table, rows, hidden, candidates) for _, candidates in columns]


def _column(
    table: Table, rows: Places, hidden: Bools, candidates: Sequence[tuple[str, ...]]
) -> Sequence[Number | None]:
    values = np.full(len(rows), np.nan)
    marks = np.zeros(len(rows), dtype=np.uint8)
    which = np.zeros(len(rows), dtype=np.intp)
    for number, series in enumerate(candidates):
        column = table.planes.column(series)
        here = column.values[rows]
        better = np.isnan(values) & ~np.isnan(here) & ~hidden
        values[better] = here[better]
        marks[better] = column.marks[rows][better]
        which[better] = number
    absent = np.isnan(values)
    whole = ~absent & (marks != DOUBLE)
    if not absent.any() and not whole.any():
        plain: list[float] = values.tolist()
        return plain
    if whole.all() and not (marks == LARGE).any():
        integers: list[int] = values.astype(np.int64).tolist()
        return integers
    mixed = values.astype(object)
    small = whole & (marks != LARGE)
    mixed[small] = values[small].astype(np.int64)
    mixed[absent] = None
    for at in np.flatnonzero(marks == LARGE).tolist():
        mixed[at] = table.number(int(rows[at]), candidates[which[at]])
    numbers: list[Number | None] = mixed.tolist()
    return numbers
