"""Samples of an archive an interval at a time, as matrices: a series a row, a sample a column."""

import heapq
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np

from accelwatch.archive.history.reading.samples import Group, Samples
from accelwatch.fleet.rules.columns.columns import Indices
from accelwatch.fleet.table.belief import Floats
from accelwatch.schema.metrics import Series

Some = TypeVar("Some")


class SampleBatch(NamedTuple):
    """Samples of one table that lie in one interval, or a part of them, in order of time."""

    # Numbers in `Samples.entities`.
    entity: Indices
    # Unix seconds of each sample.
    seconds: Floats
    # A series a row, in the requested order; NaN where absent.
    values: Floats


class Interval(NamedTuple):
    """All samples after the interval before and up to `time` (Unix seconds)."""

    time: float
    devices: list[SampleBatch]
    nodes: list[SampleBatch]


def intervals(
    devices: tuple[Samples, tuple[Series, ...]],
    nodes: tuple[Samples, tuple[Series, ...]],
    step_s: float,
    start: float,
    end: float,
) -> Iterator[Interval]:
    """Every interval from the first to the last that has samples, those without any among them.

    Each table with the series that its matrices have. Raises ArchiveError.
    """
    streams = [
        _batches(table, samples.groups(start, end), series, (step_s, start))
        for table, (samples, series) in enumerate((devices, nodes))
    ]
    current: int | None = None
    batches: tuple[list[SampleBatch], list[SampleBatch]] = [], []
    for at, table, batch in heapq.merge(*streams, key=lambda entry: entry[0]):
        while current is not None and current < at:
            yield Interval(start + current * step_s, *batches)
            batches, current = ([], []), current + 1
        current = max(at, at if current is None else current)
        batches[table].append(batch)
    if current is not None:
        yield Interval(start + current * step_s, *batches)


def _batches(
    table: int, groups: Iterator[Group], series: tuple[Series, ...], steps: tuple[float, float]
) -> Iterator[tuple[int, int, SampleBatch]]:
    """Each part with its interval's number and its table's; `steps` are their length and beginning."""
    step_s, start = steps
    step, zero = round(step_s * 1000), round(start * 1000)
    for group, values in _ahead((source, _matrix(source, series)) for source in groups):
        numbers = -((zero - group.times) // step)
        seconds = group.times / 1000
        cuts = np.flatnonzero(np.diff(numbers)) + 1
        for first, last in zip([0, *cuts.tolist()], [*cuts.tolist(), len(numbers)], strict=True):
            batch = SampleBatch(
                group.entity[first:last], seconds[first:last], values[:, first:last]
            )
            yield int(numbers[first]), table, batch


def _ahead(made: Iterator[Some]) -> Iterator[Some]:
    """The same, the next one made on a thread while this one is used: two are in memory at most."""
    with ThreadPoolExecutor(1, thread_name_prefix="read-ahead") as pool:
        following = pool.submit(next, made, None)
        while (current := following.result()) is not None:
            following = pool.submit(next, made, None)
            yield current


def _matrix(group: Group, series: tuple[Series, ...]) -> Floats:
    """A row for each series, absent ones NaN."""
    matrix: Floats = np.full((len(series), len(group.times)), np.nan)
    for at, key in enumerate(series):
        column = group.columns.get(key)
        if column is not None:
            matrix[at] = column
    return matrix
