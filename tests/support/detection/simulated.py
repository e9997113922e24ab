"""Frames of a small fleet that works in step, of which a test spoils something."""

import numpy as np

from accelwatch.detection.arrays import Floats
from accelwatch.detection.frame import DeviceState, Frame, Names, NodeState
from accelwatch.detection.signals.device_signals import DEVICE_SIGNALS
from accelwatch.detection.signals.node_signals import NODE_SIGNALS
from accelwatch.schema.metrics import Series

INTERVAL_S = 30.0
_DEVICE_POSITIONS = {signal.series: position for position, signal in enumerate(DEVICE_SIGNALS)}
_NODE_POSITIONS = {signal.series: position for position, signal in enumerate(NODE_SIGNALS)}
POWER: Series = ("power_watts",)
LOAD: Series = ("utilization_ratio",)
HEAT: Series = ("temperature_celsius", "gpu")
NVLINK: Series = ("interconnect_bytes_total", "nvlink", "receive")
INTERRUPTS: Series = ("host_interrupts_total",)


def at(series: Series) -> int:
    """The place of a signal of devices."""
    return _DEVICE_POSITIONS[series]


def node_at(series: Series) -> int:
    """The place of a signal of nodes."""
    return _NODE_POSITIONS[series]


class Fleet:
    """Nodes of eight devices in one job; power, load, heat and traffic are what a test sets."""

    def __init__(self, nodes: int = 8, *, each: int = 8, seed: int = 1) -> None:
        self.rng = np.random.default_rng(seed)
        self.now = 1_000_000.0
        self.node_of = np.repeat(np.arange(nodes, dtype=np.intp), each)
        rows = len(self.node_of)
        self.names = Names(
            tuple(f"node{n}" for n in range(nodes)),
            tuple(f"gpu{n}" for n in range(rows)),
            ("train",),
            (),
            ("B200",),
        )
        self.job = np.zeros(rows, dtype=np.intp)
        self.stage = np.full(rows, -1, dtype=np.intp)
        self.model = np.zeros(rows, dtype=np.intp)
        self.generation = np.zeros(rows, dtype=np.intp)
        self.maintenance = np.zeros(nodes, dtype=np.bool_)
        # Factors a device; what a test spoils.
        self.watts = np.full(rows, 600.0)
        self.load = np.ones(rows)
        self.traffic = np.full(rows, 1e11)
        self.heat = np.round(50.0 + self.rng.normal(0, 4.0, rows))
        self.interrupts = np.full(nodes, 10_000.0)
        self.noise = 0.003
        self._sent = np.zeros(rows)
        self._interrupts = np.zeros(nodes)

    def frame(self) -> Frame:
        """The next tick."""
        self.now += INTERVAL_S
        rows, nodes = len(self.node_of), len(self.maintenance)
        devices = np.full((len(DEVICE_SIGNALS), rows), np.nan)
        devices[at(POWER)] = np.round(self.watts * self._about(rows, self.noise))
        devices[at(LOAD)] = self.load
        devices[at(HEAT)] = np.round(self.heat + self.rng.normal(0, 0.4, rows))
        self._sent += self.traffic * INTERVAL_S * self._about(rows, 0.05)
        devices[at(NVLINK)] = self._sent
        host = np.full((len(NODE_SIGNALS), nodes), np.nan)
        self._interrupts += self.interrupts * INTERVAL_S * self._about(nodes, 0.03)
        host[node_at(INTERRUPTS)] = self._interrupts
        return Frame(
            self.now,
            INTERVAL_S,
            self.names,
            devices,
            host,
            np.full(rows, self.now - 3.0),
            np.full(nodes, self.now - 3.0),
            self.node_of,
            self.job.copy(),
            self.stage.copy(),
            self.model.copy(),
            self.generation.copy(),
            np.zeros(nodes, dtype=np.intp),
            np.full(rows, DeviceState.READ, dtype=np.int16),
            np.full(nodes, NodeState.UP, dtype=np.int16),
            self.maintenance.copy(),
            (),
        )

    def _about(self, rows: int, spread: float) -> Floats:
        return 1.0 + self.rng.normal(0.0, spread, rows)
