"""Recent history of devices: six quantities every ten seconds for fifteen minutes."""

import math
from collections.abc import Sequence

import numpy as np

from accelwatch.fleet.state.readings import Held
from accelwatch.fleet.table.windows import Window
from accelwatch.schema.metrics import Series

STEP_S = 10
STEPS = 90
"""Fifteen minutes."""
QUANTITIES: tuple[Series, ...] = (
    ("utilization_ratio",),
    ("compute_active_ratio",),
    ("memory_used_bytes",),
    ("memory_bandwidth_utilization_ratio",),
    ("power_watts",),
    ("temperature_celsius", "gpu"),
)


class History:
    """The recent past of all rows."""

    def __init__(self) -> None:
        self.window = Window(QUANTITIES, STEPS)

    def keep(self, step: int, devices: Sequence[tuple[int, Held]]) -> None:
        """The values of a step (monotonic seconds divided by STEP_S) of devices in their rows."""
        if not devices:
            return
        told = [held.numbers(QUANTITIES) for _, held in devices]
        lines = [[math.nan if value is None else float(value) for value in line] for line in told]
        self.window.put(step, [row for row, _ in devices], np.array(lines))

    def rows(self, row: int, now: int) -> dict[Series, list[float | None]]:
        """Each quantity's last STEPS steps up to step `now`, oldest first; of an empty row nothing."""
        if not self.window.known(row):
            return {}
        return {one: self.window.read(one, row, now) for one in QUANTITIES}
