"""What windows have gathered of one row, bucket by bucket, as a history shows it."""

import math

import numpy as np
import pytest

from accelwatch.fleet.table.buckets import CHUNK_ROWS
from fleet.table.test_windows import ECC, POWER, USED, Feed, Sample

nan = math.nan


@pytest.mark.parametrize("kind", ["avg", "delta", "quantile"])
def test_what_was_reported_in_buckets_is_their_means(kind: str) -> None:
    feed = Feed(1)
    feed.windows.request(POWER, 60, kind)
    feed.run([10.0] * 9 + [20.0] * 10 + [nan] * 10 + [40.0, 50.0])
    values, growth = feed.windows.recent_means(0, 5)
    assert values == {POWER: [None, 10.0, 20.0, None, 45.0]}
    assert growth == {}


def test_of_a_counter_the_growth_a_second_is_shown() -> None:
    feed = Feed(1)
    feed.windows.request(ECC, 30, "rate")
    feed.run([0.0, *[5.0] * 8, *[15.0] * 10, 15.0])
    values, growth = feed.windows.recent_means(0, 4)
    assert values == {}
    # In the first bucket it was watched for 8 s.
    assert growth == {ECC: [None, 5 / 8, 1.0, 0.0]}


def test_growth_of_a_row_read_seldom_is_over_the_time_between_its_samples() -> None:
    feed = Feed(1)
    feed.windows.request(ECC, 60, "rate")
    feed.run([0.0, *[nan] * 29, 60.0, *[nan] * 29, 120.0])
    _, growth = feed.windows.recent_means(0, 7)
    assert [step for step in growth[ECC] if step is not None] == [2.0, 2.0]


def test_the_greatest_or_the_share_stands_for_a_bucket_where_no_mean_is_kept() -> None:
    for kind, steps in (("max", [9.0, 3.0]), ("min", [0.0, 3.0]), ("share", [0.5, 1.0])):
        feed = Feed(1)
        feed.windows.request(POWER, 30, kind)
        feed.run(
            [*([0.0, 9.0] * 4), 0.0, 3.0] if kind != "share" else [*([0.0, 9.0] * 4), nan, 3.0]
        )
        values, _ = feed.windows.recent_means(0, 2)
        assert values == {POWER: steps}, kind


def test_ages_of_empty_rows_and_of_rows_beyond_are_not_notified() -> None:
    feed = Feed(2)
    feed.windows.request(POWER, 0, "age")
    feed.windows.request(USED, 30, "avg")
    feed.tick([Sample(1.0), Sample(nan)])
    assert feed.windows.recent_means(0, 3) == ({USED: [None, None, 1.0]}, {})
    assert feed.windows.recent_means(1, 3) == ({}, {})
    assert feed.windows.recent_means(CHUNK_ROWS * 8, 3) == ({}, {})


def test_windows_of_different_lengths_over_one_series_go_together() -> None:
    feed = Feed(1)
    feed.windows.request(POWER, 20, "avg")
    feed.windows.request(POWER, 60, "max")
    feed.run([float(number) for number in range(1, 40)])
    values, _ = feed.windows.recent_means(0, 5)
    assert values == {POWER: [None, None, 14.5, 24.5, 34.5]}


def test_of_several_rows_the_same_is_returned_as_an_array() -> None:
    feed = Feed(2)
    feed.windows.request(POWER, 60, "avg")
    for power in [10.0] * 9 + [20.0] * 10 + [nan] * 10 + [40.0, 50.0]:
        feed.tick([Sample(power), Sample(5.0)])
    rows = np.array([1, 0, CHUNK_ROWS * 8])
    reported = feed.windows.recent(POWER, rows, 5)
    assert reported is not None
    grows, values = reported
    assert not grows
    expected = [
        [nan, nan, nan],
        [5.0, 10.0, nan],
        [5.0, 20.0, nan],
        [5.0, nan, nan],
        [5.0, 45.0, nan],
    ]
    assert np.array_equal(values, expected, equal_nan=True)
    assert feed.windows.recent(USED, rows, 4) is None


@pytest.mark.parametrize("kind", ["rate", "increase"])
@pytest.mark.parametrize("interval_s", [1.0, 30.0])
def test_growth_is_a_second_however_seldom_a_row_is_sampled(kind: str, interval_s: float) -> None:
    feed = Feed(1, interval_s)
    feed.windows.request(ECC, 120, kind)
    total = 0.0
    for _ in range(round(120 / interval_s)):
        feed.tick([Sample(total)], interval_s)
        total += 2.0 * interval_s
    reported = feed.windows.recent(ECC, np.array([0]), 10)
    assert reported is not None
    grows, values = reported
    assert grows
    present = values[~np.isnan(values)]
    assert len(present) >= 3
    # Of the first bucket one sample is the start, and it grew in the others only.
    assert present[1:] == pytest.approx([2.0] * (len(present) - 1))
