"""What cells of the map show while a value moves little, so that digits and levels do not flicker.

Each cell that changes is sent to the terminal: hundreds of figures that go up and down by a point make a
picture that is never still, and most of what a slow link carries. The selected device has its exact
figures below the map.
"""

# How far a value moves before another one is shown: shares, and degrees Celsius.
STEPS = {"load": 0.05, "memory": 0.05, "temperature": 3.0}


class SteadyValues:
    """The value shown of each device, by slot and by what the cells show."""

    def __init__(self) -> None:
        self._shown: dict[tuple[int, str], float] = {}

    def of(self, slot: int, shade: str, value: float | None) -> float | None:
        """The value to show; one that is not known, and none at all, are shown at once."""
        key = slot, shade
        if value is None:
            self._shown.pop(key, None)
            return None
        shown = self._shown.get(key)
        if shown is None or not value or abs(value - shown) >= STEPS[shade]:
            shown = self._shown[key] = value
        return shown
