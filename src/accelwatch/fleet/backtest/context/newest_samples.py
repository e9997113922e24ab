"""The newest sample of each series of an archive, by row of its device or number of its node."""

import math
from collections.abc import Collection, Iterable

import numpy as np

from accelwatch.expr.vocabulary.rule_names import of_host
from accelwatch.fleet.backtest.context.device_index import DeviceIndex
from accelwatch.fleet.backtest.context.stream import SampleBatch
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.rows import grown
from accelwatch.schema.metrics import Series

DEVICE_UP = ("device_up",)
SKEW = ("fleet_target_clock_skew_seconds",)


class NewestSamples:
    """Brought forward by who reads the archive; a series a row, a device or node a column."""

    def __init__(self, device_index: DeviceIndex, series: Collection[Series]) -> None:
        """`series` are those that are read, of devices and nodes."""
        self._device_index = device_index
        of_devices = frozenset(key for key in series if not of_host(key))
        # What is read of devices, and of nodes.
        self.series = (DEVICE_UP, *sorted(of_devices - {DEVICE_UP}))
        self.node_series = (SKEW, *sorted(frozenset(series) - of_devices - {SKEW}))
        self._series_index = {key: at for at, key in enumerate(self.series)}
        self._node_series_index = {key: at for at, key in enumerate(self.node_series)}
        self._values: Floats = np.full((len(self.series), device_index.size), math.nan)
        self._node_values: Floats = np.full(
            (len(self.node_series), device_index.node_size), math.nan
        )
        # By row: since when `device_up` is 0, Unix seconds; NaN where it is not.
        self.unread_since: Floats = np.full(device_index.size, math.nan)
        # By row: when it was read last, Unix seconds.
        self.read_at: Floats = np.full(device_index.size, -math.inf)

    def add(self, devices: Iterable[SampleBatch], nodes: Iterable[SampleBatch]) -> None:
        """Samples that have come since."""
        device_index = self._device_index
        self._values = grown(self._values, device_index.size, math.nan)
        self._node_values = grown(self._node_values, device_index.node_size, math.nan)
        self.unread_since = grown(self.unread_since, device_index.size, math.nan)
        self.read_at = grown(self.read_at, device_index.size, -math.inf)
        for batch in devices:
            self._values[:, batch.entity] = batch.values
            before = self.unread_since[batch.entity]
            since = np.where(np.isnan(before), batch.seconds, before)
            failed = batch.values[0] == 0
            self.unread_since[batch.entity] = np.where(failed, since, math.nan)
            self.read_at[batch.entity[~failed]] = batch.seconds[~failed]
            device_index.record_devices(batch.entity, batch.seconds)
        for batch in nodes:
            self._node_values[:, device_index.record_nodes(batch.entity, batch.seconds)] = (
                batch.values
            )

    def of_devices(self, series: Series) -> Floats | None:
        """By row; None of a series that is not read."""
        position = self._series_index.get(series)
        return None if position is None else self._values[position]

    def of_nodes(self, series: Series) -> Floats | None:
        """By number of the node; None of a series that is not read."""
        position = self._node_series_index.get(series)
        return None if position is None else self._node_values[position]

    def device_values(self, series: Series) -> Floats:
        """By row, of a series that is read."""
        values: Floats = self._values[self._series_index[series]]
        return values

    def node_values(self, series: Series) -> Floats:
        """By number of the node, of a series that is read."""
        values: Floats = self._node_values[self._node_series_index[series]]
        return values

    def skew_s(self, number: int) -> float:
        """How far the clock of a node is ahead, seconds; 0 where nobody knows."""
        values = self._node_values[0]
        skew = float(values[number]) if number < len(values) else math.nan
        return 0.0 if math.isnan(skew) else skew
