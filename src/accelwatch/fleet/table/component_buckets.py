"""The buckets of one component of a series: the open one, the closed ones, and folds over them.

A fold over closed buckets is the same until the open one closes, so it is made once and kept until then.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from accelwatch.expr.vocabulary.windows import WindowComponent
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.buckets import Buckets
from accelwatch.fleet.table.rows import grown

# Samples of a bucket, as one byte holds them.
_MOST_COUNTED = 255


class Form(NamedTuple):
    """How a component is kept."""

    width: type[np.float32] | type[np.uint8]
    # The number of a bucket without samples.
    empty: float
    # What makes one number of two buckets.
    fold: np.ufunc


# By component.
FORMS = {
    WindowComponent.COUNT: Form(np.uint8, 0, np.add),
    WindowComponent.TRUE: Form(np.uint8, 0, np.add),
    WindowComponent.SUM: Form(np.float32, 0, np.add),
    WindowComponent.LEAST: Form(np.float32, math.nan, np.fmin),
    WindowComponent.MOST: Form(np.float32, math.nan, np.fmax),
    WindowComponent.RISE: Form(np.float32, 0, np.add),
    WindowComponent.SPAN: Form(np.float32, 0, np.add),
}


class ComponentBuckets:
    """One component of a series, a number a row and bucket."""

    def __init__(self, component: WindowComponent, count: int, rows: int) -> None:
        self.form = FORMS[component]
        self.closed_buckets = Buckets(count, self.form.width, self.form.empty)
        self.closed_buckets.grow(rows)
        # The open bucket.
        self.now: Floats = np.full(rows, self.form.empty, dtype=np.float64)
        # Closed buckets folded, by how many: kept until the open one closes.
        self.folded: dict[int, Floats] = {}

    def grow(self, rows: int) -> None:
        """Make room for as many rows."""
        self.closed_buckets.grow(rows)
        self.now = grown(self.now, rows, self.form.empty)
        self.folded = {
            count: grown(numbers, rows, self.form.empty) for count, numbers in self.folded.items()
        }

    def resize(self, count: int, newest: int) -> None:
        """Keep so many closed buckets, of which `newest` was closed last."""
        if count != self.closed_buckets.count:
            self.closed_buckets, self.folded = self.closed_buckets.resized(count, newest), {}

    def clear(self, rows: npt.NDArray[np.intp]) -> None:
        """Reset these rows."""
        self.closed_buckets.clear(rows)
        for numbers in (self.now, *self.folded.values()):
            numbers[rows] = self.form.empty

    def close(self, bucket: int, following: int) -> None:
        """The open bucket is over, and another has started."""
        counts = self.form.width is np.uint8
        full = np.minimum(self.now, _MOST_COUNTED) if counts else self.now
        self.folded = self._moved_on(full, bucket, following) if counts else {}
        self.closed_buckets.store(bucket, full)
        self.closed_buckets.skip(bucket + 1, following - 1)
        self.now[:] = self.form.empty

    def _moved_on(self, full: Floats, bucket: int, following: int) -> dict[int, Floats]:
        """Folds of counts, which are exact: what came is added, what leaves is subtracted."""
        return {
            count: numbers
            + full
            - self.closed_buckets.fold(np.add, bucket - count, following - count - 1)
            for count, numbers in self.folded.items()
            if following - bucket <= count
        }

    def closed(self, bucket: int, count: int) -> Floats:
        """So many buckets before the open one, folded."""
        closed = self.folded.get(count)
        if closed is None:
            closed = self.closed_buckets.fold(self.form.fold, bucket - count, bucket - 1)
            self.folded[count] = closed
        return closed

    def total(self, bucket: int, count: int) -> Floats:
        """The open bucket and so many before it, folded."""
        result: Floats = self.form.fold(self.closed(bucket, count), self.now)
        return result
