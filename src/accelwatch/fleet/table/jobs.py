"""Since when the samples of each row are those of its job, for windows of a job.

A row may have been another job's before, or nobody's. Of a job that begins the first sample counts that
comes after the job was known; buckets count from the one after that. A row that several jobs share is of
the first by name; when that one ends, of the next, since that one began.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from accelwatch.expr.vocabulary.windows import WindowComponent
from accelwatch.fleet.table.belief import Bools, Floats
from accelwatch.fleet.table.buckets import BUCKET_S
from accelwatch.fleet.table.component_buckets import FORMS
from accelwatch.fleet.table.rows import grown
from accelwatch.fleet.table.tracks import Track


class Jobs(NamedTuple):
    """The jobs of all rows, as numbers: each that begins on a row has a higher one there."""

    # By row the job that it counts to; 0: none was ever known.
    of_row: npt.NDArray[np.uint32]
    # All jobs of the rows that several share.
    shared: Mapping[int, Sequence[int]] = {}


# The names of the jobs of each row that several share, sorted.
SharedRows = Callable[[], Mapping[int, Sequence[str]]]


class RowJobs:
    """Distinguishes a row's jobs; a job that is not reported for a while is still the same."""

    def __init__(self) -> None:
        self._jobs = Jobs(np.empty(0, dtype=np.uint32))
        # How many jobs have started on each row.
        self._job_counts: npt.NDArray[np.uint32] = np.empty(0, dtype=np.uint32)
        # The job of each row that was known last.
        self._names: npt.NDArray[np.object_] = np.empty(0, dtype=object)
        # Of rows that several share, the number of each.
        self._shared: dict[int, dict[str, int]] = {}
        self._stamp: object = None

    def refresh(
        self,
        stamp: object,
        codes: npt.NDArray[np.integer],
        names: Sequence[str],
        shared: SharedRows = dict,
    ) -> Jobs:
        """The jobs by row; `codes` are indices among the names of jobs, negative without one.

        A row that several share has the code of the first by name. `stamp` is the same object as long
        as nothing of this has changed.
        """
        if stamp is self._stamp:
            return self._jobs
        self._stamp = stamp
        now = np.array(["", *names], dtype=object)[np.maximum(codes, -1) + 1]
        before = grown(self._names, len(now), math.nan)
        other = (codes >= 0) & (now != before)
        several = shared()
        alone = other.copy()
        alone[[*several, *self._shared]] = False
        self._job_counts = grown(self._job_counts, len(now), 0) + alone
        numbers = np.where(alone, self._job_counts, grown(self._jobs.of_row, len(now), 0))
        for row in {*several, *self._shared}:
            if codes[row] >= 0:
                existing = self._shared.get(row) or {before[row]: int(numbers[row])}
                numbers[row] = self._number(row, several.get(row, (now[row],)), existing)
        self._names = np.where(other, now, before)
        self._jobs = Jobs(numbers, {row: [*jobs.values()] for row, jobs in self._shared.items()})
        return self._jobs

    def _number(self, row: int, names: Sequence[str], before: Mapping[str, int]) -> int:
        """The number of the first of the jobs on a row; one that was there before keeps its own."""
        after: dict[str, int] = {}
        for name in names:
            self._job_counts[row] += name not in before
            after[name] = before.get(name, int(self._job_counts[row]))
        if len(after) > 1:
            self._shared[row] = after
        else:
            self._shared.pop(row, None)
        return after[names[0]]


class JobStarts:
    """Since when; shared by all windows of a table."""

    def __init__(self) -> None:
        # Grows when another job has started on any row.
        self.version = 0
        # Grows when any row counts to a job again that shared it: what it said before counts too.
        self.resumed = 0
        self._jobs = Jobs(np.empty(0, dtype=np.uint32))
        # Monotonic seconds; infinite before the first sample, minus infinity without a known start.
        self._since: Floats = np.empty(0)
        # The same of each job of rows that several share.
        self._shared: dict[int, dict[int, float]] = {}
        # Those of these rows with a job that has no sample yet.
        self._waiting: set[int] = set()
        # By row what `version` was when its job began.
        self._started: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def refresh(self, now: float, jobs: Jobs, sampled: Bools) -> None:
        """The jobs of all rows at `now`, and which rows have a sample then."""
        size = len(jobs.of_row)
        before = grown(self._jobs.of_row, size, 0)
        self._since = grown(self._since, size, -math.inf)
        self._started = grown(self._started, size, 0)
        # What came with the news of the job may be older than the job.
        self._since[np.isposinf(self._since) & sampled] = now
        for row in [row for row in self._waiting if sampled[row]]:
            starts = self._shared[row]
            starts.update((job, now) for job, since in starts.items() if since == math.inf)
            self._waiting.remove(row)
        other = np.flatnonzero(jobs.of_row != before)
        if len(other) or jobs.shared is not self._jobs.shared:
            shared = self._shared
            self._shared = {
                row: self._starts_of(row, int(before[row]), numbers)
                for row, numbers in jobs.shared.items()
                if row < size
            }
            self._waiting = {
                row for row, starts in self._shared.items() if math.inf in starts.values()
            }
            self._jobs = jobs
            self.version += bool(len(other))
            self._since[other], self._started[other] = math.inf, self.version
            self._resume([row for row in other.tolist() if row in shared], shared)

    def _starts_of(self, row: int, job: int, jobs: Sequence[int]) -> dict[int, float]:
        """Since when each of the jobs that share a row is there; `job` is the one it counted to."""
        before = self._shared.get(row) or {job: float(self._since[row])}
        return {number: before.get(number, math.inf) for number in jobs}

    def _resume(self, rows: Sequence[int], shared: Mapping[int, Mapping[int, float]]) -> None:
        """Rows count to another of the jobs that shared them."""
        for row in rows:
            self._since[row] = shared[row].get(int(self._jobs.of_row[row]), math.inf)
            self.resumed += bool(np.isfinite(self._since[row]))

    def started_after(self, version: int) -> npt.NDArray[np.intp]:
        """Rows on which a job has started since `version`."""
        return np.flatnonzero(self._started > version)

    def first(self, shift: int) -> Floats:
        """By row the first bucket that is all the job's; buckets begin `shift` seconds later."""
        return np.floor((self._since - shift) / BUCKET_S) + 1


class JobTotals:
    """What a window sees of a series when only buckets of the row's job count."""

    def __init__(self, track: Track, count: int, starts: JobStarts) -> None:
        """`count` is how many closed buckets the window has."""
        self._track, self._count, self._starts = track, count, starts
        # Of the closed buckets, and of rows that count to an earlier job again.
        self._version = -1, -1
        # Folds of closed buckets, with the version of starts that they know.
        self._closed: dict[WindowComponent, tuple[int, Floats]] = {}

    def total(self, component: WindowComponent) -> Floats:
        """A component over the open bucket and the closed ones."""
        track = self._track
        if self._version != (track.version, self._starts.resumed):
            self._version, self._closed = (track.version, self._starts.resumed), {}
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
