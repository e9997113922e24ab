"""Where snapshots come from, as the dashboard sees it: this machine, a recording, or a test's own."""

from collections.abc import Callable
from typing import Protocol

from accelwatch.schema.snapshot import Snapshot


class Source(Protocol):
    """Snapshots over time. Everything happens on the event loop and nothing blocks it."""

    local: bool
    """Whether the processes are of this machine, so that they can be signalled."""
    recorded: bool
    """Whether time is the recording's own, so that it can be stepped and sought."""

    async def run(self, changed: Callable[[], None]) -> None:
        """Work until cancelled; call `changed` when there is something new."""
        ...

    def snapshot(self) -> Snapshot | None:
        """The state now; None while nothing is known."""
        ...

    def set_interval(self, interval_s: float) -> None:
        """Read this often from now on."""
        ...


class Playback(Protocol):
    """What a recorded source can do besides."""

    speed: float
    playing: bool
    loop: bool

    @property
    def progress(self) -> tuple[float, float, float]:
        """(first, present, last moment) in Unix seconds."""
        ...

    def step(self, frames: int) -> None:
        """Stop, and show the frame so many places on."""
        ...

    def seek(self, moment: float) -> None:
        """Show the frame of a moment."""
        ...
