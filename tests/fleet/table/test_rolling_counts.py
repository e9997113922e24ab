"""Folds of counts that roll on are those that are made anew, whatever the gaps between buckets."""

import random

import numpy as np
import pytest

from accelwatch.expr.vocabulary.windows import WindowComponent
from accelwatch.fleet.table.buckets import BUCKET_S
from accelwatch.fleet.table.tracks import Sample, Track

ROWS = 5
LENGTHS = (1, 3, 12)


@pytest.mark.parametrize("seed", range(4))
def test_counts_roll_on(seed: int) -> None:
    drawn = random.Random(seed)
    values = np.random.default_rng(seed)
    track = Track(0, ROWS, 0.0)
    track.retain({WindowComponent.COUNT: max(LENGTHS), WindowComponent.SUM: max(LENGTHS)})
    expected: dict[int, np.ndarray[tuple[int], np.dtype[np.float64]]] = {}
    bucket = 0
    for _ in range(60):
        bucket += drawn.choice((0, 0, 1, 1, 1, 3, 3, 7, 20))
        track.roll(float(bucket * BUCKET_S))
        sample = np.where(values.random(ROWS) < 0.7, 1.0, np.nan)
        track.add(Sample(sample, np.full(ROWS, float(bucket))), np.full(ROWS, 30.0))
        expected[bucket] = expected.get(bucket, np.zeros(ROWS)) + ~np.isnan(sample)
        for length in drawn.sample(LENGTHS, 2):
            inside = [
                expected.get(one, np.zeros(ROWS)) for one in range(bucket - length, bucket + 1)
            ]
            assert (
                track.total(WindowComponent.COUNT, length).tolist()
                == np.sum(inside, axis=0).tolist()
            )


def test_a_row_that_starts_over_has_no_counts() -> None:
    track = Track(0, ROWS, 0.0)
    track.retain({WindowComponent.COUNT: 3, WindowComponent.SUM: 3})
    for bucket in range(4):
        track.roll(float(bucket * BUCKET_S))
        track.add(Sample(np.ones(ROWS), np.zeros(ROWS)), np.full(ROWS, 30.0))
        track.total(WindowComponent.COUNT, 2)
    track.clear(np.array([1], dtype=np.intp))
    track.roll(4.0 * BUCKET_S)
    assert track.total(WindowComponent.COUNT, 2).tolist() == [2, 0, 2, 2, 2]
