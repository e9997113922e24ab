"""What a counter did since it was last read."""

from accelwatch.base.absence import Absence


class Rates:
    """Remembers the last value and time of each counter of one device.

    `still` is why a counter that always moves, but did not, gives no value.
    """

    def __init__(self, still: Absence = Absence.ERROR) -> None:
        self.still = still
        self._last: dict[str, tuple[float, float]] = {}

    def per_second(self, name: str, value: float, now: float) -> float | None:
        """Increase per second since the last call; `now` is in seconds of any one clock.

        None the first time, when no time has passed, and when the counter went back (a reset).
        """
        before = self._last.get(name)
        if before is not None and now <= before[1]:
            return None
        self._last[name] = (value, now)
        if before is None or value < before[0]:
            return None
        return (value - before[0]) / (now - before[1])
