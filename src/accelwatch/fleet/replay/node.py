"""One node of an archive as the Local screen's source: its records up to the time that is shown."""

import asyncio
from collections.abc import Callable

from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.replay.archive import ReplayedArchive
from accelwatch.fleet.replay.worker import ReadingThread
from accelwatch.schema.snapshot import Snapshot


class ArchivedNode:
    """Implements the dashboard's `SnapshotSource`; who plays the archive says when to look."""

    local = False
    recorded = True

    def __init__(
        self,
        archive: ReplayedArchive,
        thread: ReadingThread,
        node: str,
        position: Callable[[], float],
    ) -> None:
        """`position` gives the Unix seconds that are shown."""
        self._archive = archive
        self._thread = thread
        self._node = node
        self._position = position
        self._shot: Snapshot | None = None
        self._moved = asyncio.Event()

    def snapshot(self) -> Snapshot | None:
        """The node at the moment; None until it was read."""
        return self._shot

    def set_interval(self, interval_s: float) -> None:
        """Who plays the archive has it."""

    def close(self) -> None:
        """Nothing is held."""

    def refresh(self) -> None:
        """Another moment is shown."""
        self._moved.set()

    async def run(self, changed: Callable[[], None]) -> None:
        """Read the node whenever another moment is shown, until cancelled."""
        self._moved.set()
        while True:
            await self._moved.wait()
            self._moved.clear()
            now = round(self._position() * 1000)
            try:
                self._shot = await self._thread.call(
                    lambda now=now: self._archive.snapshot(self._node, now)  # type: ignore[misc]
                )
            except AccelwatchError:
                continue  # the fleet's view names the file
            changed()
