"""What windows have gathered of one row, bucket by bucket, as a history shows it."""

import math

import pytest

from accelwatch.fleet.table.buckets import CHUNK_ROWS
from fleet.table.test_windows import ECC, POWER, USED, Feed, Saying

nan = math.nan


@pytest.mark.parametrize("kind", ["avg", "delta", "quantile"])
def test_what_was_told_in_buckets_is_their_means(kind: str) -> None:
    feed = Feed(1)
    feed.windows.request(POWER, 60, kind)
    feed.run([10.0] * 9 + [20.0] * 10 + [nan] * 10 + [40.0, 50.0])
    values, growth = feed.windows.recent_means(0, 5)
    assert values == {POWER: [None, 10.0, 20.0, None, 45.0]}
    assert growth == {}


def test_of_a_counter_the_growth_a_second_is_told() -> None:
    feed = Feed(1)
    feed.windows.request(ECC, 30, "rate")
    feed.run([0.0, *[5.0] * 8, *[15.0] * 10, 15.0])
    values, growth = feed.windows.recent_means(0, 4)
    assert values == {}
    assert growth == {ECC: [None, 0.5, 1.0, 0.0]}


def test_the_greatest_or_the_share_stands_for_a_bucket_where_no_mean_is_kept() -> None:
    for kind, steps in (("max", [9.0, 3.0]), ("min", [0.0, 3.0]), ("share", [0.5, 1.0])):
        feed = Feed(1)
        feed.windows.request(POWER, 30, kind)
        feed.run(
            [*([0.0, 9.0] * 4), 0.0, 3.0] if kind != "share" else [*([0.0, 9.0] * 4), nan, 3.0]
        )
        values, _ = feed.windows.recent_means(0, 2)
        assert values == {POWER: steps}, kind


def test_nothing_is_told_of_ages_of_empty_rows_and_of_rows_beyond() -> None:
    feed = Feed(2)
    feed.windows.request(POWER, 0, "age")
    feed.windows.request(USED, 30, "avg")
    feed.tick([Saying(1.0), Saying(nan)])
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
