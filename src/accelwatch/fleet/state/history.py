"""Recent history of a device: a ring of single-precision numbers, one row every ten seconds."""

import math
from array import array

from accelwatch.fleet.state.readings import Held
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
_WIDTH = len(QUANTITIES)
_EMPTY = array("f", [math.nan] * (STEPS * _WIDTH))


class History:
    """One device's last steps; a step without a value is NaN inside and None outside."""

    __slots__ = ("_last", "_ring")

    def __init__(self) -> None:
        self._ring = array("f", _EMPTY)
        self._last = -1

    def take(self, step: int, held: Held) -> None:
        """The values of a step (monotonic seconds divided by STEP_S); the first of a step counts."""
        if step <= self._last:
            return
        skipped = min(step - self._last - 1, STEPS) if self._last >= 0 else 0
        for missed in range(step - skipped, step):
            self._put(missed, [math.nan] * _WIDTH)
        found = held.numbers(QUANTITIES)
        self._put(step, [math.nan if value is None else float(value) for value in found])
        self._last = step

    def _put(self, step: int, values: list[float]) -> None:
        begin = (step % STEPS) * _WIDTH
        self._ring[begin : begin + _WIDTH] = array("f", values)

    def rows(self, series: Series, now: int) -> list[float | None]:
        """The last STEPS steps up to step `now`, oldest first. Raises ValueError for other series."""
        column = QUANTITIES.index(series)
        found: list[float | None] = []
        for step in range(now - STEPS + 1, now + 1):
            value = self._ring[(step % STEPS) * _WIDTH + column]
            here = self._last - STEPS < step <= self._last
            found.append(value if here and not math.isnan(value) else None)
        return found
