"""One window over the recent history of a series: its value, and how far samples cover it."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from accelwatch.expr.needs import is_counter
from accelwatch.expr.vocabulary.windows import (
    LEAST_SHARE,
    WindowComponent,
    WindowKind,
    components_of,
)
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.buckets import BUCKET_S
from accelwatch.fleet.table.jobs import JobStarts, JobTotals
from accelwatch.fleet.table.rows import grown
from accelwatch.fleet.table.tracks import Track
from accelwatch.schema.metrics import Series

# Means that are sorted in one step, which lasts about half a millisecond.
_CELLS_AT_ONCE = 1 << 14


class Pace:
    """When samples were added, and how often rows report; shared by all windows of a table."""

    def __init__(self) -> None:
        # When samples were last added, monotonic seconds.
        self.now = 0.0
        # By row for which there are windows; NaN of one that never reported.
        self.interval_s: Floats = np.empty(0)
        # Rows of the table.
        self.size = 0
        # Since when samples are of the job of a row.
        self.starts = JobStarts()


class Window:
    """One window over one series; its answers are arrays by row, NaN where the value is not known."""

    def __init__(
        self,
        series: Series,
        count: int,
        kind: WindowKind,
        track: Track,
        pace: Pace,
        *,
        quantile: float = 0.5,
        of_job: bool = False,
    ) -> None:
        """`quantile` from 0 to 1 is for that kind only; `of_job`: only the job's own samples count."""
        self.series = series
        self.kind = kind
        self.quantile = quantile
        # Closed buckets that it spans, beside the open one.
        self.count = count
        # Whether it needs of a counter whether it grew.
        self._counts = kind is WindowKind.CHANGED and is_counter(series)
        # What is kept for it.
        self.components = components_of(kind, counter=self._counts)
        self._track = track
        self._pace = pace
        self.of_job = of_job
        self._job = JobTotals(track, count, pace.starts) if of_job else None
        # What was made of closed buckets, and of which version of them.
        self._folded: tuple[tuple[int, int], tuple[Floats, ...]] = ((-1, -1), ())
        # Which version of starts of jobs that knows.
        self._starts_version = 0

    @property
    def _version(self) -> tuple[int, int]:
        """Of the closed buckets that count: other ones do when a row counts to an earlier job again."""
        return self._track.version, 0 if self._job is None else self._pace.starts.resumed

    def value(self) -> Floats:
        """The window's result."""
        return _VALUES[self.kind](self)

    def avg(self) -> Floats:
        """Mean of the samples."""
        return self._where_covered(
            self._total(WindowComponent.SUM) / np.maximum(self._total(WindowComponent.COUNT), 1)
        )

    def min(self) -> Floats:
        """Least sample."""
        return self._where_covered(self._total(WindowComponent.LEAST))

    def max(self) -> Floats:
        """Greatest sample."""
        return self._where_covered(self._total(WindowComponent.MOST))

    def increase(self) -> Floats:
        """By how much a counter has grown."""
        return self._where_covered(self._total(WindowComponent.RISE))

    def rate(self) -> Floats:
        """Growth of a counter a second."""
        span = self._total(WindowComponent.SPAN)
        grown_by = self._total(WindowComponent.RISE) / np.where(span > 0, span, 1)
        return self._where_covered(np.where(span > 0, grown_by, math.nan))

    def share(self) -> Floats:
        """Share of samples that are not 0, from 0 to 1."""
        return self._where_covered(
            self._total(WindowComponent.TRUE) / np.maximum(self._total(WindowComponent.COUNT), 1)
        )

    def delta(self) -> Floats:
        """By how much a gauge is above where it was; 0 without a closed bucket that has samples."""
        first, last = self._once(self._edges)
        count, total = self._now(WindowComponent.COUNT), self._now(WindowComponent.SUM)
        mean = total / np.maximum(count, 1)
        change = np.where(count > 0, mean, last) - first
        return self._where_covered(np.where(np.isnan(first), 0, change))

    def _edges(self) -> tuple[Floats, Floats]:
        if self._job is None:
            return self._track.edges(self.count)
        means = self._means(range(self._track.rows))
        present, rows = ~np.isnan(means), np.arange(means.shape[1])
        oldest, newest = present.argmax(axis=0), len(means) - 1 - present[::-1].argmax(axis=0)
        return means[oldest, rows], means[newest, rows]

    def quantiles(self) -> Floats:
        """The quantile of the means of the closed buckets."""
        return self._where_covered(self._once(self._all_quantiles)[0])

    def _all_quantiles(self) -> tuple[Floats]:
        return (_quantile(self._means(range(self._track.rows)), self.quantile),)

    def prepare(self) -> Iterator[None]:
        """Small steps after which its value is quick to be had; nothing where it is so anyway.

        A bucket that is closed between two steps makes them useless: then there are no more.
        """
        version, rows = self._version, self._track.rows
        if self.kind is not WindowKind.QUANTILE or self._folded[0] == version:
            return
        values, starts = np.full(rows, math.nan), self._pace.starts.version
        step = max(_CELLS_AT_ONCE // self.count, 1)
        for start in range(0, rows, step):
            some = range(start, min(start + step, rows))
            values[start : some.stop] = _quantile(self._means(some), self.quantile)
            yield
            if (self._version, self._track.rows) != (version, rows):
                return
        self._folded, self._starts_version = (version, (values,)), starts

    def changed(self) -> Floats:
        """1 or 0."""
        if self._counts:
            return self._where_covered((self._total(WindowComponent.RISE) > 0).astype(np.float64))
        other = self._total(WindowComponent.LEAST) != self._total(WindowComponent.MOST)
        return self._where_covered(other.astype(np.float64))

    def age(self) -> Floats:
        """Seconds since the last sample; NaN where there never was one."""
        age = np.maximum(self._pace.now - self._track.last_at, 0)
        return grown(age, self._pace.size, math.nan)

    def _once(self, make: Callable[[], tuple[Floats, ...]]) -> tuple[Floats, ...]:
        """What `make` makes of the closed buckets, made again when these are others."""
        version, folds = self._folded
        if version != self._version:
            folds = make()
            self._folded = self._version, folds
        elif self._job is not None:
            for numbers in folds:
                numbers[self._pace.starts.started_after(self._starts_version)] = math.nan
        self._starts_version = self._pace.starts.version
        return folds

    def _means(self, rows: range) -> Floats:
        """Means of the closed buckets of some rows, a bucket a line; NaN without samples."""
        counts = self._track.closed(WindowComponent.COUNT, self.count, rows)
        sums = self._track.closed(WindowComponent.SUM, self.count, rows)
        means = np.where(counts > 0, sums / np.maximum(counts, 1), math.nan)
        return means if self._job is None else self._job.means(means, rows)

    def samples(self) -> Floats:
        """How many samples each row has in it."""
        return grown(self._total(WindowComponent.COUNT), self._pace.size, 0)

    def expected(self) -> Floats:
        """How many it would have had each come in its time; NaN of a row that never reported."""
        return grown(self._expected(), self._pace.size, math.nan)

    def coverage(self) -> Floats:
        """Share of the expected samples that there are, at most 1; 0 of a row that never reported."""
        expected = np.nan_to_num(self.expected(), nan=math.inf)
        return np.minimum(self.samples() / np.maximum(expected, 1), 1)

    @property
    def span_s(self) -> float:
        """Seconds from where it begins to now."""
        first = self._track.bucket - self.count
        return self._pace.now - first * BUCKET_S - self._track.shift

    def _total(self, component: WindowComponent) -> Floats:
        if self._job is not None:
            return self._job.total(component)
        return self._track.total(component, self.count)

    def _now(self, component: WindowComponent) -> Floats:
        return self._track.now(component) if self._job is None else self._job.now(component)

    def _expected(self) -> Floats:
        return self.span_s / self._pace.interval_s

    def _where_covered(self, values: Floats) -> Floats:
        least = np.maximum(self._expected() * LEAST_SHARE, 1)
        covered = self._total(WindowComponent.COUNT) >= least  # never where none is expected
        return grown(np.where(covered, values, math.nan), self._pace.size, math.nan)


_VALUES: dict[WindowKind, Callable[[Window], Floats]] = {
    WindowKind.AVG: Window.avg,
    WindowKind.MIN: Window.min,
    WindowKind.MAX: Window.max,
    WindowKind.INCREASE: Window.increase,
    WindowKind.RATE: Window.rate,
    WindowKind.SHARE: Window.share,
    WindowKind.DELTA: Window.delta,
    WindowKind.QUANTILE: Window.quantiles,
    WindowKind.CHANGED: Window.changed,
    WindowKind.AGE: Window.age,
}


def _quantile(means: Floats, share: float) -> Floats:
    """A quantile of each column's numbers, interpolated linearly; NaN where there are none."""
    ordered, columns = np.sort(means, axis=0), np.arange(means.shape[1])  # NaN come last
    last = np.maximum(np.count_nonzero(~np.isnan(means), axis=0) - 1, 0)
    position = share * last
    low = np.floor(position).astype(np.intp)
    high = np.minimum(low + 1, last)
    below, above = ordered[low, columns], ordered[high, columns]
    between: Floats = below + (above - below) * (position - low)
    return between
