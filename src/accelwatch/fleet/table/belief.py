"""`schema.values.plausible` over arrays: which numbers are believed, in a few passes at any count."""

from functools import cache

import numpy as np
import numpy.typing as npt

from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.values.plausible import SENTINELS, believed, bounds

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_HASH_BITS = 16
# The odd number next to 2^64 over the golden ratio: multiplying by it spreads bits (Knuth, 6.4).
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


# Built on first use, because a process without a table does not need it; constants.
@cache
def _sentinels() -> tuple[Floats, Bools]:
    """The sentinels in order, and which of the slots of a hash table one of them falls into."""
    values = np.unique(np.array([float(number) for number in SENTINELS], dtype=np.float64))
    occupied = np.zeros(1 << _HASH_BITS, dtype=np.bool_)
    occupied[_hash_slot(values)] = True
    return values, occupied


def _hash_slot(values: Floats) -> npt.NDArray[np.intp]:
    hashed = (values.view(np.uint64) * _GOLDEN) >> np.uint64(64 - _HASH_BITS)
    return hashed.view(np.intp)


def sentinel(values: Floats) -> Bools:
    """Which numbers are what an empty register becomes; for integers that doubles hold exactly."""
    sentinels, occupied = _sentinels()
    is_sentinel: Bools = occupied.take(_hash_slot(values))
    if is_sentinel.any():
        like = values[is_sentinel]
        is_sentinel[is_sentinel] = (
            sentinels[np.minimum(np.searchsorted(sentinels, like), len(sentinels) - 1)] == like
        )
    return is_sentinel


class Limits:
    """Least and greatest number of each of some series."""

    __slots__ = ("_high", "_low", "_series", "_wide")

    def __init__(self, series: tuple[Series, ...]) -> None:
        ranges = [bounds(key[0]) for key in series]
        self._series = series
        self._low: Floats = np.array([low for low, _ in ranges], dtype=np.float64).reshape(-1, 1)
        self._high: Floats = np.array([high for _, high in ranges], dtype=np.float64).reshape(-1, 1)
        sentinels, _ = _sentinels()
        # Series whose bounds leave room for a sentinel.
        self._wide = np.flatnonzero(
            ((sentinels >= self._low) & (sentinels <= self._high)).any(axis=1)
        )

    def believed(self, values: Floats, exact: Bools) -> Bools:
        """Which numbers of a matrix, a series a row, are believed; NaN is not.

        `believes` has checked those that are `exact` integers beyond a double.
        """
        plausible: Bools = (values >= self._low) & (values <= self._high)
        plausible[self._wide] &= ~sentinel(values[self._wide])
        plausible |= exact
        return plausible

    def believes(self, row: int, value: Number) -> bool:
        """The same of one number."""
        return believed(self._series[row], value)
