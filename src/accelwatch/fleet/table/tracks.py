"""What is gathered of one series: what its windows need of the open bucket, and of those before it.

A counter becomes what it has grown by. It never falls by itself: where it is less than before, a device
was reset, a register wrapped or a driver returned an older number, and how much it grew is unknown, so
that pair of samples adds nothing. What grew while nobody listened is counted when it is known, up to
`GAP_S` later.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from accelwatch.expr.vocabulary.windows import GAP_S, WindowComponent, bytes_of
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.buckets import bucket_of
from accelwatch.fleet.table.component_buckets import ComponentBuckets
from accelwatch.fleet.table.rows import grown

_COUNTERS = frozenset({WindowComponent.RISE, WindowComponent.SPAN})
# Parts with the content of a bucket, the best first.
_REPORTED = (
    WindowComponent.SUM,
    WindowComponent.MOST,
    WindowComponent.LEAST,
    WindowComponent.RISE,
    WindowComponent.TRUE,
)
# Parts that add up the samples: divided by these they are a mean, and a share.
_DIVIDED = (WindowComponent.SUM, WindowComponent.TRUE)


class Sample(NamedTuple):
    """The rows' values of a series at one time."""

    # NaN where there is nothing new.
    values: Floats
    # When it arrived, monotonic seconds.
    arrived: Floats


