"""Snapshots of one node of eight devices that train together, of which a test spoils something."""

from collections.abc import Callable

import msgspec
import numpy as np

from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import DeviceView, Owner, Snapshot
from support.machines import composed

STEP_S = 15.0
POWER: Series = ("power_watts",)
HEAT: Series = ("temperature_celsius", "gpu")
_GROWING: dict[Series, float] = {
    ("energy_joules_total", "hardware"): 640.0,
    ("interconnect_bytes_total", "nvlink", "receive"): 1e11,
    ("interconnect_bytes_total", "nvlink", "transmit"): 1e11,
    ("pcie_bytes_total", "receive"): 2e9,
    ("pcie_bytes_total", "transmit"): 2e9,
}
# What a test does to the values of a device: seconds since the start, values.
Spoil = Callable[[float, dict[Series, Number]], None]


class WorkingNode:
    """Gives one snapshot after another; times are seconds since the first."""

    def __init__(self, *, job: str = "train", devices: int = 8, seed: int = 1) -> None:
        self.job = job
        self.elapsed = 0.0
        self.spoils: dict[int, Spoil] = {}
        # Since when a device is lost.
        self.lost: dict[int, float] = {}
        self.events: tuple[ErrorEvent, ...] = ()
        # Unix seconds.
        self.booted_at = composed.NOW - 86400.0
        self._rng = np.random.default_rng(seed)
        self._counted = {series: np.zeros(devices) for series in _GROWING}
        # A place in a chassis is warmer than another.
        self._warmth = self._rng.normal(0.0, 3.0, devices)
        self._devices = devices

    @property
    def now(self) -> float:
        """Unix seconds."""
        return composed.NOW + self.elapsed

    def next(self) -> Snapshot:
        """The snapshot of a step later."""
        self.elapsed += STEP_S
        for series, rate in _GROWING.items():
            noise = self._rng.normal(1.0, 0.03, self._devices)
            self._counted[series] += rate * STEP_S * noise
        views = [self._view(index) for index in range(self._devices)]
        return composed.snapshot(
            *views, time=self.now, events=self.events, boot_time=self.booted_at
        )

    def _view(self, index: int) -> DeviceView:
        owners = (Owner(kind="job", scheduler="slurm", job_id=self.job),) if self.job else ()
        if index in self.lost:
            since = self.lost[index]
            lost = composed.lost_view(index)
            age = self.elapsed - since
            return msgspec.structs.replace(lost, sample_age_s=age, owners=owners)
        values = composed.values(index)
        values[POWER] = float(np.round(640.0 * self._rng.normal(1.0, 0.004)))
        values[HEAT] = float(np.round(60.0 + self._warmth[index] + self._rng.normal(0.0, 0.4)))
        for series, counted in self._counted.items():
            values[series] = float(counted[index])
        if index in self.spoils:
            self.spoils[index](self.elapsed, values)
        view = composed.view(index, owners=owners, state=DeviceState.OK)
        reading = msgspec.structs.replace(view.reading, values=values)
        return msgspec.structs.replace(view, reading=reading)
