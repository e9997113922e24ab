"""Detectors that compare each device with its peers: the other devices of its job, or of its model."""

from collections.abc import Sequence

import numpy as np

from accelwatch.alerting.rules.document import Advice
from accelwatch.schema.metrics import Series
from baselines.limits import Distance, grown
from baselines.playing import Array, Sign, View

# A gauge or the rate of a counter of each family that telemetry has.
GAUGES: tuple[Series, ...] = (
    ("power_watts",),
    ("utilization_ratio",),
    ("temperature_celsius", "gpu"),
    ("clock_hertz", "sm"),
    ("matrix_active_ratio",),
)
COUNTERS: tuple[Series, ...] = (
    ("interconnect_bytes_total", "nvlink", "transmit"),
    ("pcie_bytes_total", "transmit"),
)
# 4.1: the least scale is half a percent of the level; groups of fewer than five are none.
_LEAST, _MEMBERS = 0.005, 5


class Peers:
    """How far each device is from its peers; the same for all who ask at one tick."""

    def __init__(self) -> None:
        self.signals = (*GAUGES, *COUNTERS)
        self._last = np.full((0, len(COUNTERS)), np.nan)
        self._time = 0.0
        self._distance = Distance(*(np.zeros((0, len(self.signals))) for _ in range(3)))

    def at(self, view: View) -> Distance:
        """The distances of a tick."""
        if view.time != self._time:
            self._time, values = view.time, view.matrix(self.signals)
            self._last = grown(self._last, len(view.entities), np.nan)
            totals = values[:, len(GAUGES) :].copy()
            rates = totals - self._last
            values[:, len(GAUGES) :] = np.where(rates >= 0, rates, np.nan)
            self._last = np.where(np.isfinite(totals), totals, self._last)
            self._distance = Distance(values, *distances(values, _groups(view)))
        return self._distance


class PeerDistance:
    """Devices far from the median of their peers for a while."""

    channel, advice = "peer", Advice.EXCLUDE

    def __init__(
        self, name: str, peers: Peers, *, z: float, lasts_s: float, interval_s: float
    ) -> None:
        self.name, self._peers, self._z = name, peers, z
        self._ticks = max(1, round(lasts_s / interval_s))
        self._held = np.zeros((0, len(peers.signals)), dtype=np.int64)

    def signs(self, view: View) -> Sequence[Sign]:
        """What was as far as that in every sample of the time."""
        distance = self._peers.at(view)
        with np.errstate(invalid="ignore"):
            far = np.abs(distance.off) > self._z * distance.scale
        self._held = grown(self._held, len(view.entities))
        # A missing sample is none, and no sign of health.
        self._held = np.where(
            far, self._held + 1, np.where(np.isnan(distance.values), self._held, 0)
        )
        lasting = far & (self._held >= self._ticks)
        return [
            distance.sign(view, self._peers.signals, int(row), int(np.argmax(lasting[row])))
            for row in np.flatnonzero(lasting.any(axis=1))
        ]


def _groups(view: View) -> Array:
    """A number of each device's group."""
    numbers: dict[tuple[str, str], int] = {}
    names = [(view.jobs.get(one.node, ""), one.model) for one in view.entities]
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.intp)


def distances(values: Array, groups: Array) -> tuple[Array, Array]:
    """How far each value is from the median of its group, and the group's scale."""
    off, scale = np.full(values.shape, np.nan), np.full(values.shape, np.nan)
    for group in range(int(groups.max(initial=-1)) + 1):
        rows = np.flatnonzero(groups == group)
        median = _median(values[rows])
        off[rows] = values[rows] - median
        mad = 1.4826 * _median(np.abs(off[rows]))
        scale[rows] = np.maximum(np.maximum(mad, _LEAST * np.abs(median)), 1e-9)
    return off, scale


def _median(values: Array) -> Array:
    """Of each column, without NaN, which are sorted behind; NaN of fewer than some members."""
    ordered = np.sort(values, axis=0)
    count = np.isfinite(values).sum(axis=0)
    column = np.arange(values.shape[1])
    middle = (ordered[np.maximum(count - 1, 0) // 2, column] + ordered[count // 2, column]) / 2
    return np.where(count >= _MEMBERS, middle, np.nan)


def peer_detectors(interval_s: float) -> list[PeerDistance]:
    """Persistence of four minutes as Minder has it (5.4), and any series at once (4.3)."""
    peers = Peers()
    return [
        PeerDistance("Minder-like", peers, z=8.0, lasts_s=240.0, interval_s=interval_s),
        PeerDistance("OR of series", peers, z=5.0, lasts_s=0.0, interval_s=interval_s),
    ]
