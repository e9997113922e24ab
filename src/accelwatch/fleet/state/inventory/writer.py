"""What has changed of the inventory, and the file that it goes to, now or once there is one.

While a folder cannot be kept, as another hub's or one on a full disk, changes wait here: they are
written when the folder is to be had, over what the file holds by then.
"""

import asyncio
import logging
import os
from pathlib import Path

from accelwatch.fleet.state.inventory.file import Changes, Expected, InventoryError
from accelwatch.fleet.state.inventory.opening import Opened, open_again, open_inventory

logger = logging.getLogger(__name__)


class InventoryWriter:
    """For the loop of a hub."""

    def __init__(self, folder: Path | None) -> None:
        """An inventory that cannot be read or written is reported in `problems`."""
        self._folder = folder
        self._opened = open_inventory(folder)
        self._unwritten = ""
        # Changes are removed from `changes` while a thread writes them. A second write meanwhile
        # could overtake the first, and reopening could lose them.
        self._writing = asyncio.Lock()
        # Not written yet.
        self.changes = Changes()

    @property
    def expected(self) -> dict[str, Expected]:
        """What the file held when it was opened."""
        return self._opened.expected

    @property
    def owns_folder(self) -> bool:
        """Whether the folder is this hub's: no other hub keeps anything there meanwhile."""
        return self._opened.lock is not None

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the inventory; empty when all that is known outlives the hub."""
        return tuple(problem for problem in (self._opened.problem, self._unwritten) if problem)

    async def flush(self) -> None:
        """Write down what has changed. Raises InventoryError; what could not be written is kept."""
        async with self._writing:
            if self._waits or not self.changes:
                return
            changes, self.changes = self.changes, Changes()
            try:
                await asyncio.to_thread(self._opened.file.write, changes)
            except InventoryError as error:
                self.changes = changes.before(self.changes)
                self._unwritten = str(error)
                raise
            self._unwritten = ""

    async def open_again(self) -> dict[str, Expected]:
        """Try to keep a folder that could not be kept; what its file holds, nothing while it cannot."""
        if self._folder is None or not self._waits:
            return {}
        async with self._writing:
            opened = await asyncio.to_thread(open_again, self._folder, self._opened.lock)
            if opened is None:
                return {}
            self._opened.file.close()
            self._opened = opened
        logger.info("%s: the inventory is kept here from now on", self._folder)
        return _without_gone(opened, self.changes)

    @property
    def unusable(self) -> str:
        """Why the file is left as it is and the inventory is in memory; empty while it is not."""
        return self._opened.problem if self._waits else ""

    @property
    def _waits(self) -> bool:
        return self._folder is not None and not self._opened.kept

    def close(self) -> None:
        """Close the file; what is not written by then is lost."""
        self._opened.file.close()
        if self._opened.lock is not None:
            os.close(self._opened.lock)
            self._opened = self._opened._replace(lock=None)


def _without_gone(opened: Opened, changes: Changes) -> dict[str, Expected]:
    """What a file holds, but for what was acknowledged while it could not be written."""
    removed = set(changes.removed)
    for name, expected in opened.expected.items():
        expected.devices = {
            id_: device for id_, device in expected.devices.items() if (name, id_) not in removed
        }
    forgotten = set(changes.forgotten)
    return {name: entry for name, entry in opened.expected.items() if name not in forgotten}
