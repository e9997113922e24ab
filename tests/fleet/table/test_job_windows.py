"""Windows of a job: what a row did before its job started does not count."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.expr.vocabulary.windows import WindowKind
from accelwatch.fleet.table.jobs import RowJobs
from fleet.table.test_windows import ECC, POWER, Feed, Sample, check, samples

nan = math.nan
reported = st.tuples(samples, st.sampled_from([False] * 12 + [True])).map(
    lambda pair: pair[0]._replace(starts_job=pair[1])
)
steps = st.tuples(
    st.tuples(reported, reported, reported),
    st.sampled_from([1.0, 1.0, 1.0, 1.0, 3.0, 7.5, 25.0, 400.0]),
)
KINDS = [kind for kind in WindowKind if kind is not WindowKind.AGE]


@settings(max_examples=80, deadline=None)
@given(
    st.lists(steps, min_size=1, max_size=40),
    st.lists(
        st.tuples(st.integers(1, 60), st.sampled_from(KINDS), st.sampled_from([0.0, 0.25, 1.0])),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([1.0, 5.0, 15.0]),
    st.integers(0, 9),
)
def test_a_window_of_a_job_says_what_the_samples_of_the_job_say(
    ticks: list[tuple[tuple[Sample, Sample, Sample], float]],
    requested: list[tuple[int, WindowKind, float]],
    interval_s: float,
    shift: int,
) -> None:
    feed = Feed(3, interval_s, shift)
    windows = [
        feed.windows.request(POWER, seconds, kind, share, of_job=of_job)
        for seconds, kind, share in requested
        for of_job in (True, False)
    ]
    for rows, after_s in ticks:
        feed.tick(rows, after_s)
        for one in windows[::2]:
            list(one.prepare())
        check(feed, windows)


def test_a_window_of_a_job_is_known_when_half_of_it_is_the_jobs() -> None:
    feed = Feed(1)
    whole = feed.windows.request(POWER, 60, "max")
    of_job = feed.windows.request(POWER, 60, "max", of_job=True)
    feed.run([700.0] * 100)
    assert (whole.value()[0], of_job.value()[0]) == (700.0, 700.0)
    feed.tick([Sample(700.0, starts_job=True)])
    assert (whole.value()[0], math.isnan(of_job.value()[0])) == (700.0, True)
    feed.run([300.0] * 29)
    assert math.isnan(of_job.value()[0])
    assert of_job.coverage()[0] < 0.5 < whole.coverage()[0]
    feed.run([300.0] * 29)
    assert (whole.value()[0], of_job.value()[0]) == (700.0, 300.0)


def test_what_a_counter_grew_before_the_job_is_not_the_jobs() -> None:
    feed = Feed(1)
    rate = feed.windows.request(ECC, 60, "rate", of_job=True)
    feed.run([1000.0 * second for second in range(61)])
    assert rate.value()[0] == pytest.approx(1000.0)
    feed.tick([Sample(61_000.0, starts_job=True)])
    feed.tick([Sample(1_000_000.0)], after_s=20.0)
    feed.run([1_000_000.0 + second for second in range(1, 60)])
    assert rate.value()[0] == pytest.approx(1.0)


def test_jobs_of_two_windows_take_the_memory_of_one() -> None:
    feed = Feed(1)
    feed.windows.request(POWER, 60, "max")
    before = feed.windows.bytes
    feed.windows.request(POWER, 60, "max", of_job=True)
    feed.run([1.0])
    assert feed.windows.bytes > before == 0
    one = Feed(1)
    one.windows.request(POWER, 60, "max")
    one.run([1.0])
    assert feed.windows.bytes == one.windows.bytes


def test_a_job_is_another_only_when_its_name_is() -> None:
    jobs = RowJobs()

    def bring(*names: str | None) -> list[int]:
        words = sorted({one for one in names if one is not None})
        codes = np.array([-1 if one is None else words.index(one) for one in names])
        return [int(number) for number in jobs.refresh(object(), codes, words).of_row]

    assert bring(None, "a") == [0, 1]
    assert bring("b", "a") == [1, 1]
    assert bring(None, "a") == [1, 1]
    assert bring("b", "c", "c") == [1, 2, 1]
    assert bring("c", None, "c") == [2, 2, 1]
