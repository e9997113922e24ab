"""Ten-second closed buckets: a plane of one number a row for each, as many as are kept.

Rows are kept by the thousand: another thousand is added without moving those that are there. A plane
uses memory once it is written: the past of a hub that has just started uses none, and neither does
that of a quantity which no device of the fleet reports.
"""

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from accelwatch.expr.vocabulary.windows import STEP_S
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.rows import grown

# Seconds in a bucket; number `n` begins at `n` times as many (monotonic).
BUCKET_S = STEP_S
# Rows that are allocated together.
CHUNK_ROWS = 1024

Plane = npt.NDArray[np.generic]


class Buckets:
    """The last closed buckets of all rows; one that nobody has filled is empty."""

    def __init__(self, count: int, width: type[np.float32] | type[np.uint8], empty: float) -> None:
        """`empty` is the number of a bucket without samples."""
        self.count = count
        self._width = np.dtype(width)
        self._empty = empty
        self._chunks: list[Plane] = []
        self._rows = 0
        # The bucket of the first line; those of the following ones follow.
        self._first = 0
        # Lines that were written; the buckets of the others are empty.
        self._lines = 0
        # The newest bucket in which any number is not 0.
        self._filled: int | None = None

    @property
    def nbytes(self) -> int:
        """Memory that is set aside; none before there is anything to keep."""
        return sum(chunk.nbytes for chunk in self._chunks)

    def grow(self, rows: int) -> None:
        """Make room for as many rows."""
        if not self._lines:
            self._rows = max(self._rows, rows)
            return
        while self._rows < rows:
            remainder = self._rows % CHUNK_ROWS
            size = min(CHUNK_ROWS, rows - self._rows + remainder)
            if remainder:
                self._chunks[-1] = grown(self._chunks[-1], size, self._empty)
            else:
                chunk = np.empty((self.count, size), dtype=self._width)
                chunk[: self._lines] = self._empty
                self._chunks.append(chunk)
            self._rows += size - remainder

    def store(self, bucket: int, values: Plane) -> None:
        """Close a bucket with the numbers of all rows, instead of the oldest that is there."""
        if not self._lines:
            if self._is_empty(values):
                return
            self._allocate(bucket)
        at = self._line(bucket)
        self._write(at + 1)
        for start, chunk in self._chunk_starts():
            chunk[at] = values[start : start + chunk.shape[1]]
        if not self._empty and np.count_nonzero(values):
            self._filled = bucket

    def skip(self, first: int, last: int) -> None:
        """Leave these buckets empty."""
        first = max(first, last - self.count + 1)
        if first > last or not self._lines:
            return
        for start, end in self._cuts(first, last):
            self._write(end)
            for chunk in self._chunks:
                chunk[start:end] = self._empty

    def fold(self, how: np.ufunc, first: int, last: int) -> Floats:
        """What `how` makes of the buckets `first` to `last`, all of which are still here; by row."""
        if not self._empty and (self._filled is None or self._filled < first):
            return np.zeros(self._rows)
        if not self._lines:
            return np.full(self._rows, self._empty)
        self._write(self.count)
        # Counts, and the least and the most, are exact in any width: only sums have to be wide.
        width = np.uint32 if self._width == np.uint8 else np.float64 if how is np.add else None
        folds: Floats = np.empty(self._rows)
        cuts = self._cuts(first, last)
        for start, chunk in self._chunk_starts():
            cut_folds = [how.reduce(chunk[cut[0] : cut[1]], axis=0, dtype=width) for cut in cuts]
            total = cut_folds[0] if len(cut_folds) == 1 else how(*cut_folds)
            folds[start : start + chunk.shape[1]] = total
        return folds

    def each(self, first: int, last: int, rows: range | None = None) -> Floats:
        """The buckets `first` to `last` themselves, a bucket a line; of all rows, or of some."""
        rows = range(self._rows) if rows is None else rows
        if not self._lines:
            return np.full((last + 1 - first, len(rows)), self._empty)
        self._write(self.count)
        at = [self._line(bucket) for bucket in range(first, last + 1)]
        numbers: Floats = np.empty((len(at), len(rows)))
        for start, chunk in self._chunk_starts():
            low, high = max(rows.start, start), min(rows.stop, start + chunk.shape[1])
            if low < high:
                here = chunk[at, low - start : high - start]
                numbers[:, low - rows.start : high - rows.start] = here
        return numbers

    def some(self, first: int, last: int, rows: npt.NDArray[np.intp]) -> Floats:
        """The same of a few rows."""
        if not self._lines:
            return np.full((last + 1 - first, len(rows)), self._empty)
        self._write(self.count)
        at = (np.arange(first, last + 1) - self._first) % self.count
        numbers: Floats = np.empty((len(at), len(rows)))
        for start, chunk in self._chunk_starts():
            here = (rows >= start) & (rows < start + chunk.shape[1])
            numbers[:, here] = chunk[at[:, np.newaxis], rows[here] - start]
        return numbers

    def read(self, row: int, first: int, last: int) -> list[float]:
        """The numbers of one row in these buckets."""
        if not self._lines:
            return [self._empty] * (last + 1 - first)
        chunk, at = self._chunks[row // CHUNK_ROWS], row % CHUNK_ROWS
        lines = [self._line(bucket) for bucket in range(first, last + 1)]
        return [float(chunk[line, at]) if line < self._lines else self._empty for line in lines]

    def clear(self, rows: npt.NDArray[np.intp]) -> None:
        """Reset these rows."""
        for start, chunk in self._chunk_starts():
            here = rows[(rows >= start) & (rows < start + chunk.shape[1])]
            if len(here):
                chunk[: self._lines, here - start] = self._empty

    def resized(self, count: int, newest: int) -> "Buckets":
        """The same with room for another number of buckets, of which `newest` was closed last."""
        made = Buckets(count, np.uint8 if self._width == np.uint8 else np.float32, self._empty)
        made.grow(self._rows)
        if not self._lines:
            return made
        made._allocate(self._first)
        made._filled, made._first = self._filled, self._first
        self._write(self.count)
        made._write(count)
        for bucket in range(newest - min(count, self.count) + 1, newest + 1):
            for (_, old), (_, new) in zip(self._chunk_starts(), made._chunk_starts(), strict=True):
                new[made._line(bucket)] = old[self._line(bucket)]
        return made

    def _allocate(self, bucket: int) -> None:
        """Set memory aside: there is something to keep from this bucket on."""
        self._first = bucket
        for start in range(0, self._rows, CHUNK_ROWS):
            size = min(CHUNK_ROWS, self._rows - start)
            self._chunks.append(np.empty((self.count, size), dtype=self._width))

    def _is_empty(self, values: Plane) -> bool:
        return bool(np.isnan(values).all() if math.isnan(self._empty) else not values.any())

    def _line(self, bucket: int) -> int:
        return (bucket - self._first) % self.count

    def _write(self, lines: int) -> None:
        """Let so many lines be written."""
        if lines > self._lines:
            for chunk in self._chunks:
                chunk[self._lines : lines] = self._empty
            self._lines = lines

    def _cuts(self, first: int, last: int) -> list[tuple[int, int]]:
        """Where these buckets lie: one run of lines, or two."""
        start, end = self._line(first), self._line(last) + 1
        return [(start, end)] if start < end else [(start, self.count), (0, end)]

    def _chunk_starts(self) -> Iterator[tuple[int, Plane]]:
        """Each part with its first row."""
        for number, chunk in enumerate(self._chunks):
            yield number * CHUNK_ROWS, chunk


def bucket_of(now: float, shift: int = 0) -> int:
    """The bucket of a moment (monotonic seconds), where buckets begin `shift` seconds later."""
    return math.floor((now - shift) / BUCKET_S)
