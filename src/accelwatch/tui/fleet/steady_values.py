"""What cells of the map show while a value moves little, so that digits and levels do not flicker.

Each cell that changes is sent to the terminal: hundreds of figures that go up and down by a point make a
picture that is never still, and most of what a slow link carries. The selected device has its exact
figures below the map.
"""

import math

# How far a value moves before another one is shown: shares, and degrees Celsius.
STEPS = {"load": 0.05, "memory": 0.05, "temperature": 3.0}
# A load goes up and down with each step of a training. Its mean is shown, where a value weighs a third
# after so many seconds; a load that jumps by so much is another one at once.
_MEAN_S = 15.0
_JUMP = 0.2


class SteadyValues:
    """The value shown of each device, by slot and by what the cells show."""

    def __init__(self) -> None:
        self._shown: dict[tuple[int, str], float] = {}
        # Mean load by slot, and of which time.
        self._means: dict[int, tuple[float, float]] = {}

    def of(self, slot: int, shade: str, value: float | None, time: float) -> float | None:
        """The value to show at a time (seconds); one not known, and none at all, are shown at once."""
        key = slot, shade
        if value is None:
            self._shown.pop(key, None)
            return None
        if shade == "load":
            value = self._mean(slot, value, time)
        shown = self._shown.get(key)
        if shown is None or not value or abs(value - shown) >= STEPS[shade]:
            shown = self._shown[key] = value
        return shown

    def _mean(self, slot: int, load: float, time: float) -> float:
        mean, before = self._means.get(slot, (load, time))
        if not load or abs(load - mean) >= _JUMP:
            mean = load
        else:
            mean += (load - mean) * -math.expm1(min(before - time, 0.0) / _MEAN_S)
        self._means[slot] = mean, time
        return mean
