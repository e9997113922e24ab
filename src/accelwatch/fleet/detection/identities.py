"""Who stands in which row of a frame, and since when it is another one."""

from collections.abc import Iterable, Sequence

import numpy as np

from accelwatch.archive.detector.row_identities import BOOT_S, RowValues
from accelwatch.detection.arrays import Bools, Floats, Indices
from accelwatch.fleet.rules.columns.columns import Texts


class NodeRows:
    """Rows of nodes: a node keeps its row as long as any device of it is expected."""

    def __init__(self) -> None:
        # Empty for a row that is free.
        self.names: list[str] = []
        self._rows: dict[str, int] = {}
        self.generation: Indices = np.zeros(0, dtype=np.intp)
        self._booted_at: Floats = np.zeros(0)

    def assign(self, expected: Sequence[str]) -> Bools:
        """Have a row for each; bool[rows]: those that were given to another node."""
        removed = self._rows.keys() - set(expected)
        free = sorted((self._rows.pop(name) for name in removed), reverse=True)
        for row in free:
            self.names[row] = ""
        free += [row for row, name in enumerate(self.names) if not name and row not in free]
        free.sort(reverse=True)
        reassigned: list[int] = []
        for name in expected:
            if name not in self._rows:
                if not free:
                    self.names.append("")
                row = free.pop() if free else len(self.names) - 1
                self.names[row], self._rows[name] = name, row
                reassigned.append(row)
        more = len(self.names) - len(self.generation)
        self.generation = np.concatenate((self.generation, np.zeros(more, dtype=np.intp)))
        self._booted_at = np.concatenate((self._booted_at, np.full(more, np.nan)))
        changed = np.zeros(len(self.names), dtype=np.bool_)
        changed[reassigned] = True
        self._booted_at[changed] = np.nan
        self.generation = self.generation + changed
        return changed

    @property
    def booted_at(self) -> Floats:
        """Unix seconds of each row's last boot, float64[rows]; NaN where nobody has said."""
        return self._booted_at

    def restore(self, booted_at: Floats) -> None:
        """What nodes have not said again since a restart, by row; NaN for nothing."""
        self._booted_at = np.where(np.isnan(self._booted_at), booted_at, self._booted_at)

    def row(self, name: str) -> int:
        """The row of a node; -1 for none."""
        return self._rows.get(name, -1)

    def boot(self, now: float, uptime_s: Floats) -> Bools:
        """Nodes that have booted since, bool[rows]; `uptime_s` is NaN where nobody knows."""
        booted_at = now - uptime_s
        booted: Bools = booted_at - self._booted_at > BOOT_S
        self._booted_at = np.where(np.isnan(booted_at), self._booted_at, booted_at)
        self.generation = self.generation + booted
        return booted


class DeviceRows:
    """Which rows have another device than before, by all that distinguishes devices."""

    def __init__(self) -> None:
        self._texts: tuple[Texts, ...] = ()
        self._row_values: list[RowValues] = []
        self.generation: Indices = np.zeros(0, dtype=np.intp)

    def update(self, texts: Iterable[Texts], size: int) -> Bools:
        """What rows say of themselves now; bool[rows]: where that is another device.

        What a row does not say, as while its node is silent, makes it no other.
        """
        columns = tuple(texts)
        changed = np.zeros(size, dtype=np.bool_)
        more = size - len(self.generation)
        self.generation = np.concatenate((self.generation, np.zeros(more, dtype=np.intp)))
        if more == 0 and same_columns(columns, self._texts):
            return changed
        changed_values = [row_values(column, size) for column in columns]
        for at, new in enumerate(changed_values):
            old = np.full(size, None, dtype=object)
            if at < len(self._row_values):
                old[: len(self._row_values[at])] = self._row_values[at]
            present, was_present = new != None, old != None  # noqa: E711 - by element
            changed |= present & was_present & (new != old)
            changed_values[at] = np.where(present, new, old)
        self._texts, self._row_values = columns, changed_values
        self.generation = self.generation + changed
        return changed

    @property
    def texts(self) -> Sequence[RowValues]:
        """The texts of rows, object[rows] for each; None where a row has none."""
        return self._row_values

    def restore(self, texts: Sequence[RowValues]) -> None:
        """What rows have not said again since a restart."""
        self._row_values = [
            np.where(present != None, present, saved)  # noqa: E711 - by element
            for present, saved in zip(self._row_values, texts, strict=True)
        ]

    def add(self, rows: Bools) -> None:
        """These rows are others for a reason of their own."""
        self.generation = self.generation + rows


def row_values(column: Texts, size: int) -> RowValues:
    """The words of the first rows of a column, object[size]; None where there is none."""
    changed_values: RowValues = np.full(size, None, dtype=object)
    codes = column.codes[:size]
    rows = np.flatnonzero(codes >= 0)
    values: RowValues = np.array(column.values, dtype=object)
    changed_values[rows] = values[codes[rows]] if len(values) else None
    return changed_values


def same_columns(columns: Sequence[Texts], before: Sequence[Texts]) -> bool:
    """Columns are the very same objects as long as they have not changed."""
    return len(columns) == len(before) and all(
        column is other or (column.codes is other.codes and column.values is other.values)
        for column, other in zip(columns, before, strict=True)
    )
