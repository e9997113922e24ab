"""Rows in groups: conditions folded by counting, medians by sorting the members of groups side by side.

Groups of about the same size lie in one matrix of row numbers, so that a few large jobs do not make
the matrix of thousands of small ones wide. What is meant is said in `accelwatch.expr.environment`.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from accelwatch.expr.vocabulary.peers import (
    LEAST_PEERS,
    LEAST_SCALE,
    LEAST_WITH_VALUE,
    MAD_SCALE,
    SMALL_GROUP,
)
from accelwatch.fleet.table.belief import Bools, Floats

Indices = npt.NDArray[np.intp]


class _Block(NamedTuple):
    """Lines of rows to compare with; where a line is shorter, the row after the last."""

    lines: Indices
    # The numbers of the groups, or of the rows where every row has a line of its own.
    targets: Indices


class Groups:
    """Which rows belong together; made once for as long as nobody moves."""

    def __init__(self, codes: Indices, count: int) -> None:
        """`codes` is the number of each row's group, below `count`, or -1."""
        self.codes = codes
        self.has_group: Bools = codes >= 0
        self.count = count
        self.sizes = np.bincount(codes[self.has_group], minlength=count)

    def counted(self, where: Bools) -> npt.NDArray[np.intp]:
        """How many rows of each group are set."""
        return np.bincount(self.codes[where & self.has_group], minlength=self.count)

    def spread(
        self, values: npt.NDArray[np.generic], nothing: float | bool
    ) -> npt.NDArray[np.generic]:
        """What is known of groups, for each of their rows."""
        if not self.count:
            return np.full(len(self.codes), nothing)
        return np.where(self.has_group, values[self.codes], nothing)

    def set_in(self, where: Bools) -> Floats:
        """In how many rows of its group it is set, for each row; NaN where it has no group."""
        numbers: Floats = self.spread(self.counted(where).astype(np.float64), np.nan)  # type: ignore[assignment]
        return numbers

    # An instance belongs to one tick; several rules read peers of the same grouping.
    @cached_property
    def _order(self) -> Indices:
        """Rows that are in a group, one group after the other."""
        rows = np.flatnonzero(self.has_group)
        order: Indices = rows[np.argsort(self.codes[rows], kind="stable")]
        return order

    def _lines(self, numbers: Indices) -> Indices:
        """A line for each of these groups with its rows, filled up with the row after the last."""
        sizes = self.sizes[numbers]
        starts = (np.cumsum(self.sizes) - self.sizes)[numbers]
        steps = np.arange(int(sizes.max(initial=0)))
        positions = np.minimum(starts[:, np.newaxis] + steps, len(self._order) - 1)
        inside = steps < sizes[:, np.newaxis]
        lines: Indices = np.where(inside, self._order[positions], len(self.codes))
        return lines

    # As `_order`: computed once for all rules of a tick.
    @cached_property
    def _large(self) -> list[_Block]:
        """A line a group, those of groups that are about as large together."""
        large = np.flatnonzero(self.sizes >= SMALL_GROUP)
        width = np.ceil(np.log2(np.maximum(self.sizes[large], 1)))
        alike = [large[width == exponent] for exponent in np.unique(width)]
        return [_Block(self._lines(numbers), numbers) for numbers in alike]

    # As `_order`: computed once for all rules of a tick.
    @cached_property
    def _small(self) -> list[_Block]:
        """A line a row, of the others of its group."""
        blocks: list[_Block] = []
        for size in range(LEAST_PEERS + 1, SMALL_GROUP):
            numbers = np.flatnonzero(self.sizes == size)
            if len(numbers):
                lines = self._lines(numbers)
                others = [[at for at in range(size) if at != position] for position in range(size)]
                blocks.append(_Block(lines[:, others].reshape(-1, size - 1), lines.reshape(-1)))
        return blocks

    def median(self, values: Floats) -> Floats:
        """Median over the peers of each row."""
        return self._peers(values, z=False)

    def z(self, values: Floats) -> Floats:
        """By how many standard deviations each row is above the median of its peers."""
        return self._peers(values, z=True)

    def _peers(self, values: Floats, *, z: bool) -> Floats:
        padded = np.append(values, np.nan)
        level, scale = np.full(len(values), np.nan), np.full(len(values), np.nan)
        by_group = np.full((2, self.count + 1), np.nan)
        for block in self._large:
            by_group[:, block.targets] = _middle(padded[block.lines], z=z)[:2]
        if self._large:
            large = by_group[:, self.codes]  # -1 is the last, where nothing is known
            level, scale = large[0], large[1]
            has = ~np.isnan(values)
            others = by_members(self.counted(has), self.codes) - has
            level[others < LEAST_PEERS] = np.nan
        for block in self._small:
            rows = block.targets
            level[rows], scale[rows], counts = _middle(padded[block.lines], z=z)
            level[rows[counts < LEAST_PEERS]] = np.nan
        if not z:
            return np.where(np.isfinite(level), level, np.nan)
        with np.errstate(all="ignore"):
            scores = np.where(values == level, 0.0, (values - level) / scale)
        return np.where(np.isfinite(scores), scores, np.nan)

    def folded(self, kind: str, true: Bools, false: Bools) -> tuple[Bools, Bools]:
        """`any` and `all` over each group, for each of its rows: where true and where false."""
        some, none = (true, false) if kind == "any" else (false, true)
        decided = self.counted(some) > 0
        other = self.counted(none) == self.sizes
        result: Bools = self.spread(decided, False)  # type: ignore[assignment]  # of bools
        opposite: Bools = self.spread(other, False)  # type: ignore[assignment]
        return (result, opposite) if kind == "any" else (opposite, result)

    def tallied(self, kind: str, true: Bools, false: Bools) -> Floats:
        """`count` and `share` over each group, for each of its rows."""
        count = self.counted(true).astype(np.float64)
        total = count + self.counted(false)
        result = count if kind == "count" else count / np.maximum(total, 1)
        result[total < LEAST_WITH_VALUE * self.sizes] = np.nan
        numbers: Floats = self.spread(result, np.nan)  # type: ignore[assignment]  # of floats
        return numbers


def by_members(counts: npt.NDArray[np.intp], codes: Indices) -> npt.NDArray[np.intp]:
    """The count of each row's group; 0 where it has none."""
    result: npt.NDArray[np.intp] = np.append(counts, 0)[codes]
    return result


def _middle(lines: Floats, *, z: bool) -> tuple[Floats, Floats, npt.NDArray[np.intp]]:
    """Median and, with `z`, scale of each line, and how many numbers it has."""
    ordered = np.sort(lines, axis=1)
    counts = lines.shape[1] - np.isnan(ordered).sum(axis=1)
    level = _median(ordered, counts)
    if not z:
        return level, level, counts
    spread = MAD_SCALE * _median(np.sort(np.abs(ordered - level[:, np.newaxis]), axis=1), counts)
    return level, np.maximum(spread, LEAST_SCALE * np.abs(level)), counts


def _median(ordered: Floats, counts: npt.NDArray[np.intp]) -> Floats:
    """Of sorted lines that begin with so many numbers."""
    lines = np.arange(len(ordered))
    low = ordered[lines, np.maximum(counts - 1, 0) // 2]
    high = ordered[lines, np.minimum(counts // 2, ordered.shape[1] - 1)]
    medians: Floats = np.where(counts % 2 == 1, low, (low + high) / 2)
    return medians
