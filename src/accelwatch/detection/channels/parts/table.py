"""The two tables of signals as channels look them up: by series, by family."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from accelwatch.detection.arrays import Floats, Indices
from accelwatch.detection.signals.signal import SignalRow


class Level(NamedTuple):
    """The signals of devices or of nodes, in the order of the first axis of a tick's arrays."""

    rows: tuple[SignalRow, ...]

    def place(self, *series: str) -> int:
        """Place of the first signal whose series begins so; -1 where the table has none."""
        for place, row in enumerate(self.rows):
            if row.series[: len(series)] == series:
                return place
        return -1

    def places(self, wanted: Callable[[SignalRow], bool]) -> Indices:
        """Places of all signals that are wanted."""
        return np.array([at for at, row in enumerate(self.rows) if wanted(row)], dtype=np.intp)

    def families(self, wanted: Callable[[SignalRow], bool]) -> dict[str, Indices]:
        """Places of the wanted signals, by family."""
        names = dict.fromkeys(row.family for row in self.rows if wanted(row))
        return {
            name: self.places(lambda row, name=name: row.family == name and wanted(row))  # type: ignore[misc]
            for name in names
        }


class Table(NamedTuple):
    """What both levels have."""

    devices: Level
    nodes: Level


def table_of(devices: Sequence[SignalRow], nodes: Sequence[SignalRow]) -> Table:
    """The tables as channels look them up."""
    return Table(Level(tuple(devices)), Level(tuple(nodes)))


def values_at(values: Floats, place: int) -> Floats:
    """One signal of all rows; NaN for a place that the table has not."""
    if place < 0:
        return np.full(values.shape[1], np.nan)
    one: Floats = values[place]
    return one


def sum_known(values: Floats, places: Indices) -> Floats:
    """Sum over several signals, float64[R]; NaN where none of them is known."""
    chosen = values[places]
    total: Floats = np.where(np.isnan(chosen).all(axis=0), np.nan, np.nansum(chosen, axis=0))
    return total
