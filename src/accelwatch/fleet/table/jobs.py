"""Since when the samples of each row are those of its job, for windows that ask about a job.

A row may have been another job's before, or nobody's. Of a job that begins the first sample counts that
comes after the job was known; buckets count from the one after that.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from accelwatch.expr.vocabulary.windows import WindowComponent
from accelwatch.fleet.table.belief import Bools, Floats
from accelwatch.fleet.table.buckets import BUCKET_S
from accelwatch.fleet.table.rows import grown
from accelwatch.fleet.table.tracks import FORMS, Track

# By row a number that is another when another job has begun there; 0: none was ever known.
Jobs = npt.NDArray[np.uint32]


class RowJobs:
    """Tells one job of a row from the next; a job that is not told of for a while is still the same."""

    def __init__(self) -> None:
        self._numbers: Jobs = np.empty(0, dtype=np.uint32)
        # The job of each row that was known last.
        self._names: npt.NDArray[np.object_] = np.empty(0, dtype=object)
        self._stamp: object = None

    def refresh(self, stamp: object, codes: npt.NDArray[np.integer], names: Sequence[str]) -> Jobs:
        """The numbers by row; `codes` are places among the names of jobs, negative without one.

        `stamp` is the same object as long as neither has changed.
        """
        if stamp is not self._stamp:
            self._stamp = stamp
            now = np.array(["", *names], dtype=object)[np.maximum(codes, -1) + 1]
            before = grown(self._names, len(now), math.nan)
            other = (codes >= 0) & (now != before)
            self._numbers = grown(self._numbers, len(now), 0) + other
            self._names = np.where(other, now, before)
        return self._numbers


class JobStarts:
    """Since when; shared by all windows of a table."""

    def __init__(self) -> None:
        # Grows when another job has begun on any row.
        self.version = 0
        self._jobs: Jobs = np.empty(0, dtype=np.uint32)
        # Monotonic seconds; infinite before the first sample, minus infinity without a known start.
        self._since: Floats = np.empty(0)
        # By row what `version` was when its job began.
        self._started: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def refresh(self, now: float, jobs: Jobs, sampled: Bools) -> None:
        """The jobs of all rows at `now`, and which rows have a sample then."""
        self._jobs = grown(self._jobs, len(jobs), 0)
        self._since = grown(self._since, len(jobs), -math.inf)
        self._started = grown(self._started, len(jobs), 0)
        other = jobs != self._jobs
        # What came with the news of the job may be older than the job.
        self._since[np.isposinf(self._since) & sampled] = now
        if other.any():
            self.version += 1
            self._since[other], self._started[other] = math.inf, self.version
            self._jobs = jobs.copy()

    def started_after(self, version: int) -> npt.NDArray[np.intp]:
        """Rows on which a job has begun since `version`."""
        return np.flatnonzero(self._started > version)

    def first(self, shift: int) -> Floats:
        """By row the first bucket that is all the job's; buckets begin `shift` seconds later."""
        return np.floor((self._since - shift) / BUCKET_S) + 1


class JobTotals:
    """What a window sees of a series when only buckets of the row's job count."""

    def __init__(self, track: Track, count: int, starts: JobStarts) -> None:
        """`count` is how many closed buckets the window has."""
        self._track, self._count, self._starts = track, count, starts
        self._version = -1
        # Folds of closed buckets, with the version of starts that they know.
        self._closed: dict[WindowComponent, tuple[int, Floats]] = {}

    def total(self, component: WindowComponent) -> Floats:
        """A component over the open bucket and the closed ones."""
        track = self._track
        if self._version != track.version:
            self._version, self._closed = track.version, {}
        version, closed = self._closed.get(component) or (
            self._starts.version,
            self._folded(component),
        )
        closed[self._starts.started_after(version)] = FORMS[component].empty
        self._closed[component] = self._starts.version, closed
        total: Floats = FORMS[component].fold(closed, self.now(component))
        return total

    def now(self, component: WindowComponent) -> Floats:
        """A component of the open bucket."""
        counts = self._first() <= self._track.bucket
        return np.where(counts, self._track.now(component), FORMS[component].empty)

    def means(self, means: Floats, rows: range) -> Floats:
        """Means of closed buckets of some rows, a bucket a line, without those before the job."""
        before = self._buckets()[:, np.newaxis] < self._first()[rows.start : rows.stop]
        return np.where(before, math.nan, means)

    def _folded(self, component: WindowComponent) -> Floats:
        closed = self._track.closed_total(component, self._count).copy()
        first = self._first()
        empty = (
            np.isnan(closed)
            if math.isnan(FORMS[component].empty)
            else closed == FORMS[component].empty
        )
        young = np.flatnonzero((first > self._track.bucket - self._count) & ~empty)
        if len(young):
            buckets = self._track.closed_of(component, self._count, young)
            buckets[self._buckets()[:, np.newaxis] < first[young]] = FORMS[component].empty
            closed[young] = FORMS[component].fold.reduce(buckets, axis=0)
        return closed

    def _first(self) -> Floats:
        return grown(self._starts.first(self._track.shift), self._track.rows, -math.inf)

    def _buckets(self) -> npt.NDArray[np.int64]:
        return np.arange(self._track.bucket - self._count, self._track.bucket)
