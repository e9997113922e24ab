"""Which series a signal is read from, and how several of them become one number."""

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from accelwatch.detection.arrays import Bools, Floats, Indices
from accelwatch.detection.signals.signal import ANY, Fold, Form, SignalRow
from accelwatch.schema.metrics import Series


def sources_of(signal: SignalRow, existing: Iterable[Series]) -> tuple[Series, ...]:
    """The series that make a signal: itself, or all known ones that it matches, sorted."""
    if ANY not in signal.series:
        return (signal.series,)
    return tuple(sorted(series for series in set(existing) if _matches(signal.series, series)))


def _matches(pattern: Series, series: Series) -> bool:
    return len(pattern) == len(series) and all(
        requested in (ANY, label) for requested, label in zip(pattern, series, strict=True)
    )


# Frames: a mount or a port that is away for this many is no gap of samples.
_FORGET_AFTER = 40


class FoldedSignal:
    """One signal of all rows, whatever it is made of."""

    def __init__(self, signal: SignalRow, sources: Collection[Series]) -> None:
        self.signal = signal
        self.sources = tuple(sources)
        self._fold = signal.fold or Fold.MAX
        # A counter that comes later must not look like so many counts at once.
        self._counts = signal.form is Form.RATE
        # bool[sources, rows]: which were there, and are expected to be.
        self._observed: Bools = np.zeros((len(self.sources), 0), dtype=np.bool_)
        # int[sources, rows]: frames since a part of the sum was there while others were.
        self._missed: Indices = np.zeros((len(self.sources), 0), dtype=np.intp)
        # float64[rows]: what counters had counted before they came.
        self._before: Floats = np.zeros(0)

    def extend(self, sources: Collection[Series]) -> None:
        """Be made of these from now on, all of the present ones among them."""
        observed = np.zeros((len(sources), self._observed.shape[1]), dtype=np.bool_)
        missed = np.zeros((len(sources), self._missed.shape[1]), dtype=np.intp)
        for position, source in enumerate(sources):
            if source in self.sources:
                before = self.sources.index(source)
                observed[position], missed[position] = self._observed[before], self._missed[before]
        self.sources, self._observed, self._missed = tuple(sources), observed, missed

    def forget(self, rows: Bools) -> None:
        """Rows at which something else stands now; those that are new may be left out."""
        width = min(len(rows), self._observed.shape[1])
        at = np.flatnonzero(rows[:width])
        self._observed[:, at] = False
        self._missed[:, at[at < self._missed.shape[1]]] = 0
        self._before[at[at < len(self._before)]] = 0.0

    def shifted(self, size: int) -> Bools:
        """bool[size]: rows whose sum leaves out what a part had counted before it came.

        Only this object knows how much that is: another one would see it as so many counts at once.
        """
        shifted = np.zeros(size, dtype=np.bool_)
        width = min(size, len(self._before))
        shifted[:width] = self._before[:width] != 0.0
        return shifted

    def folded(self, values: Sequence[Floats], size: int) -> Floats:
        """Its value, float64[rows], of those of its sources; NaN where it is not known."""
        if not values:
            return np.full(size, np.nan)
        if self._fold is Fold.SUM:
            return self._sum(np.stack(values))
        if len(values) == 1:
            return values[0]
        stacked = np.stack(values)
        fold = np.fmin if self._fold is Fold.MIN else np.fmax
        result: Floats = fold.reduce(stacked, axis=0)
        return result

    def _sum(self, stacked: Floats) -> Floats:
        """A sum without a part that used to be there is no smaller sum: of a counter it were a reset."""
        there = ~np.isnan(stacked)
        observed = np.zeros_like(there)
        width = min(self._observed.shape[1], observed.shape[1])
        observed[:, :width] = self._observed[:, :width]
        missed: Indices = np.zeros_like(there, dtype=np.intp)
        missed[:, :width] = self._missed[:, :width]
        missed = np.where(there, 0, missed + there.any(axis=0))
        # A part that has been gone for long was removed: the others are the sum from then on.
        self._observed, self._missed = (observed | there) & (missed < _FORGET_AFTER), missed
        more = max(0, stacked.shape[1] - len(self._before))
        self._before = np.concatenate((self._before, np.zeros(more)))
        if self._counts:
            late = there & ~observed & observed.any(axis=0)
            self._before = self._before + np.where(late, stacked, 0.0).sum(axis=0)
        complete = there.any(axis=0) & (there | ~self._observed).all(axis=0)
        return np.where(complete, np.nansum(stacked, axis=0) - self._before, np.nan)
