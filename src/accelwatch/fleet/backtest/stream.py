"""Samples of an archive an interval at a time, as matrices: a series a row, a sample a column."""

import heapq
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np

from accelwatch.archive.history.samples import Group, Samples
from accelwatch.fleet.rules.columns import Places
from accelwatch.fleet.table.belief import Floats
from accelwatch.schema.metrics import Series

Some = TypeVar("Some")


class Told(NamedTuple):
    """Samples of one table that lie in one interval, or a part of them, in order of time."""

    entity: Places
    """Numbers in `Samples.entities`."""
    seconds: Floats
    """Unix seconds at which each was taken."""
    values: Floats
    """A series a row, in the order that was asked for; NaN where absent."""


class Interval(NamedTuple):
    """All samples after the interval before and up to `time` (Unix seconds)."""

    time: float
    devices: list[Told]
    nodes: list[Told]


def intervals(
    devices: tuple[Samples, tuple[Series, ...]],
    nodes: tuple[Samples, tuple[Series, ...]],
    step_s: float,
    begin: float,
    end: float,
) -> Iterator[Interval]:
    """Every interval from the first to the last that has samples, those without any among them.

    Each table with the series that its matrices have. Raises ArchiveError.
    """
    streams = [
        _parts(table, samples.groups(begin, end), series, (step_s, begin))
        for table, (samples, series) in enumerate((devices, nodes))
    ]
    current: int | None = None
    told: tuple[list[Told], list[Told]] = [], []
    for at, table, part in heapq.merge(*streams, key=lambda one: one[0]):
        while current is not None and current < at:
            yield Interval(begin + current * step_s, *told)
            told, current = ([], []), current + 1
        current = max(at, at if current is None else current)
        told[table].append(part)
    if current is not None:
        yield Interval(begin + current * step_s, *told)


def _parts(
    table: int, groups: Iterator[Group], series: tuple[Series, ...], steps: tuple[float, float]
) -> Iterator[tuple[int, int, Told]]:
    """Each part with its interval's number and its table's; `steps` are their length and beginning."""
    step_s, begin = steps
    step, zero = round(step_s * 1000), round(begin * 1000)
    for group, values in _ahead((one, _matrix(one, series)) for one in groups):
        numbers = -((zero - group.times) // step)
        seconds = group.times / 1000
        cuts = np.flatnonzero(np.diff(numbers)) + 1
        for first, last in zip([0, *cuts.tolist()], [*cuts.tolist(), len(numbers)], strict=True):
            told = Told(group.entity[first:last], seconds[first:last], values[:, first:last])
            yield int(numbers[first]), table, told


def _ahead(made: Iterator[Some]) -> Iterator[Some]:
    """The same, the next one made on a thread while this one is used: two are in memory at most."""
    with ThreadPoolExecutor(1, thread_name_prefix="read-ahead") as pool:
        following = pool.submit(next, made, None)
        while (one := following.result()) is not None:
            following = pool.submit(next, made, None)
            yield one


def _matrix(group: Group, series: tuple[Series, ...]) -> Floats:
    """A row for each series, absent ones NaN."""
    matrix: Floats = np.full((len(series), len(group.times)), np.nan)
    for at, one in enumerate(series):
        column = group.columns.get(one)
        if column is not None:
            matrix[at] = column
    return matrix
