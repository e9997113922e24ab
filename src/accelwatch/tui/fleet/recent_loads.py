"""What the devices of a fleet did in the last minutes, for cells of the map that have room for it.

Only whole steps are kept, so that a trace moves on rarely and a terminal gets little to paint.
"""

import math
from collections import deque
from collections.abc import Sequence

from accelwatch.fleet.picture.model import UTILIZATION, FleetView

STEP_S = 10.0
STEPS = 30
# More do not fit on a screen with their traces.
MOST_DEVICES = 512


class RecentLoads:
    """The greatest load of each device in each of the last steps, by slot."""

    def __init__(self) -> None:
        self._steps: dict[int, deque[float]] = {}
        self._present: dict[int, float] = {}
        self._step = 0

    def add(self, view: FleetView) -> None:
        """A tick; going back in time, or more devices than can be shown, forgets everything."""
        step = int(view.time // STEP_S)
        if step < self._step or len(view.devices) > MOST_DEVICES:
            self._steps.clear()
            self._present.clear()
        elif step > self._step and self._step:
            self._move(min(step - self._step, STEPS + 1))
        self._step = step
        if len(view.devices) > MOST_DEVICES:
            return
        for now in view.devices:
            load = now.values[UTILIZATION]
            if load is not None:
                self._present[now.slot] = max(load, self._present.get(now.slot, 0.0))

    def _move(self, steps: int) -> None:
        """End the present step; those after it until now have no value."""
        for slot in self._steps.keys() | self._present.keys():
            kept = self._steps.setdefault(slot, deque(maxlen=STEPS))
            kept.append(self._present.get(slot, math.nan))
            kept.extend([math.nan] * (steps - 1))
        self._present.clear()

    def of(self, slot: int, count: int) -> Sequence[float]:
        """The last `count` steps of a device, oldest first; NaN where nothing is known."""
        kept = list(self._steps.get(slot, ()))[-count:]
        return [math.nan] * (count - len(kept)) + kept
