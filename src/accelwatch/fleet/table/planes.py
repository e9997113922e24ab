"""The present values of rows: a plane of numbers and one of marks for each requested series.

A series that was not requested for a minute goes, so that memory follows the queries of the day.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.pick import NOT_REPORTED, Block, Tags
from accelwatch.fleet.table.rows import grown
from accelwatch.schema.metrics import Series

# How long a series is kept without a request.
KEPT_S = 60.0
_CELL_BYTES = 9
# Planes use no more than this, whatever is requested: those without a request for longest go first.
MOST_BYTES = 256 << 20


class Column(NamedTuple):
    """A series of all rows."""

    # NaN where there is none.
    values: Floats
    tags: Tags


class Planes:
    """Numbers and marks by series and row."""

    def __init__(self, size: int) -> None:
        # The series that are kept.
        self.series: tuple[Series, ...] = ()
        # Grows with every series that is added: rows have to be filled again.
        self.epoch = 0
        self._size = size
        self._values: Floats = np.empty((0, size))
        self._tags: Tags = np.empty((0, size), dtype=np.uint8)
        self._requested_at: dict[Series, float] = {}
        self._index: dict[Series, int] = {}

    def request(self, series: Iterable[Series], now: float) -> None:
        """Keep these, at least until a minute after their last request."""
        requested = dict.fromkeys(series, now)
        new = [key for key in requested if key not in self._index]
        self._requested_at.update(requested)
        room = max(MOST_BYTES // (_CELL_BYTES * self._size), len(requested))
        if new or len(self.series) > room:
            self._choose(requested, new, room, now)

    def _choose(
        self, requested: dict[Series, float], new: list[Series], room: int, now: float
    ) -> None:
        old = [
            key
            for key in self.series
            if key in requested or now - self._requested_at[key] <= KEPT_S
        ]
        while len(old) + len(new) > room:
            old.remove(
                min(
                    (key for key in old if key not in requested), key=self._requested_at.__getitem__
                )
            )
        kept = [self._index[key] for key in old]
        shape = (len(new), self._size)
        self._values = np.concatenate([self._values[kept], np.full(shape, math.nan)])
        fresh = np.full(shape, NOT_REPORTED, dtype=np.uint8)
        self._tags = np.concatenate([self._tags[kept], fresh])
        self.series = (*old, *new)
        self._index = {key: position for position, key in enumerate(self.series)}
        self._requested_at = {key: self._requested_at[key] for key in self.series}
        self.epoch += bool(new)

    def grow(self, size: int) -> None:
        """Make room for as many rows."""
        self._size = size
        self._values = grown(self._values, size, math.nan)
        self._tags = grown(self._tags, size, NOT_REPORTED)

    def store(self, rows: Sequence[int], block: Block) -> None:
        """Store the devices' values of the wanted series, a device a column of the block."""
        at = np.asarray(rows, dtype=np.int64)
        first, last = rows[0], rows[-1]
        if last - first == len(rows) - 1 and (np.diff(at) == 1).all():
            self._values[:, first : last + 1] = block.values
            self._tags[:, first : last + 1] = block.tags
            return
        for position in range(
            len(self.series)
        ):  # a plane at a time is twice as fast as all at once
            self._values[position][at] = block.values[position]
            self._tags[position][at] = block.tags[position]

    def clear(self, rows: list[int]) -> None:
        """Nothing is known of these rows."""
        self._values[:, rows] = math.nan
        self._tags[:, rows] = NOT_REPORTED

    def column(self, series: Series) -> Column:
        """A series that was requested with `request` before; another has no values."""
        position = self._index.get(series)
        if position is None:
            nothing = np.full(self._size, NOT_REPORTED, dtype=np.uint8)
            return Column(np.full(self._size, math.nan), nothing)
        return Column(self._values[position], self._tags[position])
