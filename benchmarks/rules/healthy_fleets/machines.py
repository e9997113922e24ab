"""What nodes are made of: models of devices with their limits, and how they are wired."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

# Of each node.
DEVICES = 8


class Model(NamedTuple):
    """A model of device; watts and hertz of its data sheet, idle watts as measured on such cards."""

    name: str
    limit_watts: float
    idle_watts: float
    # Idle with a model in its memory: clocks stay up.
    loaded_watts: float
    boost_hertz: float
    memory_gib: float
    pcie_generation: float


H100 = Model("NVIDIA H100 80GB HBM3", 700.0, 70.0, 120.0, 1.98e9, 80.0, 5.0)
A100 = Model("NVIDIA A100 80GB PCIe", 300.0, 45.0, 65.0, 1.41e9, 80.0, 4.0)
L40S = Model("NVIDIA L40S", 350.0, 35.0, 80.0, 2.52e9, 48.0, 4.0)


class Machine(NamedTuple):
    """A kind of node."""

    model: Model
    # NVLinks that are up by device; NaN where the model has none.
    links: tuple[float, ...]
    lanes: float = 16.0


# All devices on one baseboard.
BOARD = Machine(H100, (18.0,) * DEVICES)
# Two pairs with a bridge, four cards without one.
BRIDGED = Machine(A100, (12.0,) * 4 + (0.0,) * 4)
UNBRIDGED = Machine(A100, (0.0,) * DEVICES)
PLAIN = Machine(L40S, (float("nan"),) * DEVICES)
# Risers that give each card half of the lanes.
NARROW = Machine(L40S, (float("nan"),) * DEVICES, lanes=8.0)


def by_device(machines: Sequence[Machine], field: str) -> np.ndarray:
    """A number of the model, by node and device."""
    column = np.array([getattr(one.model, field) for one in machines], dtype=np.float64)
    return np.repeat(column[:, None], DEVICES, axis=1)
