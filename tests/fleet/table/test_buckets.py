"""Buckets of the past are folded quickly, and to what a plain fold of them comes to."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.fleet.table.buckets import CHUNK_ROWS, Buckets

KEPT = 300
FORMS = [
    (np.uint8, 0.0, np.add),
    (np.float32, 0.0, np.add),
    (np.float32, math.nan, np.fmin),
    (np.float32, math.nan, np.fmax),
]


@pytest.mark.parametrize(("width", "empty", "how"), FORMS)
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_fold_is_that_of_its_buckets(
    width: type[np.float32] | type[np.uint8], empty: float, how: np.ufunc, data: st.DataObject
) -> None:
    """The greatest counts too, over so many buckets that they do not go into a byte; and no numbers."""
    draw = np.random.default_rng(data.draw(st.integers(0, 1000)))
    buckets = Buckets(KEPT, width, empty)
    rows = data.draw(st.sampled_from([3, CHUNK_ROWS + 2]))
    buckets.grow(rows)
    most = data.draw(st.sampled_from([0, 1, 3, 255]))
    last = data.draw(st.integers(1, 2 * KEPT))
    for bucket in range(last + 1):
        numbers = draw.integers(0 if width is np.uint8 else -most, most + 1, rows)
        put = numbers.astype(np.float64) if bucket % 3 == 0 else np.full(rows, empty)
        buckets.store(bucket, put)
    for first in {last, max(last - 40, 0), max(last - KEPT + 1, 0)}:
        expected = how.reduce(buckets.each(first, last), axis=0)
        np.testing.assert_array_equal(buckets.fold(how, first, last), expected)


def test_what_is_older_than_a_fold_is_not_in_it() -> None:
    buckets = Buckets(10, np.float32, 0.0)
    buckets.grow(2)
    for bucket in range(20):
        buckets.store(bucket, np.array([-1.0, 0.0]) if bucket == 12 else np.zeros(2))
    assert buckets.fold(np.add, 12, 19).tolist() == [-1.0, 0.0]
    assert buckets.fold(np.add, 13, 19).tolist() == [0.0, 0.0]
    longer = buckets.resized(15, 19)
    assert longer.fold(np.add, 12, 19).tolist() == [-1.0, 0.0]


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_what_is_read_is_what_was_put_and_nothing_before(data: st.DataObject) -> None:
    """Whether lines are written yet or not: rows come, rows are cleared, buckets are left out."""
    kept, rows, now = 7, 2, data.draw(st.integers(0, 20))
    buckets = Buckets(kept, np.float32, math.nan)
    buckets.grow(rows)
    naive: dict[tuple[int, int], float] = {}
    for _ in range(data.draw(st.integers(1, 30))):
        match data.draw(st.sampled_from(["put", "put", "skip", "grow", "clear", "fold", "longer"])):
            case "put":
                numbers = np.arange(rows, dtype=np.float32) + data.draw(st.integers(0, 9))
                buckets.store(now, numbers)
                naive |= {(row, now): float(number) for row, number in enumerate(numbers)}
                now += 1
            case "skip":
                last = now + data.draw(st.integers(-1, kept))
                buckets.skip(now, last)
                now = last + 1
            case "grow":
                rows += data.draw(st.sampled_from([1, CHUNK_ROWS]))
                buckets.grow(rows)
            case "clear":
                cleared = data.draw(st.integers(0, rows - 1))
                buckets.clear(np.array([cleared]))
                naive = {at: number for at, number in naive.items() if at[0] != cleared}
            case "fold":
                buckets.fold(np.fmax, now - kept, now - 1)
            case "longer":
                kept += 1
                buckets = buckets.resized(kept, now - 1)
                naive = {at: number for at, number in naive.items() if at[1] > now - kept}
        row = data.draw(st.integers(0, rows - 1))
        expected = [naive.get((row, bucket), math.nan) for bucket in range(now - kept, now)]
        np.testing.assert_array_equal(buckets.read(row, now - kept, now - 1), expected)
