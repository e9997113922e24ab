"""Quartiles of many at each step, and steps made longer. Pure."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from accelwatch.fleet.table.belief import Floats

# Numbers that are sorted together: less than a millisecond.
_AT_ONCE = 16_384
_SHARES = (0.25, 0.5, 0.75)
# A device that reports every 10 s is late now and then: steps are so much longer than its interval.
_ROOM = 1.2


class Quartiles(NamedTuple):
    """By step; NaN in a step in which none has a value."""

    lower: Floats
    median: Floats
    upper: Floats


def quartiles(values: Floats) -> Iterator[Quartiles]:
    """Of float64[steps, members], NaN where a member has no value: some steps at a time, in order.

    Between two members it is interpolated linearly, as in numpy's and Prometheus' quantiles.
    """
    steps = max(_AT_ONCE // max(values.shape[1], 1), 1)
    for start in range(0, len(values), steps):
        yield _quartiles(values[start : start + steps])


def _quartiles(values: Floats) -> Quartiles:
    ordered = np.sort(values, axis=1)  # NaN last
    last = (~np.isnan(values)).sum(axis=1) - 1
    if not values.shape[1]:
        ordered = np.full((len(values), 1), np.nan)
    return Quartiles(*(_at(ordered, np.maximum(last, 0) * share) for share in _SHARES))


def _at(ordered: Floats, position: Floats) -> Floats:
    """By step the number at a position among the ordered ones, which may lie between two."""
    step, low = np.arange(len(ordered)), np.floor(position).astype(np.intp)
    high = np.ceil(position).astype(np.intp)
    below, above = ordered[step, low], ordered[step, high]
    result: Floats = below + (above - below) * (position - low)
    return result


def steps_together(interval_s: float, step_s: float) -> int:
    """How many steps make one in which a device with this interval has a value."""
    return max(int(np.ceil(interval_s * _ROOM / step_s)), 1) if interval_s > step_s / _ROOM else 1


def folded(values: Floats, together: int) -> Floats:
    """Means of as many steps as one, counted from the newest; NaN where none of them has a value."""
    if together == 1:
        return values
    missing = -len(values) % together
    padded = np.concatenate([np.full((missing, values.shape[1]), np.nan), values])
    blocks = padded.reshape(-1, together, values.shape[1])
    counts: npt.NDArray[np.intp] = (~np.isnan(blocks)).sum(axis=1)
    sums = np.nansum(blocks, axis=1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
