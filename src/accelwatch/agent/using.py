"""Who uses this machine's devices: counted every few seconds, told on a page."""

import asyncio
import contextlib

from accelwatch.agent.feed import Feed
from accelwatch.config.usage import UsageSettings
from accelwatch.schema.reading import READS_UNTIL_STALE
from accelwatch.usage.asking import BY_DEFAULT, SINCE_DEFAULT, by_of, window_of
from accelwatch.usage.ledger import Ledger
from accelwatch.usage.observation import observations_of
from accelwatch.web.json_page import json_page
from accelwatch.web.page import Headers, Page, Query, ask_again, only

STEP_S = 5.0
"""Between two looks: the counters of load and energy tell what was in between."""


class Using:
    """A task of the agent; the loop's thread only."""

    def __init__(self, feed: Feed, settings: UsageSettings) -> None:
        self._feed = feed
        self.settings = settings
        """The price in force."""
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

    def look(self) -> None:
        """Count what is known now."""
        snapshot = self._feed.snapshot()
        if snapshot.devices:
            self._ledger.add(snapshot.time, observations_of(snapshot))

    def page(self, query: Query, headers: Headers) -> Page:
        """The report. Raises UsageError for parameters that make no sense."""
        from accelwatch.usage.price import price_of
        from accelwatch.usage.report import report

        ask_again(query, ("by", "since"))
        by = by_of(only(query, "by") or BY_DEFAULT)
        window_s = window_of(only(query, "since") or SINCE_DEFAULT)
        price = price_of(self.settings)
        told = report(self._ledger, by, window_s, price=price, source=self._feed.snapshot().host)
        return json_page(told, headers)

    async def _run(self) -> None:
        while True:
            self.look()
            await asyncio.sleep(STEP_S)
