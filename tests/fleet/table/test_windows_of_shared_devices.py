"""Windows of a job on a device that several jobs share: each has its own past there."""

import math
from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.expr.vocabulary.windows import WindowKind
from accelwatch.fleet.table.jobs import Jobs, RowJobs
from fleet.table.test_windows import ECC, POWER, Feed, Sample, check

KINDS = [kind for kind in WindowKind if kind is not WindowKind.AGE]
job_sets = st.sets(st.sampled_from("abc")).map(sorted)


class SharedFeed(Feed):
    """Rows that none, one or several jobs have."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self._row_jobs = RowJobs()
        self._running = Jobs(np.zeros(rows, dtype=np.uint32))
        # When the first sample was taken of each job that has a row; infinite before.
        self._starts: list[dict[str, float]] = [{} for _ in range(rows)]

    def running(self) -> Jobs:
        return self._running

    def play(
        self, samples: Sequence[Sample], jobs: Sequence[Sequence[str]], after_s: float = 1.0
    ) -> None:
        """A tick, at which each row has some jobs."""
        names = sorted({name for some in jobs for name in some})
        codes = np.array([names.index(some[0]) if some else -1 for some in jobs])
        shared = {row: some for row, some in enumerate(jobs) if len(some) > 1}
        self._running = self._row_jobs.refresh(object(), codes, names, lambda: shared)
        self.tick(samples, after_s)
        for row, (sample, some) in enumerate(zip(samples, jobs, strict=True)):
            starts = self._starts[row]
            if sample.received:
                starts.update((job, self.now) for job in starts if math.isinf(starts[job]))
            if some:
                self._starts[row] = {job: starts.get(job, math.inf) for job in some}
                self.job_since[row] = self._starts[row][some[0]]
            elif starts:
                self.job_since[row] = starts[min(starts)]


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.tuples(*[st.tuples(st.floats(0, 100), st.booleans(), job_sets)] * 2),
            st.sampled_from([1.0, 3.0, 7.5, 25.0]),
        ),
        min_size=1,
        max_size=40,
    ),
    st.lists(st.tuples(st.integers(1, 60), st.sampled_from(KINDS)), min_size=1, max_size=5),
)
def test_a_window_has_the_samples_since_the_start_of_the_job_that_a_device_counts_to(
    ticks: list[tuple[tuple[tuple[float, bool, list[str]], ...], float]],
    requested: list[tuple[int, WindowKind]],
) -> None:
    feed = SharedFeed(2)
    windows = [
        feed.windows.request(POWER, seconds, kind, 0.25, of_job=True) for seconds, kind in requested
    ]
    for rows, after_s in ticks:
        samples = [Sample(value, received=received) for value, received, _ in rows]
        feed.play(samples, [jobs for _, _, jobs in rows], after_s)
        for window in windows:
            list(window.prepare())
        check(feed, windows)


def test_a_job_that_goes_on_keeps_its_past_when_another_has_come_and_gone() -> None:
    feed = SharedFeed(1)
    window = feed.windows.request(POWER, 60, "max", of_job=True)
    growth = feed.windows.request(ECC, 60, "increase", of_job=True)
    for second in range(100):
        feed.play([Sample(float(second))], ["b"])
    feed.play([Sample(100.0)], [["a", "b"]])
    assert math.isnan(window.value()[0]), "a has no sample yet, and the device counts to it"
    feed.play([Sample(1.0)], [["b"]])
    assert (window.value()[0], growth.coverage()[0]) == (100.0, 1.0)


def test_a_job_that_came_while_another_ran_has_its_past_when_that_ends() -> None:
    feed = SharedFeed(1)
    window = feed.windows.request(POWER, 60, "max", of_job=True)
    for second in range(100):
        feed.play([Sample(1000.0 - second)], ["a"])
    for second in range(50):
        feed.play([Sample(float(second))], [["a", "b"]])
    feed.play([Sample(0.0)], [["b"]])
    assert window.value()[0] == 49.0


def test_a_job_that_comes_again_has_started_over() -> None:
    feed = SharedFeed(1)
    window = feed.windows.request(POWER, 60, "max", of_job=True)
    for second in range(100):
        feed.play([Sample(float(second))], [["a", "b"]])
    feed.play([Sample(100.0)], [["b"]])
    assert window.value()[0] == 100.0
    feed.play([Sample(100.0)], [["a", "b"]])
    assert math.isnan(window.value()[0])


def test_jobs_that_share_a_row_are_distinguished_by_name() -> None:
    jobs = RowJobs()

    def bring(*names: str) -> tuple[int, list[int]]:
        found = sorted(names)
        codes = np.array([0 if found else -1])
        shared = {0: found} if len(found) > 1 else {}
        made = jobs.refresh(object(), codes, found, lambda: shared)
        return int(made.of_row[0]), sorted(made.shared.get(0, ()))

    assert bring("b") == (1, [])
    assert bring("b", "a") == (2, [1, 2])
    assert bring() == (2, [1, 2]), "not told for a while"
    assert bring("b") == (1, [])
    assert bring("a", "b") == (3, [1, 3])
    assert bring("c") == (4, [])
