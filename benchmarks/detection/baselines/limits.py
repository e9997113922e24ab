"""Detectors that ask each device alone: the kernel log's codes, vendors' limits, its own three sigma."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from accelwatch.alerting.rules.document import Advice
from accelwatch.schema.metrics import Series
from baselines.playing import Array, Sign, View

# NVIDIA's Xid catalogue: codes whose recovery is a reset, a reboot or RMA, and 94 (restart).
_CODES = frozenset(
    f"xid_{code}" for code in (46, 48, 62, 64, 74, 79, 94, 95, 119, 120, 140, 143, *range(144, 151))
)


class XidOnly:
    """Every code of hardware in the kernel log."""

    name, channel, advice = "XID only", "log", Advice.REBOOT

    def signs(self, view: View) -> Sequence[Sign]:
        """The codes of a tick."""
        return [
            Sign(event.node, event.device or "", event.code, None)
            for event in view.events
            if event.code in _CODES
        ]


_HEAT: Series = ("temperature_celsius", "gpu")
# What is to be 0 at any time; slow-downs for two minutes.
_FLAGS: tuple[Series, ...] = (
    ("memory_repair_pending",),
    ("memory_repair_failed",),
    ("reset_required",),
    ("throttle_active", "thermal_hardware"),
    ("throttle_active", "power_brake"),
)
_UNCORRECTED: Series = ("ecc_errors_total", "uncorrected")
_WIDTH: Series = ("pcie_link_width_lanes", "current")
_WIDTH_MAX: Series = ("pcie_link_width_lanes", "max")
_LINKS: Series = ("interconnect_links", "nvlink", "up")
_UP: Series = ("device_up",)
_LIMITS: tuple[Series, ...] = (*_FLAGS, _HEAT, _UNCORRECTED, _WIDTH, _WIDTH_MAX, _LINKS, _UP)
# Data sheets: slow-down begins between 85 and 90 C; 4.2 H: slow-downs count after two minutes.
_HOT, _LASTS_S = 87.0, 120.0


class VendorLimits:
    """Limits and flags that a vendor documents, each for two minutes, and the codes of the log."""

    name, channel, advice = "vendor limits", "hard", Advice.RESET
    signals = _LIMITS

    def __init__(self, interval_s: float) -> None:
        self._ticks = max(1, round(_LASTS_S / interval_s))
        self._codes = XidOnly()
        self._most = np.zeros((0, 2))
        self._held = np.zeros((0, len(_FLAGS) + 5), dtype=np.int64)

    def signs(self, view: View) -> Sequence[Sign]:
        """What was beyond its limit for two minutes."""
        values = dict(zip(_LIMITS, view.matrix(_LIMITS).T, strict=True))
        size = len(view.entities)
        self._most = grown(self._most, size)
        self._held = grown(self._held, size)
        seen = np.column_stack([values[_UNCORRECTED], values[_LINKS]])
        before = self._most.copy()
        self._most = np.fmax(self._most, seen)
        failed = (before[:, 0] > 0) & (seen[:, 0] > before[:, 0])
        beyond = np.column_stack(
            [
                *(values[flag] > 0 for flag in _FLAGS),
                values[_HEAT] >= _HOT,
                values[_WIDTH] < values[_WIDTH_MAX],
                seen[:, 1] < self._most[:, 1],
                values[_UP] == 0,
                failed,
            ]
        )
        self._held = np.where(beyond, self._held + 1, 0)
        self._held[failed, -1] = self._ticks  # an error is no state that could last
        found = list(self._codes.signs(view))
        for at in np.flatnonzero((self._held >= self._ticks).any(axis=1)):
            entity, which = view.entities[int(at)], int(np.argmax(self._held[at] >= self._ticks))
            found.append(Sign(entity.node, entity.device, _NAMES[which], None))
        return found


_NAMES = [".".join(one) for one in (*_FLAGS, _HEAT, _WIDTH, _LINKS, _UP, _UNCORRECTED)]


class ThreeSigma:
    """Each series beside its own mean and deviation of twelve hours (4.1), at one sample."""

    name, channel, advice = "3 sigma", "own", Advice.NONE

    def __init__(self, signals: Sequence[Series], interval_s: float) -> None:
        self.signals = tuple(signals)
        self._weight = interval_s / (12 * 3600.0)
        self._mean = np.full((0, len(signals)), np.nan)
        self._square = np.zeros((0, len(signals)))
        self._count = np.zeros((0, len(signals)))

    def signs(self, view: View) -> Sequence[Sign]:
        """Samples more than three deviations from their mean, after an hour of them."""
        values, size = view.matrix(self.signals), len(view.entities)
        self._mean = grown(self._mean, size, np.nan)
        self._square, self._count = grown(self._square, size), grown(self._count, size)
        fresh = np.isnan(self._mean) & np.isfinite(values)
        self._mean[fresh] = values[fresh]
        off = values - self._mean
        deviation = np.sqrt(self._square)
        far = (
            (np.abs(off) > 3.0 * deviation)
            & (deviation > 0)
            & (self._count * self._weight > 1 / 12)
        )
        known = np.isfinite(values)
        weight = np.maximum(self._weight, 1.0 / (self._count + 1.0))
        self._mean = np.where(known, self._mean + weight * off, self._mean)
        self._square = np.where(
            known, (1.0 - weight) * (self._square + weight * off**2), self._square
        )
        self._count += known
        return [
            Distance(values, off, deviation).sign(
                view, self.signals, int(row), int(np.argmax(far[row]))
            )
            for row in np.flatnonzero(far.any(axis=1))
        ]


class Distance(NamedTuple):
    """Values by device and signal, how far each is from what is expected, and on which scale."""

    values: Array
    off: Array
    scale: Array

    def sign(self, view: View, signals: Sequence[Series], row: int, at: int) -> Sign:
        """What is said of one of them."""
        entity, value, off = (
            view.entities[row],
            float(self.values[row, at]),
            float(self.off[row, at]),
        )
        z = off / float(self.scale[row, at])
        return Sign(entity.node, entity.device, ".".join(signals[at]), value, value - off, z)


def grown(array: Array, size: int, fill: float = 0.0) -> Array:
    """The array with rows for entities that are new."""
    more = size - len(array)
    if not more:
        return array
    return np.concatenate([array, np.full((more, array.shape[1]), fill, dtype=array.dtype)])
