"""The recent past of some series: a plane a step of ten seconds, of single-precision numbers by row.

Rows are kept by the thousand: another thousand is added without moving those that are there.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from accelwatch.fleet.table.belief import Floats
from accelwatch.schema.metrics import Series

_NEVER = -1
_PART = 1024


class Window:
    """The last steps of every row; a step without a value is NaN inside and None outside."""

    def __init__(self, series: Sequence[Series], steps: int) -> None:
        self.series = tuple(series)
        self._steps = steps
        self._parts: list[_Part] = []

    def put(self, step: int, rows: Sequence[int], values: Floats) -> None:
        """The values of a step, a row a line; the first of a step counts."""
        at = np.array(rows, dtype=np.intp)
        first, last = min(rows) // _PART, max(rows) // _PART
        if first == last:
            self._part(first).put(step, at - first * _PART, values)
            return
        for number in range(first, last + 1):
            here = at // _PART == number
            if here.any():
                self._part(number).put(step, at[here] % _PART, values[here])

    def _part(self, number: int) -> "_Part":
        while len(self._parts) <= number:
            self._parts.append(_Part(self._steps, len(self.series)))
        return self._parts[number]

    def clear(self, row: int) -> None:
        """Another device stands in the row from now on."""
        if self.known(row):
            self._parts[row // _PART].clear(row % _PART)

    def known(self, row: int) -> bool:
        """Whether there is anything of a row."""
        return row // _PART < len(self._parts) and self._parts[row // _PART].last[row % _PART] >= 0

    def read(self, series: Series, row: int, now: int) -> list[float | None]:
        """The last steps up to step `now`, oldest first. Raises ValueError for another series."""
        column = self.series.index(series)
        return self._part(row // _PART).read(column, row % _PART, now)


class _Part:
    """A thousand rows."""

    def __init__(self, steps: int, series: int) -> None:
        self._steps = steps
        shape = (steps, series, _PART)
        self._values: npt.NDArray[np.float32] = np.full(shape, math.nan, dtype=np.float32)
        self.last: npt.NDArray[np.int64] = np.full(_PART, _NEVER, dtype=np.int64)
        """The newest step of each row."""

    def put(self, step: int, at: npt.NDArray[np.intp], values: Floats) -> None:
        last = self.last[at]
        if last.max() >= step:
            new = last < step
            at, last, values = at[new], last[new], values[new]
        begun = [one for one in last.tolist() if one != _NEVER]
        if begun:
            for missed in range(max(step - self._steps + 1, min(begun) + 1), step):
                self._values[missed % self._steps][:, at[last < missed]] = math.nan
        self._values[step % self._steps][:, at] = values.T
        self.last[at] = step

    def clear(self, at: int) -> None:
        self._values[:, :, at] = math.nan
        self.last[at] = _NEVER

    def read(self, column: int, at: int, now: int) -> list[float | None]:
        newest = int(self.last[at])
        found: list[float | None] = []
        for step in range(now - self._steps + 1, now + 1):
            value = float(self._values[step % self._steps, column, at])
            here = newest - self._steps < step <= newest
            found.append(value if here and not math.isnan(value) else None)
        return found
