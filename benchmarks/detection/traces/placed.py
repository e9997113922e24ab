"""A fault with its place and size, and from which ranges lengths, sizes and precursors are drawn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from traces.character import Array
from traces.classes import FaultClass
from traces.sessions import Session
from traces.truth import RATE, SD


@dataclass
class Precursor:
    """What is seen of a fault before it; seconds of the trace."""

    start: float
    signal: str
    strength: float
    unit: str


@dataclass
class Placed:
    """A fault with its place; seconds of the trace, numbers of nodes and devices."""

    kind: FaultClass
    onset: float
    node: int
    device: int
    session: Session | None
    # Until its signature is gone, and until the node is back.
    until: float
    end: float
    magnitude: float | None = None
    precursor: Precursor | None = None
    nodes: tuple[int, ...] = ()
    xid_at: float | None = None
    # Which of two variants, 0 to 1.
    variant: float = 0.0


def group_of(
    rng: np.random.Generator, name: str, job: Sequence[int], rows: Array
) -> tuple[int, ...]:
    """The nodes of a group's fault; `rows` are all nodes in the order of their racks."""
    if name == "storage":
        return tuple(job)
    share = rng.uniform(0.3, 0.9) if name == "congestion" else rng.uniform(0.12, 0.3)
    first = int(rng.integers(len(rows)))
    chosen = np.roll(rows, first)[: max(2, round(share * len(rows)))]
    return tuple(int(node) for node in chosen if node in job) or tuple(job[:2])


def precursor_of(rng: np.random.Generator, kind: FaultClass, onset: float) -> Precursor | None:
    """What is seen before a fault of a class, if anything."""
    if rng.random() >= kind.precursor:
        return None
    low, high = kind.precursor_min
    start = onset - 60.0 * _between(rng, low, high)
    signal, unit, least, most = PRECURSORS[kind.name]
    if kind.name == "ecc_94" and rng.random() < 0.6:  # 5.3: 20 % a burst, 30 % earlier remaps
        signal, least, most = "memory_remapped_rows.uncorrected", 10.0, 30.0
        start = onset - rng.uniform(3600.0, 36_000.0)
    return Precursor(max(start, 0.0), signal, _between(rng, least, most), unit)


def lasting(rng: np.random.Generator, kind: FaultClass) -> tuple[float, float | None]:
    """Seconds until a fault ends where nobody ends it, and its magnitude."""
    return LASTS.get(kind.name, _usual)(rng)


def _usual(rng: np.random.Generator) -> tuple[float, float | None]:
    """Nobody touches it for half an hour to two (assumption)."""
    return rng.uniform(1800.0, 7200.0), None


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


# Seconds that a fault lasts where nobody ends it, and its magnitude: 5.3.
LASTS: dict[str, Callable[[np.random.Generator], tuple[float, float | None]]] = {
    # Power -3 to -30 %, for 10 min to days.
    "slow_clock": lambda rng: (_between(rng, 600, 172_800), _between(rng, 0.03, 0.30)),
    # Rates -25 to -50 %, until the reset.
    "slow_link": lambda rng: (_between(rng, 3600, 86_400), rng.uniform(0.25, 0.50)),
    "congestion": lambda rng: (rng.uniform(900, 2000), rng.uniform(0.2, 0.5)),  # ~24 min
    # Degrees; 5.1 has the event and no size: assumption.
    "cooling": lambda rng: (rng.uniform(3600, 14_400), rng.uniform(6.0, 14.0)),
    "fan": lambda rng: (rng.uniform(7200, 43_200), rng.uniform(6.0, 18.0)),  # assumption
    "pcie_width": lambda rng: (rng.uniform(7200, 43_200), float(rng.choice([0.5, 0.75]))),
    "slow_reads": lambda rng: (rng.uniform(1800, 14_400), rng.uniform(5.0, 30.0)),
}
# Column, unit and range of the strength of each precursor: 5.3; in deviations where it is no rate.
PRECURSORS = {
    "nvlink": ("interconnect_errors_total.nvlink.crc_flit", RATE, 10.0, 100.0),
    # Healthy devices have hardly any of the next two: 3 to 300 an hour instead (assumption).
    "ecc_94": ("ecc_errors_total.corrected", RATE, 1e4, 1e6),
    "off_bus": ("pcie_errors_total.replay", RATE, 2e3, 2e5),
    "gsp": ("collector_duration_seconds.nvidia", SD, 8.0, 60.0),
    "gpu_lost": ("memory_remapped_rows.corrected", RATE, 10.0, 30.0),
    "slow_clock": ("temperature_celsius.gpu", SD, 2.0, 12.0),
    "storage": ("host_nfs_backlog_total./mnt/train", RATE, 3.0, 30.0),
}
