"""The two tables of signals as channels look them up: by series, by family."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from accelwatch.detection.arrays import Bools, Floats, Indices
from accelwatch.detection.signals.signal import Direction, SignalRow


class Level(NamedTuple):
    """The signals of devices or of nodes, in the order of the first axis of a tick's arrays."""

    rows: tuple[SignalRow, ...]
    # bool[S, 1] each: whether more is bad, and whether less is.
    sides: tuple[Bools, Bools]

    def position(self, *series: str) -> int:
        """Index of the first signal whose series begins so; -1 where the table has none."""
        for position, row in enumerate(self.rows):
            if row.series[: len(series)] == series:
                return position
        return -1

    def positions(self, selects: Callable[[SignalRow], bool]) -> Indices:
        """Indices of all selected signals."""
        return np.array([at for at, row in enumerate(self.rows) if selects(row)], dtype=np.intp)

    def families(self, selects: Callable[[SignalRow], bool]) -> dict[str, Indices]:
        """Indices of the selected signals, by family."""
        names = dict.fromkeys(row.family for row in self.rows if selects(row))
        return {
            name: self.positions(lambda row, name=name: row.family == name and selects(row))  # type: ignore[misc]
            for name in names
        }


class Table(NamedTuple):
    """What both levels have."""

    devices: Level
    nodes: Level


def table_of(devices: Sequence[SignalRow], nodes: Sequence[SignalRow]) -> Table:
    """The tables as channels look them up."""
    return Table(_level(devices), _level(nodes))


def _level(rows: Sequence[SignalRow]) -> Level:
    high = np.array([row.direction is not Direction.LOW for row in rows], dtype=np.bool_)
    low = np.array([row.direction is not Direction.HIGH for row in rows], dtype=np.bool_)
    return Level(tuple(rows), (high[:, np.newaxis], low[:, np.newaxis]))


def values_at(values: Floats, position: int) -> Floats:
    """One signal of all rows; NaN for an index that the table lacks."""
    if position < 0:
        return np.full(values.shape[1], np.nan)
    selected: Floats = values[position]
    return selected


def sum_finite(values: Floats, positions: Indices) -> Floats:
    """Sum over several signals, float64[R]; NaN where none of them is known."""
    chosen = values[positions]
    total: Floats = np.where(np.isnan(chosen).all(axis=0), np.nan, np.nansum(chosen, axis=0))
    return total
