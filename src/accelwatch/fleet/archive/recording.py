"""Whether and how a hub's archive is written: started, changed and ended with the hub's settings.

Nothing of Parquet is loaded where no archive is configured.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from accelwatch.alerting.incidents.model.silence import Maintenance
from accelwatch.base.clock import Clock
from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.archive.settings import History
from accelwatch.fleet.state.fleet import Fleet

if TYPE_CHECKING:
    from accelwatch.fleet.archive.recorder import Recorder

logger = logging.getLogger(__name__)


class Recording:
    """A hub's archive, if it is configured; the loop's thread only."""

    def __init__(
        self,
        settings: History,
        fleet: Fleet,
        clock: Clock,
        windows: Callable[[], Iterable[Maintenance] | None] = lambda: None,
    ) -> None:
        """`windows` gives the maintenance that is not over, or None when nobody can say."""
        self._windows = windows
        self._settings = settings
        self._fleet = fleet
        self._clock = clock
        self._recorder: Recorder | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to record. Raises ArchiveError when the folder cannot be written."""
        if self._settings.folder is None:
            return
        from accelwatch.fleet.archive.recorder import Recorder

        self._recorder = await asyncio.to_thread(
            Recorder, self._settings, self._fleet, self._clock, self._windows
        )
        self._task = asyncio.get_running_loop().create_task(self._recorder.run(), name="history")

    async def reload(self, settings: History) -> None:
        """Replace the settings; logs a folder that cannot be written, and the hub goes on without."""
        if settings == self._settings:
            return
        await self.stop()
        self._settings = settings
        try:
            await self.start()
        except AccelwatchError as error:
            logger.error("no history is kept: %s", error)

    async def stop(self) -> None:
        """Write what waits."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        if self._recorder is not None:
            await self._recorder.close()
            self._recorder = None

    @property
    def alive(self) -> bool:
        """Whether it goes on, if it was started."""
        return self._task is None or not self._task.done()
