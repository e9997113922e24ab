"""What layouts of devices have in common is kept once, however many and however wide they are."""

from collections.abc import Callable

import pytest

from accelwatch.fleet.dialects.base import sharing
from accelwatch.schema.metrics import Series


def layout(first: int, count: int) -> tuple[Series, ...]:
    return tuple(("temperature_celsius", str(number)) for number in range(first, first + count))


MAKERS: dict[str, Callable[[int, int], object]] = {
    "placed": lambda first, count: sharing.series_positions(layout(first, count)),
    "picker": lambda first, count: sharing.picker(tuple(range(first, first + count))),
    "not_told": lambda first, count: sharing.absence_reasons(frozenset(layout(first, count)), True),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_layout_is_made_once(make: Callable[[int, int], object]) -> None:
    assert make(0, 20) is make(0, 20)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_layout_that_is_too_wide_is_not_kept(make: Callable[[int, int], object]) -> None:
    assert make(0, 5000) is not make(0, 5000)
    if make is not MAKERS["picker"]:
        assert make(0, 5000) == make(0, 5000)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_of_many_layouts_the_latest_are_kept(make: Callable[[int, int], object]) -> None:
    first = make(1, 3)
    for at in range(2, 400):
        make(at, 3)
    assert make(1, 3) is not first