class Track:
    """One series of all rows."""

    def __init__(self, shift: int, rows: int, now: float) -> None:
        """Its buckets begin `shift` seconds later than whole tens."""
        self.shift = shift
        self.bucket = bucket_of(now, shift)
        # No samples are older.
        self._first = self.bucket
        self._rows = rows
        self._components: dict[WindowComponent, ComponentBuckets] = {}
        self._last: Floats = np.full(rows, math.nan)
        # When the last sample arrived, monotonic seconds; NaN where there was none.
        self.last_at: Floats = np.full(rows, math.nan)
        # Grows when closed buckets are others than before.
        self.version = 0

    def retain(self, needed: Mapping[WindowComponent, int]) -> None:
        """Keep these components, each for so many closed buckets, and no others."""
        self.version += 1
        for component in self._components.keys() - needed.keys():
            del self._components[component]
        for component, count in needed.items():
            buckets = self._components.get(component)
            if buckets is None:
                self._components[component] = ComponentBuckets(component, count, self._rows)
            else:
                buckets.resize(count, self.bucket - 1)

    def grow(self, rows: int) -> None:
        """Make room for as many rows."""
        self.version += 1
        self._rows = rows
        self._last = grown(self._last, rows, math.nan)
        self.last_at = grown(self.last_at, rows, math.nan)
        for buckets in self._components.values():
            buckets.grow(rows)

    def clear(self, rows: npt.NDArray[np.intp]) -> None:
        """Reset these rows."""
        self.version += 1
        self._last[rows] = self.last_at[rows] = math.nan
        for buckets in self._components.values():
            buckets.clear(rows)

    def roll(self, now: float) -> None:
        """Close the buckets that are over."""
        bucket = bucket_of(now, self.shift)
        if bucket > self.bucket:
            for buckets in self._components.values():
                buckets.close(self.bucket, bucket)
            self.bucket = bucket
            self.version += 1

    def add(self, sample: Sample, gap_s: Floats) -> None:
        """Samples into the open bucket; `gap_s` is how far apart two of a row may be, if not GAP_S."""
        values = sample.values
        present = ~np.isnan(values)
        for component, buckets in self._components.items():
            if component is WindowComponent.COUNT:
                buckets.now += present
            elif component is WindowComponent.TRUE:
                buckets.now += present & (values != 0)
            elif component is WindowComponent.SUM:
                np.add(buckets.now, values, out=buckets.now, where=present)
            elif (
                component not in _COUNTERS
            ):  # rounded as closed buckets are: a constant has one value
                buckets.form.fold(buckets.now, values.astype(np.float32), out=buckets.now)
        if not _COUNTERS.isdisjoint(self._components):
            self._rise(sample, gap_s)
        np.copyto(self._last, values, where=present)
        np.copyto(self.last_at, sample.arrived, where=present)

    def _rise(self, sample: Sample, gap_s: Floats) -> None:
        rise, gap = sample.values - self._last, sample.arrived - self.last_at
        counts = (rise >= 0) & (gap <= np.fmax(gap_s, GAP_S))  # NaN is neither
        for component, grew in (
            (WindowComponent.RISE, rise),
            (WindowComponent.SPAN, np.maximum(gap, 0)),
        ):
            if component in self._components:
                now = self._components[component].now
                np.add(now, grew, out=now, where=counts)

    def recent(
        self, rows: npt.NDArray[np.intp], count: int, interval_s: Floats
    ) -> tuple[bool, Floats]:
        """The values of some rows in the last `count` buckets, or by how much they grew a second.

        Whether it is growth, and float64[count, rows], the open bucket last; NaN for a bucket without
        samples, or from before any was kept. `interval_s` is how often each row reports: growth is over
        the time in which it was seen, also of rows that report less often than a bucket is long.
        """
        values = np.full((count, len(rows)), math.nan)
        component = next(
            (candidate for candidate in _REPORTED if candidate in self._components), None
        )
        if component is None:
            return False, values
        components = [self._components[WindowComponent.COUNT], self._components[component]]
        is_growth = component is WindowComponent.RISE
        if is_growth and WindowComponent.SPAN in self._components:
            components.append(self._components[WindowComponent.SPAN])
        closed = min(count - 1, *(buckets.closed_buckets.count for buckets in components))
        samples, numbers, *spans = (
            self._last_of_rows(buckets, rows, closed) for buckets in components
        )
        if is_growth:
            divisor = spans[0] if spans else samples * interval_s
        else:
            divisor = samples if component in _DIVIDED else np.ones_like(samples)
        valid = (samples > 0) & (divisor > 0) & np.isfinite(numbers)
        divided = np.full_like(numbers, math.nan)
        np.divide(numbers, divisor, out=divided, where=valid)
        values[count - closed - 1 :] = divided
        return is_growth, values

    def _last_of_rows(
        self, buckets: ComponentBuckets, rows: npt.NDArray[np.intp], closed: int
    ) -> Floats:
        before = buckets.closed_buckets.some(self.bucket - closed, self.bucket - 1, rows)
        return np.vstack([before, buckets.now[rows]])

    def total(self, component: WindowComponent, count: int) -> Floats:
        """A component over the open bucket and so many closed ones."""
        return self._components[component].total(self.bucket, count)

    def closed_total(self, component: WindowComponent, count: int) -> Floats:
        """A component over so many closed buckets alone; it is not to be written to."""
        return self._components[component].closed(self.bucket, count)

    def closed_of(
        self, component: WindowComponent, count: int, rows: npt.NDArray[np.intp]
    ) -> Floats:
        """A component of so many closed buckets of a few rows, a bucket a line, oldest first."""
        return self._components[component].closed_buckets.some(
            self.bucket - count, self.bucket - 1, rows
        )

    def now(self, component: WindowComponent) -> Floats:
        """A component of the open bucket."""
        return self._components[component].now

    @property
    def rows(self) -> int:
        """How many there are."""
        return self._rows

    def closed(self, component: WindowComponent, count: int, rows: range | None = None) -> Floats:
        """Of so many closed buckets, a bucket a line, oldest first; of all rows, or of some."""
        return self._components[component].closed_buckets.each(
            self.bucket - count, self.bucket - 1, rows
        )

    def edges(self, count: int) -> tuple[Floats, Floats]:
        """Means of the oldest and the newest of so many closed buckets that have samples, by row.

        Most rows have some in the first buckets that are read, so that the others are left alone.
        """
        oldest, newest = max(self.bucket - count, self._first), self.bucket - 1
        some = np.flatnonzero(
            self._components[WindowComponent.COUNT].closed(self.bucket, count) > 0
        )
        return (
            self._first_mean(range(oldest, newest + 1), some),
            self._first_mean(range(newest, oldest - 1, -1), some),
        )

    def _first_mean(self, buckets: range, rows: npt.NDArray[np.intp]) -> Floats:
        """By row the mean of the first of these buckets with samples; NaN but of these rows."""
        means = np.full(self._rows, math.nan)
        counts, sums = (
            self._components[WindowComponent.COUNT].closed_buckets,
            self._components[WindowComponent.SUM].closed_buckets,
        )
        size = 1
        while len(rows) and buckets:
            some, buckets, size = buckets[:size], buckets[size:], 4 * size
            low, high, lines = min(some), max(some), slice(None, None, some.step)
            count = counts.some(low, high, rows)[lines]
            first, column = (count > 0).argmax(axis=0), np.arange(len(rows))
            count = count[first, column]
            has = count > 0
            total = sums.some(low, high, rows)[lines][first, column]
            means[rows[has]] = total[has] / count[has]
            rows = rows[~has]
        return means


def bytes_a_row(needed: Mapping[WindowComponent, int]) -> int:
    """Memory a row: the last sample and its time, and all components."""
    return 16 + bytes_of(needed)
