"""Time as a collaborator: everything that needs a clock gets one, so tests own time."""

import time
from typing import Protocol


class Clock(Protocol):
    """Wall time for people and records, monotonic time for every duration."""

    def wall(self) -> float:
        """Unix time in seconds."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never steps back."""
        ...


class SystemClock:
    """The machine's clocks."""

    def wall(self) -> float:
        """Unix time in seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since an arbitrary start."""
        return time.monotonic()


class ManualClock:
    """A clock that moves only by its methods; wall and monotonic time can be moved apart."""

    def __init__(self, wall: float = 1_800_000_000.0, monotonic: float = 1_000.0) -> None:
        self._wall = wall
        self._monotonic = monotonic

    def wall(self) -> float:
        """Unix time in seconds."""
        return self._wall

    def monotonic(self) -> float:
        """Seconds since an arbitrary start."""
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Let time pass on both clocks."""
        self._wall += seconds
        self._monotonic += seconds

    def step_wall(self, seconds: float) -> None:
        """Set the wall clock forward or back, as an administrator or NTP would."""
        self._wall += seconds
