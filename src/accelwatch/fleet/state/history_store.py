"""The devices' values over the last minutes: the history's quantities, rules' windows, and samples."""

import numpy as np

from accelwatch.base.clock import Clock
from accelwatch.base.slices import LongWork
from accelwatch.fleet.state.history import QUANTITIES, STEP_S, STEPS, History
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.state.rows.table import Indices, Table
from accelwatch.fleet.state.samples import Samples
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.windows import Steps
from accelwatch.schema.metrics import Series


class HistoryStore:
    """For the loop of a hub."""

    def __init__(self, clock: Clock, table: Table, history: History) -> None:
        """`history` is cleared of the rows that `table` frees."""
        self._clock = clock
        self._table = table
        self._history = history
        # Coarser samples of what rules and the detector read besides.
        self.samples = Samples()

    def store(self, node: Node, now: float) -> None:
        """Keep the values of this step of history, once a step."""
        step = int(now // STEP_S)
        if node.due(step):
            self._history.store(step, self._table.arrange(node).present)

    def of_device(self, node: Node, device_id: str) -> dict[Series, list[float | None]]:
        """Recent history of a device up to now; empty when nothing is kept of it."""
        row = self._table.rows.get((node.name, device_id))
        return {} if row is None else self._history.rows(row, self._step())

    def windows_of_device(
        self, node: Node, device_id: str
    ) -> tuple[dict[Series, Steps], dict[Series, Steps]]:
        """What rules have windows over, of a device and as long as its history: values, and growths."""
        row = self._table.rows.get((node.name, device_id))
        return ({}, {}) if row is None else self._table.windows.recent_means(row, STEPS)

    def recent(self, series: Series, rows: Indices) -> tuple[bool, Floats] | None:
        """The values of a series of some rows in the last STEPS steps of STEP_S up to now.

        Whether it is growth a second, and float64[STEPS, rows], NaN where there is no value; None for a
        series of which nothing is kept: it is none of the history's, and nobody reads it.
        """
        step = self._step()
        values = self._history.recent(series, rows, step)
        if values is not None:
            return False, values
        windows = self._table.windows.recent(series, rows, STEPS)
        samples = self.samples.recent(series, rows, step)
        if windows is None or samples is None or windows[0] != samples[0]:
            return samples if windows is None else windows
        # Windows are finer, and may be shorter: samples are for what was before.
        present = ~np.isnan(windows[1]).all(axis=1)
        first = int(present.argmax()) if present.any() else STEPS
        return windows[0], np.concatenate([samples[1][:first], windows[1][first:]])

    async def sample(self, work: LongWork) -> None:
        """Keep a sample of what is read of devices besides the history's quantities."""
        await self.samples.sample(self._table, self._step(), work)

    def series(self) -> tuple[Series, ...]:
        """Of what `recent` has anything."""
        windows = self._table.windows.series
        return tuple(dict.fromkeys((*QUANTITIES, *windows, *self.samples.series)))

    def _step(self) -> int:
        return int(self._clock.monotonic() // STEP_S)
