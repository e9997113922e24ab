"""What happens on every site and is no fault: reads that fail, restarts, odd clocks, counts that grow.

Rates are a fleet's of 63 nodes and 504 devices; each event falls on nodes and devices at random.
"""

from typing import NamedTuple

import numpy as np

from healthy_fleets.jobs import NODES, Job
from healthy_fleets.machines import DEVICES

_DAY_S = 86_400.0
Array = np.ndarray


class Event(NamedTuple):
    """A line of a log; `second` by the true time, `device` None of the node's own."""

    second: float
    node: int
    device: int | None
    code: str
    text: str


class Away(NamedTuple):
    """A time in which something of a node, or of one device of it, is not recorded or not readable."""

    node: int
    device: int | None
    start: float
    end: float


class Rates(NamedTuple):
    """How often a day in the whole fleet."""

    # Share of samples that are missed, some of them in bursts.
    missed: float = 0.01
    # One device cannot be read for 20 to 70 s: the driver is busy.
    unreadable: float = 3.0
    # No device of a node can be read for 20 to 70 s.
    slow_driver: float = 0.5
    # For 20 to 90 s nothing is told of a node.
    exporter_restarts: float = NODES / 7.0
    # Nobody announces them; the node is idle then or loses its jobs.
    reboots: float = 0.15
    maintenance: float = 0.5
    clock_steps: float = 2.0
    # By how many seconds the clocks of nodes are off.
    clock_sd_s: float = 5.0
    link_recoveries: float = 100.0
    link_errors: float = 40.0
    corrected_ecc: float = 4.0
    pcie_replays: float = 20.0
    # Corrected errors of PCIe and of main memory in the log.
    corrected_events: float = 3.0
    out_of_memory: float = 0.5


class Nuisances:
    """All of an archive, drawn once; `shape` is nodes and devices of each."""

    def __init__(
        self,
        seconds: float,
        jobs: list[Job],
        rng: np.random.Generator,
        *,
        shape: tuple[int, int] = (NODES, DEVICES),
        rates: Rates = Rates(),  # noqa: B008 a constant
    ) -> None:
        self._rng, self._seconds = rng, seconds
        self._nodes, self._devices = shape
        self.rates = rates
        self.unreadable = [
            *self._away(rates.unreadable, 20, 70, of_device=True),
            *self._away(rates.slow_driver, 20, 70),
        ]
        self.maintenance = self._away(rates.maintenance, 900, 2700)
        self.reboots = self._away(rates.reboots, 200, 420)
        restarts = self._away(rates.exporter_restarts, 20, 90)
        self.gone = [*restarts, *self.reboots, *self.maintenance]
        # Nodes that have been booted at the end of each.
        self.started = [*self.reboots, *self.maintenance]
        self.skews = self._skews(rates.clock_steps)
        self.events = sorted([*self._of_hosts(), *self._of_programs(jobs)])

    def _times(self, a_day: float) -> Array:
        count = self._rng.poisson(a_day * self._nodes / NODES * self._seconds / _DAY_S)
        return np.sort(self._rng.uniform(0, self._seconds, count))

    def _away(
        self, a_day: float, least: float, most: float, *, of_device: bool = False
    ) -> list[Away]:
        rng = self._rng
        return [
            Away(
                int(rng.integers(self._nodes)),
                int(rng.integers(self._devices)) if of_device else None,
                float(at),
                float(at + rng.uniform(least, most)),
            )
            for at in self._times(a_day)
        ]

    def _skews(self, a_day: float) -> list[tuple[int, float, float]]:
        """Node, since when, and by how many seconds its clock is off."""
        rng = self._rng
        first = [
            (node, 0.0, float(rng.normal(0, self.rates.clock_sd_s))) for node in range(self._nodes)
        ]
        return [
            *first,
            *(
                (int(rng.integers(self._nodes)), float(at), float(rng.normal(0, 40)))
                for at in self._times(a_day)
            ),
        ]

    def skew(self, node: int, second: float) -> float:
        """By how many seconds the clock of a node is off at a moment."""
        return [by for other, since, by in self.skews if other == node and since <= second][-1]

    def _of_hosts(self) -> list[Event]:
        rng, found = self._rng, []
        for at in self._times(self.rates.corrected_events):
            code, text = (
                ("pcie_corrected", "AER: Corrected error received"),
                ("edac_ce", "EDAC MC0: 1 CE on DIMM_A1"),
            )[int(rng.integers(2))]
            found.append(Event(float(at), int(rng.integers(self._nodes)), None, code, text))
        for at in self._times(self.rates.out_of_memory):
            text = "Out of memory: Killed process 4242 (python)"
            found.append(Event(float(at), int(rng.integers(self._nodes)), None, "oom_kill", text))
        for node, _, _, end in self.started:
            found.append(Event(end - 60.0, node, None, "boot", "the node was started"))
        return found

    def _of_programs(self, jobs: list[Job]) -> list[Event]:
        """A program with a mistake faults on a device, and all channels of the job are cleaned up."""
        rng, found = self._rng, []
        for job in jobs:
            if not job.crashes or job.end >= self._seconds:
                continue
            first, code = int(rng.choice(job.nodes)), str(rng.choice(["xid_31", "xid_13"]))
            text = f"NVRM: Xid (PCI:0000:1b:00): {code[4:]}, pid=4242, name=python"
            found.append(Event(job.end - 20.0, first, job.devices[0], code, text))
            for node in job.nodes:
                for device in job.devices:
                    after = str(rng.choice(["xid_43", "xid_45"]))
                    text = f"NVRM: Xid (PCI:0000:1b:00): {after[4:]}, pid=4242, name=python, Ch 08"
                    second = job.end - 18.0 + float(rng.uniform(0, 15))
                    found.append(Event(second, node, device, after, text))
        return found

    def counted(self, a_day: float, shape: tuple[int, ...], step_s: float) -> Array:
        """How many of them fall on each tick and device."""
        per_cell = a_day * step_s / _DAY_S / (NODES * DEVICES)
        return self._rng.poisson(per_cell, shape).astype(np.float64)

    def missed(self, ticks: int) -> Array:
        """By tick and node: samples that nobody has, some of them several in a row."""
        fails = self._rng.random((ticks, self._nodes)) < self.rates.missed / 1.5
        fails[1:] |= fails[:-1] & (self._rng.random((ticks - 1, self._nodes)) < 0.5)
        return fails
