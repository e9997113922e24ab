"""Fifteen minutes of a device in steps: what was reported first in each, nothing where nothing was."""

import weakref
from collections.abc import Sequence
from typing import cast

import pytest

from accelwatch.fleet.state.history import QUANTITIES, STEPS, History
from accelwatch.fleet.state.nodes.devices import FleetDevice
from accelwatch.schema.reading import Number


class Reporting:
    """A device that reports one number for all quantities."""

    def __init__(self, value: float | None) -> None:
        self._value = value

    def numbers(self, series: Sequence[object]) -> list[Number | None]:
        return [self._value] * len(series)


def keep(history: History, step: int, *devices: tuple[int, float | None]) -> None:
    history.store(step, [(row, cast(FleetDevice, Reporting(value))) for row, value in devices])


def line(history: History, row: int, now: int) -> list[float | None]:
    lines = history.rows(row, now)
    assert list(lines) == list(QUANTITIES)
    (first, *others) = lines.values()
    assert all(other == first for other in others)
    assert len(first) == STEPS
    return first


def test_every_step_of_the_time_is_there_and_none_before_it() -> None:
    history = History()
    for step in range(2 * STEPS):
        keep(history, step, (0, float(step)))
    now = 2 * STEPS - 1
    assert line(history, 0, now) == [float(step) for step in range(STEPS, 2 * STEPS)]
    assert line(history, 0, now + 2) == [*range(STEPS + 2, 2 * STEPS), None, None]


def test_steps_without_a_sample_are_empty() -> None:
    history = History()
    for step in range(STEPS):
        keep(history, step, (0, 1.0))
    keep(history, STEPS + 4, (0, 2.0))
    assert line(history, 0, STEPS + 4) == [*[1.0] * (STEPS - 5), *[None] * 4, 2.0]


def test_what_was_sampled_first_in_a_step_counts_and_history_is_not_rewritten() -> None:
    history = History()
    keep(history, 5, (0, 1.0))
    keep(history, 5, (0, 2.0), (1, 3.0))
    keep(history, 4, (0, 4.0))
    assert line(history, 0, 5)[-2:] == [None, 1.0]
    assert line(history, 1, 5)[-2:] == [None, 3.0]


def test_a_device_without_a_number_has_reported_nothing() -> None:
    history = History()
    keep(history, 5, (0, None))
    assert line(history, 0, 5) == [None] * STEPS


@pytest.mark.parametrize("row", [1, 100_000])
def test_a_row_that_was_never_reported_is_empty(row: int) -> None:
    history = History()
    keep(history, 5, (0, 1.0))
    assert history.rows(row, 5) == {}


def test_another_device_in_the_row_starts_with_nothing() -> None:
    history = History()
    for step in range(3):
        keep(history, step, (0, 1.0), (1, 2.0))
    history.clear(0)
    history.clear(7)
    assert history.rows(0, 3) == {}
    keep(history, 4, (0, 9.0))
    assert line(history, 0, 4)[-5:] == [None, None, None, None, 9.0]
    assert line(history, 1, 4)[-5:] == [2.0, 2.0, 2.0, None, None]


def test_many_devices_at_once_are_all_there() -> None:
    history = History()
    keep(history, 1, *((row, float(row)) for row in range(5000)))
    keep(history, 2, (4999, 1.0))
    assert line(history, 4999, 2)[-2:] == [4999.0, 1.0]
    assert line(history, 1, 2)[-2:] == [1.0, None]


class Watched(float):
    """A number of which one can see whether it is still held."""


def test_no_more_than_256_devices_wait_to_be_written_down() -> None:
    history = History()
    numbers = [Watched(row) for row in range(256)]
    held = [weakref.ref(number) for number in numbers]
    while numbers:
        keep(history, 1, (len(numbers) - 1, numbers.pop()))
        waiting = [one() for one in held if one() is not None]
        assert len(waiting) == (256 if numbers else 0)
        del waiting
    assert line(history, 255, 1)[-1] == 255.0


def test_the_first_step_of_all_counts() -> None:
    history = History()
    keep(history, 0, (0, 7.0))
    assert line(history, 0, 0) == [*[None] * (STEPS - 1), 7.0]
