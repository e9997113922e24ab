"""What the backend plays: a recording and a scenario behave alike from here on."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from accelwatch.schema.device import Device
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.reading import Reading


class PlayTime(msgspec.Struct, frozen=True):
    """A moment of the play: seconds since its beginning, and the wall time it is shown at."""

    elapsed_s: float
    wall: float


class Player(Protocol):
    """Answers for one moment; its own thread safety, because devices are read in parallel."""

    def enter(self, call: str, device: Device | None) -> None:
        """Suffer the faults of a call (`open`, `discover`, `identify`, `read`): block, raise, die."""
        ...

    def devices(self, play_time: PlayTime) -> Sequence[Device]:
        """Whole devices that are there."""
        ...

    def identity(self, device: Device, play_time: PlayTime) -> Sequence[Device]:
        """A whole device and its partitions. Raises ReadError."""
        ...

    def readings(self, device: Device, play_time: PlayTime) -> Sequence[Reading]:
        """Readings of a whole device and of its partitions. Raises ReadError."""
        ...

    def events(self, play_time: PlayTime) -> Sequence[ErrorEvent]:
        """Events that came since the last call."""
        ...


def loop_position(elapsed_s: float, length_s: float, *, loop: bool) -> tuple[int, float]:
    """How often the end was passed, and the seconds since the present beginning."""
    if length_s <= 0 or elapsed_s < length_s:
        return 0, elapsed_s
    if not loop:
        return 0, length_s
    turns, position = divmod(elapsed_s, length_s)
    return int(turns), position
