"""The arrays of a detector by what their last axis is, and where their rows are after a restart."""

from collections.abc import Mapping
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from accelwatch.detection.arrays import Indices

Array = npt.NDArray[np.generic]
Arrays = dict[str, Array]


class StateArrays(NamedTuple):
    """Arrays by name, which belong to the detector: whoever keeps them copies them before the next tick.

    The last axis of an array is rows of devices, or rows of nodes, or anything else.
    """

    devices: Arrays
    nodes: Arrays
    other: Arrays

    @classmethod
    def empty(cls) -> Self:
        """Nothing."""
        return cls({}, {}, {})

    def add(self, prefix: str, arrays: "StateArrays") -> None:
        """Add the arrays of a part; their names begin with its own."""
        for mine, theirs in zip(self, arrays, strict=True):
            mine.update({f"{prefix}.{name}": array for name, array in theirs.items()})


class Moves(NamedTuple):
    """Rows that are renumbered: where each was, and where it is now. Others stay as they are."""

    # intp[N] and intp[M] of what was saved; -1 for who is not here, or is another.
    devices: Indices
    nodes: Indices


def move(saved: Mapping[str, Array], now: Mapping[str, Array], to: Indices) -> None:
    """Write the rows that were saved to where they are now. Raises KeyError, ValueError."""
    there = np.flatnonzero(to >= 0)
    for name, array in now.items():
        # In small steps, since other threads wait for each.
        for leading in np.ndindex(array.shape[:-1]):
            array[leading][to[there]] = saved[name][leading][there]
