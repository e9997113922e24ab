"""A distribution of durations: counts by the edges of a classic histogram."""

from bisect import bisect_left
from itertools import accumulate

# Cumulative counts by edge, +Inf last, and the sum.
Histogram = tuple[tuple[int, ...], float]


class Distribution:
    """Grows by one number at a time; `edges` are upper bounds, ascending."""

    def __init__(self, edges: tuple[float, ...]) -> None:
        self._edges = edges
        self._counts = [0] * (len(edges) + 1)
        self._sum = 0.0

    def add(self, value: float) -> None:
        """One more; a number at an edge counts below it."""
        self._counts[bisect_left(self._edges, value)] += 1
        self._sum += value

    def histogram(self) -> Histogram:
        """What has come together so far."""
        return tuple(accumulate(self._counts)), self._sum
