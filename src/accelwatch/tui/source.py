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

    def close(self) -> None:
        """Let go of what `run` has not taken over, and of files."""
        ...
