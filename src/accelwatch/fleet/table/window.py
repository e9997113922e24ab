"""One window over the recent past of a series: what it makes of its samples, how far they cover it."""

import math
from collections.abc import Callable, Iterator
from enum import StrEnum

import numpy as np

from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.buckets import BUCKET_S
from accelwatch.fleet.table.jobs import JobStarts, JobTotals
from accelwatch.fleet.table.rows import grown
from accelwatch.fleet.table.tracks import Aggregate, Track
from accelwatch.schema.metrics import Kind as MetricKind
from accelwatch.schema.metrics import Series, by_key

# With fewer of the expected samples than this a window's value is not known.
LEAST_COVERAGE = 0.5
# Means that are sorted in one step, which takes about half a millisecond.
_CELLS_AT_ONCE = 1 << 14


class Kind(StrEnum):
    """What a window makes of its samples."""

    AVG = "avg"
    MIN = "min"
    MAX = "max"
    # By how much a counter has grown.
    INCREASE = "increase"
    # The same a second, over the time in which it was seen to grow.
    RATE = "rate"
    # Share of samples that are not 0.
    SHARE = "share"
    # Mean of the newest bucket that has samples, less that of the oldest closed one.
    DELTA = "delta"
    # Of the means of the closed buckets, interpolated linearly.
    QUANTILE = "quantile"
    # 1 where a counter grew, or anything else was not always the same, else 0.
    CHANGED = "changed"
    # Seconds since there was a value, however long ago.
    AGE = "age"


_AGGREGATES = {
    Kind.AVG: (Aggregate.COUNT, Aggregate.SUM),
    Kind.MIN: (Aggregate.COUNT, Aggregate.LEAST),
    Kind.MAX: (Aggregate.COUNT, Aggregate.MOST),
    Kind.INCREASE: (Aggregate.COUNT, Aggregate.RISE),
    Kind.RATE: (Aggregate.COUNT, Aggregate.RISE, Aggregate.SPAN),
    Kind.SHARE: (Aggregate.COUNT, Aggregate.TRUE),
    Kind.DELTA: (Aggregate.COUNT, Aggregate.SUM),
    Kind.QUANTILE: (Aggregate.COUNT, Aggregate.SUM),
    Kind.CHANGED: (Aggregate.COUNT, Aggregate.LEAST, Aggregate.MOST),
    Kind.AGE: (),
}


