"""Who uses this machine's devices: counted every few seconds, shown on a page."""

import asyncio
import contextlib
import itertools
from pathlib import Path

from accelwatch.agent.feed import Feed
from accelwatch.base.clock import Clock
from accelwatch.base.slices import LongWork
from accelwatch.config.usage import UsageSettings
from accelwatch.node.usage.ledger import Ledger
from accelwatch.node.usage.ledger_file import FILE, KEEP_EVERY_S, LedgerFile
from accelwatch.node.usage.observation import observations_of
from accelwatch.schema.reading import READS_UNTIL_STALE
from accelwatch.web.pages.page import Headers, Page, Query

# Between two counts; the counters of load and energy cover the time between them.
STEP_S = 5.0


class Using:
    """A task of the agent; the loop's thread only."""

    def __init__(
        self, feed: Feed, settings: UsageSettings, clock: Clock, folder: Path | None = None
    ) -> None:
        """In `folder` is kept what was counted."""
        self._feed = feed
        self._clock = clock
        self._file = LedgerFile(None if folder is None else folder / FILE)
        # Those in force.
        self.settings = settings
        self._ledger = Ledger(gap_limit_s=READS_UNTIL_STALE * STEP_S)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to count."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name="usage")

    async def stop(self) -> None:
        """End."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await self._file.save(self._ledger, LongWork().yield_control)

    def record_usage(self) -> None:
        """Count what is known now, where that is wanted."""
        snapshot, now = self._feed.snapshot(), self._clock.monotonic()
        if self.settings.count and snapshot.devices:
            self._ledger.add(snapshot.time, observations_of(snapshot), monotonic=now)

    def page(self, query: Query, headers: Headers) -> Page:
        """The report. Raises UsageError for parameters that make no sense, UnmetError uncounted."""
        from accelwatch.web.pages.usage_page import usage_page

        host = self._feed.snapshot().host
        return usage_page(self._ledger, query, headers, self.settings, host)

    async def _run(self) -> None:
        self._file.load(self._ledger, self._clock.wall())
        for turn in itertools.count(1):
            self.record_usage()
            if turn % (KEEP_EVERY_S // STEP_S) == 0:
                await self._file.save(self._ledger, LongWork().yield_control)
            await asyncio.sleep(STEP_S)
