"""A sample every 30 seconds, for a quarter of an hour, of all series of devices that somebody reads.

The history keeps six quantities in short steps, whoever reads them. What rules and the detector read
besides is brought to the table anyway: of that a sample is kept here, so that the graphs of an incident
have a history of whatever its evidence may name.
"""

import math
from collections import deque
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from accelwatch.base.slices import LongWork
from accelwatch.expr.vocabulary.windows import GAP_S
from accelwatch.fleet.state.history import QUANTITIES
from accelwatch.fleet.state.history import STEP_S as HISTORY_STEP_S
from accelwatch.fleet.state.history import STEPS as HISTORY_STEPS
from accelwatch.fleet.state.rows.table import Indices, Table
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.rows import grown
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.metrics import Kind, Series

# The pace of most archives and scrapes, and as far apart as the detector's minutes allow.
STEP_S = 30
# The limit of what is kept: 64 KiB a node of eight devices with 70 series, for 1,000 nodes. Of a
# larger fleet the past is shorter.
MOST_BYTES = 64 << 20
_IN_HISTORY = STEP_S // HISTORY_STEP_S

Column = npt.NDArray[np.float32]


class _Sample(NamedTuple):
    """The values of rows in one step."""

    # The step of the history in which it was recorded.
    step: int
    columns: dict[Series, Column]

    @property
    def bytes(self) -> int:
        return sum(column.nbytes for column in self.columns.values())


class _Counter(NamedTuple):
    """What each row counted last, and when that arrived, monotonic seconds."""

    values: Floats
    arrived: Floats


class Samples:
    """For the hub's loop."""

    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque()
        self._counters: dict[Series, _Counter] = {}
        # As of the sample before.
        self._arrived: Floats = np.empty(0)
        self._generation: npt.NDArray[np.uint32] = np.empty(0, dtype=np.uint32)

    @property
    def series(self) -> tuple[Series, ...]:
        """Of what anything is kept."""
        return tuple(dict.fromkeys(key for sample in self._samples for key in sample.columns))

    @property
    def bytes(self) -> int:
        """Memory of all samples."""
        return sum(sample.bytes for sample in self._samples)

    async def sample(self, table: Table, step: int, work: LongWork) -> None:
        """Keep the rows' values since the sample before; the readers have updated the table.

        `step` is that of the history, monotonic seconds divided by its STEP_S.
        """
        used = table.rows.used
        self._clear(table.rows.generation[:used])
        arrived = table.arrived[:used].copy()
        fresh = (arrived != grown(self._arrived, used, math.nan)[:used]) & ~np.isnan(arrived)
        self._arrived = arrived
        columns: dict[Series, Column] = {}
        for series in table.planes.series:
            if series in QUANTITIES:
                continue
            values = np.where(fresh, table.planes.column(series).values[:used], math.nan)
            if _counts(series):
                values = self._growth(series, values, arrived)
            if not np.isnan(values).all():
                columns[series] = values.astype(np.float32)
            await work.yield_control()
        self._samples.append(_Sample(step, columns))
        while self._samples[0].step <= step - HISTORY_STEPS or self.bytes > MOST_BYTES:
            self._samples.popleft()
        read = frozenset(table.planes.series)
        self._counters = {key: kept for key, kept in self._counters.items() if key in read}

    def _clear(self, generation: npt.NDArray[np.uint32]) -> None:
        """Rows in which another device stands now, or one that was restarted, have no history."""
        before = self._generation
        self._generation = generation.copy()
        count = min(len(before), len(generation))
        others = np.flatnonzero(before[:count] != generation[:count])
        if not len(others):
            return
        for column in (column for sample in self._samples for column in sample.columns.values()):
            column[others[others < len(column)]] = math.nan
        for kept in self._counters.values():
            kept.values[others[others < len(kept.values)]] = math.nan

    def _growth(self, series: Series, values: Floats, arrived: Floats) -> Floats:
        """By how much a counter has grown a second; NaN after a reset, as nobody knows by how much."""
        size = len(values)
        kept = self._counters.get(series) or _Counter(np.empty(0), np.empty(0))
        before, at = (grown(array, size, math.nan)[:size] for array in kept)
        present = ~np.isnan(values)
        rise, seconds = values - before, arrived - at
        valid = (rise >= 0) & (seconds > 0) & (seconds <= GAP_S)
        self._counters[series] = _Counter(
            np.where(present, values, before), np.where(present, arrived, at)
        )
        growth: Floats = np.full(size, math.nan)
        np.divide(rise, seconds, out=growth, where=valid)
        return growth

    def recent(self, series: Series, rows: Indices, now: int) -> tuple[bool, Floats] | None:
        """A series in the steps of the history up to step `now` of those, as `Windows.recent`.

        A sample fills the steps since the one before. None for a series of which there is none.
        """
        values = np.full((HISTORY_STEPS, len(rows)), math.nan)
        present = False
        for sample in self._samples:
            column = sample.columns.get(series)
            if column is None:
                continue
            present = True
            there = rows < len(column)
            first = sample.step - now + HISTORY_STEPS - _IN_HISTORY
            for at in range(max(first, 0), min(first + _IN_HISTORY, HISTORY_STEPS)):
                values[at, there] = column[rows[there]]
        return (_counts(series), values) if present else None


def _counts(series: Series) -> bool:
    row = by_key().get(series[0])
    return row is not None and row.kind is Kind.COUNTER
