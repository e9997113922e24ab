"""Who uses the fleet's devices: counted every minute, a few nodes at a time."""

import asyncio
import itertools
from collections.abc import Callable
from pathlib import Path

from accelwatch.base.slices import LongWork, YieldControl
from accelwatch.config.usage import UsageSettings
from accelwatch.fleet.hub.usage.observations import NodeObservations
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.node.usage.ledger import Ledger
from accelwatch.node.usage.ledger_file import FILE, KEEP_EVERY_S, LedgerFile
from accelwatch.web.pages.page import Headers, Page, Query
from accelwatch.web.pages.usage_page import reporting, usage_page_in_slices

# Counters of load and energy cover the time in between.
STEP_S = 60.0
_GAP_LIMIT_S = 200.0
# Nodes whose devices are checked before control is yielded.
_AT_ONCE = 16


class FleetUsage:
    """The ledger of a hub; the loop's thread only."""

    def __init__(
        self, fleet: Fleet, settings: Callable[[], UsageSettings], folder: Path | None
    ) -> None:
        """`settings` gives those in force; in `folder` is kept what was counted, while it is ours.

        What another hub has counted there is gone on from, as in an orderly change from one to the next.
        """
        self._fleet = fleet
        self._settings = settings
        self._file = LedgerFile(None if folder is None else folder / FILE)
        self._loaded = False
        self._ledger = Ledger(gap_limit_s=_GAP_LIMIT_S)
        self._observations = NodeObservations(fleet)
        # Counting, saving and reading yield to the loop between slices. Together they would save or
        # show half of a round.
        self._counting = asyncio.Lock()

    async def run(self) -> None:
        """Count until cancelled."""
        for turn in itertools.count(1):
            await self.record_usage(LongWork().yield_control)
            if turn % (KEEP_EVERY_S // STEP_S) == 0:
                await self.save()
            await asyncio.sleep(STEP_S)

    async def save(self) -> None:
        """Save the counts, if there are any since this hub started."""
        async with self._counting:
            if self._loaded and self._fleet.owns_folder:
                await self._file.save(self._ledger, LongWork().yield_control)

    async def record_usage(self, yield_control: YieldControl) -> None:
        """Count the present use of all nodes, where that is on; callers wait for it."""
        if not self._settings().count:
            return
        async with self._counting:
            if not self._loaded:
                self._loaded = True
                await asyncio.to_thread(self._file.load, self._ledger, self._fleet.clock.wall())
            time, now = self._fleet.clock.wall(), self._fleet.clock.monotonic()
            nodes = list(self._fleet.nodes.values())
            for at in range(0, len(nodes), _AT_ONCE):
                await yield_control()
                observations = self._observations.of(nodes[at : at + _AT_ONCE])
                if observations:
                    self._ledger.add(time, observations, monotonic=now)
            self._observations.forget(node.name for node in nodes)

    async def page(self, query: Query, headers: Headers) -> Page:
        """The report. Raises UsageError for parameters that make no sense, UnmetError uncounted."""
        async with self._counting:
            request = reporting(self._ledger, query, self._settings(), "hub")
            return await usage_page_in_slices(request, headers, LongWork().yield_control)
