"""Whether the firmware of a chip lives: its heartbeat changes from one reading to the next."""

from typing import NamedTuple

# The firmware beats ten times a second; one that has not for so long is stuck.
STUCK_S = 3.0


class _Beat(NamedTuple):
    value: int
    # When this value was read first.
    since: float
    # Whether there was another before it.
    moved: bool


class Heartbeats:
    """Remembers the heartbeat of each device; every device is read by one thread."""

    def __init__(self) -> None:
        self._last: dict[str, _Beat] = {}

    def alive(self, device_id: str, value: int, at: float) -> bool | None:
        """Whether it beats, by a value read `at` (seconds); None while that is not known yet."""
        last = self._last.get(device_id)
        if last is None or value != last.value:
            self._last[device_id] = _Beat(value, at, last is not None)
            return None if last is None else True
        if at - last.since >= STUCK_S:
            return False
        return True if last.moved else None