class Pace:
    """When samples were taken, and how often rows are heard; shared by all windows of a table."""

    def __init__(self) -> None:
        # When samples were taken last, monotonic seconds.
        self.now = 0.0
        # By row for which there are windows; NaN of one that was never heard.
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
        kind: Kind,
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
        # What is kept for it.
        self.aggregates = _AGGREGATES[Kind.INCREASE if self._counts else kind]
        self._track = track
        self._pace = pace
        self.of_job = of_job
        self._job = JobTotals(track, count, pace.starts) if of_job else None
        # What was made of closed buckets, and of which version of them.
        self._folded: tuple[int, tuple[Floats, ...]] = (-1, ())
        # Which version of starts of jobs that knows.
        self._starts_version = 0

    @property
    def _counts(self) -> bool:
        """Whether it asks of a counter if it grew."""
        row = by_key().get(self.series[0])
        return self.kind is Kind.CHANGED and row is not None and row.kind is MetricKind.COUNTER

    def value(self) -> Floats:
        """What the window was asked for."""
        return _VALUES[self.kind](self)

    def avg(self) -> Floats:
        """Mean of the samples."""
        return self._where_covered(
            self._total(Aggregate.SUM) / np.maximum(self._total(Aggregate.COUNT), 1)
        )

    def min(self) -> Floats:
        """Least sample."""
        return self._where_covered(self._total(Aggregate.LEAST))

    def max(self) -> Floats:
        """Greatest sample."""
        return self._where_covered(self._total(Aggregate.MOST))

    def increase(self) -> Floats:
        """By how much a counter has grown."""
        return self._where_covered(self._total(Aggregate.RISE))

    def rate(self) -> Floats:
        """Growth of a counter a second."""
        span = self._total(Aggregate.SPAN)
        grown_by = self._total(Aggregate.RISE) / np.where(span > 0, span, 1)
        return self._where_covered(np.where(span > 0, grown_by, math.nan))

    def share(self) -> Floats:
        """Share of samples that are not 0, from 0 to 1."""
        return self._where_covered(
            self._total(Aggregate.TRUE) / np.maximum(self._total(Aggregate.COUNT), 1)
        )

    def delta(self) -> Floats:
        """By how much a gauge is above where it was; 0 without a closed bucket that has samples."""
        first, last = self._once(self._edges)
        count, total = self._now(Aggregate.COUNT), self._now(Aggregate.SUM)
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
        version, rows = self._track.version, self._track.rows
        if self.kind is not Kind.QUANTILE or self._folded[0] == version:
            return
        values, starts = np.full(rows, math.nan), self._pace.starts.version
        step = max(_CELLS_AT_ONCE // self.count, 1)
        for start in range(0, rows, step):
            some = range(start, min(start + step, rows))
            values[start : some.stop] = _quantile(self._means(some), self.quantile)
            yield
            if (self._track.version, self._track.rows) != (version, rows):
                return
        self._folded, self._starts_version = (version, (values,)), starts

    def changed(self) -> Floats:
        """1 or 0."""
        if self._counts:
            return self._where_covered((self._total(Aggregate.RISE) > 0).astype(np.float64))
        other = self._total(Aggregate.LEAST) != self._total(Aggregate.MOST)
        return self._where_covered(other.astype(np.float64))

    def age(self) -> Floats:
        """Seconds since the last sample; NaN where there never was one."""
        age = np.maximum(self._pace.now - self._track.last_at, 0)
        return grown(age, self._pace.size, math.nan)

    def _once(self, make: Callable[[], tuple[Floats, ...]]) -> tuple[Floats, ...]:
        """What `make` makes of the closed buckets, made again when these are others."""
        version, folds = self._folded
        if version != self._track.version:
            folds = make()
            self._folded = self._track.version, folds
        elif self._job is not None:
            for numbers in folds:
                numbers[self._pace.starts.started_after(self._starts_version)] = math.nan
        self._starts_version = self._pace.starts.version
        return folds

    def _means(self, rows: range) -> Floats:
        """Means of the closed buckets of some rows, a bucket a line; NaN without samples."""
        counts = self._track.closed(Aggregate.COUNT, self.count, rows)
        sums = self._track.closed(Aggregate.SUM, self.count, rows)
        means = np.where(counts > 0, sums / np.maximum(counts, 1), math.nan)
        return means if self._job is None else self._job.means(means, rows)

    def samples(self) -> Floats:
        """How many samples each row has in it."""
        return grown(self._total(Aggregate.COUNT), self._pace.size, 0)

    def expected(self) -> Floats:
        """How many it would have had each come in its time; NaN of a row that was never heard."""
        return grown(self._expected(), self._pace.size, math.nan)

    def coverage(self) -> Floats:
        """Share of the expected samples that there are, at most 1; 0 of a row that was never heard."""
        expected = np.nan_to_num(self.expected(), nan=math.inf)
        return np.minimum(self.samples() / np.maximum(expected, 1), 1)

    @property
    def span_s(self) -> float:
        """Seconds from where it begins to now."""
        first = self._track.bucket - self.count
        return self._pace.now - first * BUCKET_S - self._track.shift

    def _total(self, aggregate: Aggregate) -> Floats:
        if self._job is not None:
            return self._job.total(aggregate)
        return self._track.total(aggregate, self.count)

    def _now(self, aggregate: Aggregate) -> Floats:
        return self._track.now(aggregate) if self._job is None else self._job.now(aggregate)

    def _expected(self) -> Floats:
        return self.span_s / self._pace.interval_s

    def _where_covered(self, values: Floats) -> Floats:
        least = np.maximum(self._expected() * LEAST_COVERAGE, 1)
        covered = self._total(Aggregate.COUNT) >= least  # never where none is expected
        return grown(np.where(covered, values, math.nan), self._pace.size, math.nan)


_VALUES: dict[Kind, Callable[[Window], Floats]] = {
    Kind.AVG: Window.avg,
    Kind.MIN: Window.min,
    Kind.MAX: Window.max,
    Kind.INCREASE: Window.increase,
    Kind.RATE: Window.rate,
    Kind.SHARE: Window.share,
    Kind.DELTA: Window.delta,
    Kind.QUANTILE: Window.quantiles,
    Kind.CHANGED: Window.changed,
    Kind.AGE: Window.age,
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
