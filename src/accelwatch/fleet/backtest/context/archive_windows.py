"""Windows over the samples of an archive, those of devices and those of nodes."""

from collections.abc import Iterable

import numpy as np

from accelwatch.expr.needs import WindowNeed
from accelwatch.expr.vocabulary.rule_names import of_host
from accelwatch.fleet.backtest.context.device_groups import DeviceGroups
from accelwatch.fleet.backtest.context.device_index import DeviceIndex
from accelwatch.fleet.backtest.context.newest_samples import NewestSamples
from accelwatch.fleet.rules.columns.rule_windows import RuleWindows
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.jobs import RowJobs
from accelwatch.fleet.table.rows import grown
from accelwatch.fleet.table.windows import Arrivals, Windows
from accelwatch.schema.metrics import Series


class ArchiveWindows:
    """What they say is by row of the device, of nodes as well."""

    def __init__(
        self,
        device_index: DeviceIndex,
        device_groups: DeviceGroups,
        samples: NewestSamples,
        needs: Iterable[WindowNeed],
    ) -> None:
        """Raises WindowsError when the windows of `needs` need too much memory."""
        self._device_index, self._device_groups = device_index, device_groups
        self._samples = samples
        self._windows, self._node_windows = Windows(1.0), Windows(1.0)
        needs = list(needs)
        self._rule_windows = RuleWindows(
            self._windows, [need for need in needs if not of_host(need.series)]
        )
        self._node_rule_windows = RuleWindows(
            self._node_windows, [need for need in needs if of_host(need.series)]
        )
        self._row_jobs = RowJobs()

    def sample(self, now: float) -> None:
        """Add the newest samples; `now` in Unix seconds."""
        device_index, groups = self._device_index, self._device_groups
        interval_s = np.full(device_index.size, device_index.step_s)
        job = groups.by("job")
        jobs = self._row_jobs.refresh(job, job.codes, job.values, groups.shared_jobs)
        arrivals = Arrivals(
            len(device_index.devices),
            device_index.reported_at,
            interval_s,
            device_index.generation,
            jobs,
        )
        self._windows.sample(now, arrivals, self._samples.device_values)
        once = np.ones(device_index.node_size, dtype=np.uint32)
        interval_s = np.full(device_index.node_size, device_index.step_s)
        arrivals = Arrivals(
            len(device_index.nodes), device_index.node_reported_at, interval_s, once
        )
        self._node_windows.sample(now, arrivals, self._samples.node_values)

    def window(self, need: WindowNeed, size: int) -> Floats:
        """A window, of `size` rows; NaN where nothing is known."""
        if of_host(need.series):
            return self._by_row(self._node_rule_windows.window(need), size)
        return _full_size(self._rule_windows.window(need), size)

    def coverage(self, key: Series, seconds: int, size: int, *, of_job: bool = False) -> Floats:
        """Share of the samples of such a window that there are."""
        if of_host(key):
            return self._by_row(self._node_rule_windows.coverage(key, seconds), size)
        return _full_size(self._rule_windows.coverage(key, seconds, of_job=of_job), size)

    def _by_row(self, values: Floats | None, size: int) -> Floats:
        if values is None:
            return np.full(size, np.nan)
        result: Floats = grown(values, self._device_index.node_size, np.nan)[
            self._device_index.node_of
        ]
        return result

    def close(self) -> None:
        """Let go of them."""
        self._rule_windows.close()
        self._node_rule_windows.close()


def _full_size(values: Floats | None, size: int) -> Floats:
    return np.full(size, np.nan) if values is None else grown(values, size, np.nan)[:size]
