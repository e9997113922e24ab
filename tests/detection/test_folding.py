"""Series of a signal, and how several become one number."""

import math

import numpy as np
import pytest

from accelwatch.detection.arrays import Floats
from accelwatch.detection.signals.folding import FoldedSignal, sources_of
from accelwatch.detection.signals.signal import ANY, Fold, Form, SignalRow

NAN = math.nan
KNOWN = {
    ("bytes", "b", "receive"),
    ("bytes", "a", "receive"),
    ("bytes", "a", "transmit"),
    ("bytes", "a"),
    ("other", "a", "receive"),
}


def signal(*series: str, fold: Fold | None = None) -> SignalRow:
    return SignalRow(series, "fabric", fold=fold)


def test_a_series_with_all_its_labels_is_requested_whether_it_is_known_or_not() -> None:
    assert sources_of(signal("power_watts"), KNOWN) == (("power_watts",),)


def test_any_label_is_each_that_is_known() -> None:
    found = sources_of(signal("bytes", ANY, "receive", fold=Fold.SUM), KNOWN)
    assert found == (("bytes", "a", "receive"), ("bytes", "b", "receive"))
    assert sources_of(signal("none", ANY), KNOWN) == ()


def folded(made: FoldedSignal, *values: list[float]) -> list[float]:
    arrays: list[Floats] = [np.array(each) for each in values]
    numbers: list[float] = made.folded(arrays, len(arrays[0]) if arrays else 2).tolist()
    return numbers


@pytest.mark.parametrize(
    ("fold", "expected"), [(Fold.SUM, 4.0), (Fold.MAX, 3.0), (Fold.MIN, 1.0), (None, 3.0)]
)
def test_folds(fold: Fold | None, expected: float) -> None:
    made = FoldedSignal(signal("x", ANY, fold=fold), [("x", "a"), ("x", "b")])
    assert folded(made, [1.0], [3.0]) == [expected]


@pytest.mark.parametrize("fold", [Fold.SUM, Fold.MAX, Fold.MIN])
def test_what_was_never_there_is_left_out(fold: Fold) -> None:
    made = FoldedSignal(signal("x", ANY, fold=fold), [("x", "a"), ("x", "b")])
    np.testing.assert_array_equal(folded(made, [1.0, NAN], [NAN, NAN]), [1.0, NAN])


def test_a_sum_without_a_part_is_unknown_until_another_node_stands_there() -> None:
    made = FoldedSignal(signal("x", ANY, fold=Fold.SUM), [("x", "a"), ("x", "b")])
    assert folded(made, [1.0, 1.0], [3.0, 3.0]) == [4.0, 4.0]
    np.testing.assert_array_equal(folded(made, [1.0, 1.0, 1.0], [NAN, 3.0, NAN]), [NAN, 4.0, 1.0])

    made.forget(np.array([True, False, False, False]))

    assert folded(made, [1.0, 1.0, 1.0], [NAN, 3.0, NAN]) == [1.0, 4.0, 1.0]


def test_a_signal_of_nothing_is_unknown() -> None:
    np.testing.assert_array_equal(
        folded(FoldedSignal(signal("x", ANY, fold=Fold.SUM), [])), [NAN, NAN]
    )


def counter() -> FoldedSignal:
    row = SignalRow(("x", ANY), "fabric", Form.RATE, fold=Fold.SUM)
    return FoldedSignal(row, [("x", "a")])


def test_a_counter_that_comes_later_adds_what_it_counts_from_then_on() -> None:
    made = counter()
    assert folded(made, [10.0]) == [10.0]
    made.extend([("x", "a"), ("x", "b")])
    assert folded(made, [11.0], [5000.0]) == [11.0]
    assert folded(made, [12.0], [5003.0]) == [15.0]


def test_the_first_counters_of_a_row_come_together() -> None:
    made = counter()
    made.extend([("x", "a"), ("x", "b")])
    assert folded(made, [10.0], [20.0]) == [30.0]


def test_a_gauge_that_comes_later_is_part_of_the_sum() -> None:
    made = FoldedSignal(signal("x", ANY, fold=Fold.SUM), [("x", "a")])
    folded(made, [1.0])
    made.extend([("x", "a"), ("x", "b")])
    assert folded(made, [1.0], [1.0]) == [2.0]


def test_a_row_that_is_given_to_another_starts_with_all_of_its_counters() -> None:
    made = counter()
    folded(made, [10.0])
    made.extend([("x", "a"), ("x", "b")])
    folded(made, [10.0], [20.0])
    made.forget(np.array([True]))
    assert folded(made, [1.0], [2.0]) == [3.0]


def test_a_part_that_was_taken_out_is_no_part_any_more() -> None:
    made = counter()
    made.extend([("x", "a"), ("x", "b")])
    folded(made, [10.0], [20.0])
    sums = [folded(made, [11.0 + frame], [math.nan])[0] for frame in range(50)]
    assert math.isnan(sums[0])
    assert math.isnan(sums[30])
    assert sums[-1] == 60.0


def test_a_silence_of_all_parts_takes_none_out() -> None:
    made = counter()
    made.extend([("x", "a"), ("x", "b")])
    folded(made, [10.0], [20.0])
    for _ in range(50):
        folded(made, [math.nan], [math.nan])
    assert math.isnan(folded(made, [11.0], [math.nan])[0])
    assert folded(made, [11.0], [21.0]) == [32.0]


def test_a_sum_that_leaves_out_what_came_later_is_shifted() -> None:
    made = counter()
    assert made.shifted(2).tolist() == [False, False]
    folded(made, [10.0, 10.0])
    made.extend([("x", "a"), ("x", "b")])
    folded(made, [10.0, 10.0], [math.nan, 20.0])
    assert made.shifted(3).tolist() == [False, True, False]
    made.forget(np.array([True, True]))
    assert made.shifted(2).tolist() == [False, False]
