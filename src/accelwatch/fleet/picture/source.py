"""Where snapshots come from, as the dashboard sees it: this machine, a recording, or a test's own."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from accelwatch.schema.snapshot import Snapshot


class SnapshotSource(Protocol):
    """Snapshots over time. Everything happens on the event loop and nothing blocks it."""

    # Whether the processes are of this machine, so that they can be signalled.
    local: bool
    # Whether time is the recording's own, so that it can be stepped and sought.
    recorded: bool

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
        """Close what `run` has not adopted, and files."""
        ...


class NoSource:
    """Nothing to show: a dashboard of a fleet before a node is opened."""

    local = False
    recorded = False

    async def run(self, _: Callable[[], None], /) -> None:
        """Wait until cancelled."""
        await asyncio.Event().wait()

    def snapshot(self) -> Snapshot | None:
        """There is none."""
        return None

    def set_interval(self, interval_s: float) -> None:
        """There is nothing to read."""

    def close(self) -> None:
        """Nothing is held."""
