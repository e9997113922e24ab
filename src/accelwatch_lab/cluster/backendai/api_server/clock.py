"""The server's time: that of the machine, put forward where a test will not wait."""

import time
from datetime import UTC, datetime


class ShiftedClock:
    """A clock (accelwatch.base.clock.Clock) that runs, and that can be put forward."""

    def __init__(self) -> None:
        self._ahead_s = 0.0
        self._wall_ahead_s = 0.0

    def wall(self) -> float:
        """Unix time in seconds."""
        return time.time() + self._ahead_s + self._wall_ahead_s

    def monotonic(self) -> float:
        """Seconds since an arbitrary start."""
        return time.monotonic() + self._ahead_s

    def advance(self, seconds: float) -> None:
        """So many seconds have passed."""
        self._ahead_s += seconds

    def step_wall(self, seconds: float) -> None:
        """Set the wall clock forward or back, and let no time pass."""
        self._wall_ahead_s += seconds


def text_of(at: float | None) -> str | None:
    """A Unix time as GraphQL and the old API write it."""
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat()


def zulu_of(at: float | None) -> str | None:
    """A Unix time as REST v2 writes it."""
    text = text_of(at)
    return None if text is None else text.replace("+00:00", "Z")
