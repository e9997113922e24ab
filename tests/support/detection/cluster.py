"""A fleet whose hosts, storage and fabric are read too, and whose nodes train, save, load and rest."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from accelwatch.detection.arrays import Floats
from accelwatch.detection.detector import Detector
from accelwatch.detection.findings.finding import Finding, Level
from accelwatch.detection.frame import DeviceState, Frame, FrameEvent, NodeState
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.metrics import Series
from support.detection.simulated import HEAT, INTERVAL_S, Fleet, at, node_at

CLOCK: Series = ("clock_hertz", "sm")
MEMORY_HEAT: Series = ("temperature_celsius", "memory")
ACTIVE: Series = ("compute_active_ratio",)
REPLAYS: Series = ("pcie_errors_total", "replay")
RUNNABLE: Series = ("host_runnable_processes",)
REQUESTS: Series = ("host_nfs_requests_total", "*")
ROUND_TRIP: Series = ("host_nfs_round_trip_seconds_total", "*")
EXECUTION: Series = ("host_nfs_execution_seconds_total", "*")
RDMA: Series = ("host_rdma_bytes_total", "*", "*", "receive")
READ: Series = ("fleet_target_read_duration_seconds",)
# Noise of a device is correlated over thirteen minutes (design: tau of peer-conditioned residuals).
_KEPT = float(np.exp(-INTERVAL_S / 780.0))


class Work(NamedTuple):
    """What nodes do, as what is read of it."""

    load: float
    # Shares of what training draws, sends over links and over the fabric.
    watts: float
    traffic: float
    # NFS requests a second, and for how many seconds each waits in the queue and is on its way.
    requests: float
    queue_s: float
    trip_s: float
    # Degrees above idle.
    heat: float


TRAIN = Work(1.0, 1.0, 1.0, 2.0, 0.001, 0.01, 25.0)
# 92 % of 1.6 s are the queue's (design 1.4).
SAVE = Work(0.3, 0.35, 0.01, 400.0, 1.5, 0.12, 12.0)
LOAD = Work(0.02, 0.2, 0.02, 900.0, 0.001, 0.12, 6.0)
REST = Work(0.0, 0.12, 0.0, 0.5, 0.001, 0.01, 0.0)
# A save that waits for its storage, ten times as long.
STALL = SAVE._replace(requests=80.0, queue_s=15.0)


class Cluster(Fleet):
    """What is set here holds until it is set again; `frame` gives the next tick."""

    def __init__(self, nodes: int = 8, *, each: int = 8, seed: int = 1) -> None:
        super().__init__(nodes, each=each, seed=seed)
        rows = len(self.node_of)
        self.nodes = nodes
        self.work: list[Work] = [TRAIN] * nodes
        # Device to device: 1 % of power, 5 degrees.
        self.watts *= 1.0 + self.rng.normal(0.0, 0.01, rows)
        self._base, self._heat = self.watts.copy(), 30.0 + self.rng.normal(0.0, 5.0, rows)
        self._sending = self.traffic.copy()
        # What a fault takes: shares of clock and power that are left, degrees that are added.
        self.clock, self.strength = np.ones(rows), np.ones(rows)
        self.hotter = np.zeros(rows)
        self.replays_s = np.zeros(rows)
        self.rdma = np.full(nodes, 2e10)
        # Samples that do not come at this tick, of devices and of whole nodes.
        self.absent = np.zeros(rows, dtype=np.bool_)
        self.silent = np.zeros(nodes, dtype=np.bool_)
        self.device_state = np.full(rows, DeviceState.READ, dtype=np.int16)
        self.node_generation = np.zeros(nodes, dtype=np.intp)
        self.events: list[FrameEvent] = []
        self._sampled, self._node_sampled = np.full(rows, -np.inf), np.full(nodes, -np.inf)
        self._wander = np.zeros(rows)
        self._counters: dict[Series, Floats] = {}

    def log(
        self, code: str, category: Category, row: int, severity: str, ago_s: float = 5.0
    ) -> None:
        """An event of a device in the next frame, by a clock that may be off."""
        event = ErrorEvent(
            code=code, category=category, time=self.now + INTERVAL_S - ago_s, text="", source="nvml"
        )
        self.events.append(FrameEvent(int(self.node_of[row]), row, event, severity))

    def slow(self, row: int) -> None:
        """A device that is held back for heat."""
        self.clock[row], self.strength[row], self.hotter[row] = 0.8, 0.85, 8.0

    def frame(self) -> Frame:
        """The next tick."""
        works = np.array(self.work)
        load, watts, traffic, requests, queue_s, trip_s, heat = works.T
        rows, of = len(self.node_of), self.node_of
        self._wander = _KEPT * self._wander + np.sqrt(1 - _KEPT**2) * self.rng.normal(
            0.0, 0.002, rows
        )
        self.watts = self._base * watts[of] * self.strength * (1.0 + self._wander)
        self.load = np.round(load[of] - 0.004 * load[of] * self.rng.random(rows), 2)
        self.traffic = self._sending * traffic[of]
        self.heat = self._heat + heat[of] + self.hotter
        frame = super().frame()
        devices, nodes = frame.devices, frame.nodes
        devices[at(CLOCK)] = 1.9e9 * np.where(load[of] > 0.1, 1.0, 0.2) * self.clock
        devices[at(CLOCK)] += 15e6 * self.rng.integers(-1, 2, rows)
        devices[at(MEMORY_HEAT)] = devices[at(HEAT)] + 8.0
        devices[at(ACTIVE)] = np.round(0.6 * load[of] * self._about(rows, 0.01), 3)
        devices[at(REPLAYS)] = self._count(
            REPLAYS, self.rng.poisson(self.replays_s * INTERVAL_S).astype(np.float64)
        )
        nodes[node_at(RUNNABLE)] = np.round(
            np.where(load > 0.1, 16.0, 2.0) * self._about(len(load), 0.1)
        )
        sent = np.round(requests * INTERVAL_S * self._about(len(load), 0.05))
        nodes[node_at(REQUESTS)] = self._count(REQUESTS, sent)
        trip = sent * trip_s * self._about(len(load), 0.05)
        nodes[node_at(ROUND_TRIP)] = self._count(ROUND_TRIP, trip)
        waited = trip + sent * queue_s * self._about(len(load), 0.1)
        nodes[node_at(EXECUTION)] = self._count(EXECUTION, waited)
        moved = self.rdma * traffic * INTERVAL_S * self._about(len(load), 0.03)
        nodes[node_at(RDMA)] = self._count(RDMA, moved)
        nodes[node_at(READ)] = 0.05 * self._about(len(load), 0.1)
        return self._as_read(frame)

    def _count(self, series: Series, more: Floats) -> Floats:
        before = self._counters.get(series, np.zeros(len(more)))
        self._counters[series] = before[: len(more)] + more
        return self._counters[series].copy()

    def reset_counters(self, nodes: slice) -> None:
        """Counters of some nodes begin anew, as after an exporter's restart."""
        rows = np.isin(self.node_of, np.arange(self.nodes)[nodes])
        self._sent[rows], self._interrupts[nodes] = 0.0, 0.0
        for counted in self._counters.values():
            counted[rows if len(counted) == len(rows) else nodes] = 0.0

    def replace_device(self, row: int) -> None:
        """Another device in a row, whose counters begin anew."""
        self._sent[row] = 0.0
        self._counters[REPLAYS][row] = 0.0

    def _as_read(self, frame: Frame) -> Frame:
        silent = self.silent[self.node_of]
        here = ~(self.absent | silent)
        self._sampled = np.where(here, frame.device_sampled, self._sampled)
        self._node_sampled = np.where(self.silent, self._node_sampled, frame.node_sampled)
        frame.devices[:, ~here] = np.nan
        frame.nodes[:, self.silent] = np.nan
        quiet = frame.now - self._node_sampled > 3 * INTERVAL_S
        state = np.where(quiet[self.node_of], DeviceState.STALE, self.device_state)
        events, self.events = tuple(self.events), []
        return frame._replace(
            device_sampled=self._sampled.copy(),
            node_sampled=self._node_sampled.copy(),
            device_state=state.astype(np.int16),
            node_state=np.where(quiet, NodeState.DOWN, NodeState.UP).astype(np.int16),
            node_generation=self.node_generation.copy(),
            events=events,
        )


def nothing(_tick: int) -> None:
    """A day as any other."""


def play(
    detector: Detector, fleet: Fleet, ticks: int, before: Callable[[int], None] = nothing
) -> list[Finding]:
    """What the detector reported, in order; `before` spoils each tick by its number."""
    reported: list[Finding] = []
    for tick in range(ticks):
        before(tick)
        reported += detector.detect(fleet.frame())
    return reported


def alerts(reported: list[Finding]) -> list[Finding]:
    """Those that woke somebody."""
    return [finding for finding in reported if finding.level is Level.ALERT]
