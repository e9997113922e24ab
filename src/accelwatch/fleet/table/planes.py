"""What stands in the rows now: a plane of numbers and one of marks for each series that is asked for.

A series that nobody has asked for in a minute goes, so that memory follows the questions of the day.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.pick import NOT_TOLD, Block, Marks
from accelwatch.fleet.table.rows import grown
from accelwatch.schema.metrics import Series

KEPT_S = 60.0
"""How long a series is kept that nobody asks for."""
_CELL_BYTES = 9
MOST_BYTES = 256 << 20
"""Planes take no more than this, whatever is asked for: the longest unasked go first."""


class Column(NamedTuple):
    """A series of all rows."""

    values: Floats
    """NaN where there is none."""
    marks: Marks


class Planes:
    """Numbers and marks by series and row."""

    def __init__(self, size: int) -> None:
        self.wanted: tuple[Series, ...] = ()
        """The series that are kept."""
        self.epoch = 0
        """Grows with every series that is added: rows have to be filled anew."""
        self._size = size
        self._values: Floats = np.empty((0, size))
        self._marks: Marks = np.empty((0, size), dtype=np.uint8)
        self._asked: dict[Series, float] = {}
        self._places: dict[Series, int] = {}

    def want(self, series: Iterable[Series], now: float) -> None:
        """Keep these, at least until a minute after they were asked for the last time."""
        asked = dict.fromkeys(series, now)
        new = [one for one in asked if one not in self._places]
        self._asked.update(asked)
        room = max(MOST_BYTES // (_CELL_BYTES * self._size), len(asked))
        if new or len(self.wanted) > room:
            self._choose(asked, new, room, now)

    def _choose(self, asked: dict[Series, float], new: list[Series], room: int, now: float) -> None:
        old = [one for one in self.wanted if one in asked or now - self._asked[one] <= KEPT_S]
        while len(old) + len(new) > room:
            old.remove(min((one for one in old if one not in asked), key=self._asked.__getitem__))
        kept = [self._places[one] for one in old]
        shape = (len(new), self._size)
        self._values = np.concatenate([self._values[kept], np.full(shape, math.nan)])
        fresh = np.full(shape, NOT_TOLD, dtype=np.uint8)
        self._marks = np.concatenate([self._marks[kept], fresh])
        self.wanted = (*old, *new)
        self._places = {one: place for place, one in enumerate(self.wanted)}
        self._asked = {one: self._asked[one] for one in self.wanted}
        self.epoch += bool(new)

    def grow(self, size: int) -> None:
        """Make room for as many rows."""
        self._size = size
        self._values = grown(self._values, size, math.nan)
        self._marks = grown(self._marks, size, NOT_TOLD)

    def put(self, rows: Sequence[int], block: Block) -> None:
        """What devices tell of the wanted series, a device a column of the block."""
        at = np.asarray(rows, dtype=np.int64)
        first, last = rows[0], rows[-1]
        if last - first == len(rows) - 1 and (np.diff(at) == 1).all():
            self._values[:, first : last + 1] = block.values
            self._marks[:, first : last + 1] = block.marks
            return
        for place in range(len(self.wanted)):  # a plane at a time is twice as fast as all at once
            self._values[place][at] = block.values[place]
            self._marks[place][at] = block.marks[place]

    def clear(self, rows: list[int]) -> None:
        """Nothing is known of these rows."""
        self._values[:, rows] = math.nan
        self._marks[:, rows] = NOT_TOLD

    def column(self, series: Series) -> Column:
        """A series that was asked for with `want` before; another has no values."""
        place = self._places.get(series)
        if place is None:
            nothing = np.full(self._size, NOT_TOLD, dtype=np.uint8)
            return Column(np.full(self._size, math.nan), nothing)
        return Column(self._values[place], self._marks[place])
