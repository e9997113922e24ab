"""Metrics of a running agent, pushed to a receiver of OTLP; without one nothing of it is loaded."""

import asyncio
import logging
from typing import TYPE_CHECKING

from accelwatch.agent.feed import Feed
from accelwatch.agent.metrics.own_metrics import OwnMetrics
from accelwatch.base.clock import Clock
from accelwatch.base.version import __version__
from accelwatch.config.otlp import Otlp

if TYPE_CHECKING:
    from accelwatch.otlp.outbox import Outbox

logger = logging.getLogger(__name__)


class Pushing:
    """Tasks of the agent, where an endpoint is configured; the loop's thread only."""

    def __init__(self, feed: Feed, clock: Clock, own: OwnMetrics) -> None:
        self._feed = feed
        self._clock = clock
        self._own = own
        self._settings = Otlp()
        self._outbox: Outbox | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def change(self, settings: Otlp) -> None:
        """Start, restart with other settings, or stop. Raises ConfigError; then all stays."""
        if settings == self._settings:
            return
        outbox = None
        if settings.endpoint is not None:
            from accelwatch.otlp.outbox import Outbox

            outbox = Outbox(settings, self._clock)
        await self.stop()
        self._settings, self._outbox = settings, outbox
        if outbox is not None:
            self._own.of_pushing = outbox.own
            loop = asyncio.get_running_loop()
            self._tasks = [
                loop.create_task(outbox.run(), name="otlp"),
                loop.create_task(self._rounds(settings, outbox), name="otlp rounds"),
            ]

    async def stop(self) -> None:
        """Push no more; what waits is lost."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        outbox, self._outbox, self._tasks = self._outbox, None, []
        self._settings = Otlp()
        self._own.of_pushing = dict
        if outbox is not None:
            await outbox.close()

    @property
    def alive(self) -> bool:
        """Whether the export runs, if it is configured."""
        return not any(task.done() for task in self._tasks)

    async def _rounds(self, settings: Otlp, outbox: "Outbox") -> None:
        from accelwatch.otlp.encoding import chunks
        from accelwatch.otlp.resource import SERVICE, resource_of
        from accelwatch.otlp.samples import Chosen
        from accelwatch.otlp.starts import Starts

        chosen, starts = Chosen(settings.profile, settings.groups), Starts()
        troubled = False
        while True:
            try:
                snapshot = self._feed.snapshot()
                resource = resource_of(
                    SERVICE, snapshot.host, __version__, settings.resource_attributes
                )
                owners = chosen.of(snapshot, self._own.series())
                most = settings.points_per_request
                for chunk in chunks(owners, resource, snapshot.time, starts, most):
                    await outbox.add(chunk, snapshot.time)
                await outbox.cut()
            except Exception:
                # One odd reading must not end pushing for ever.
                if not troubled:
                    logger.exception("a round of otlp failed")
                troubled = True
            else:
                troubled = False
            await asyncio.sleep(settings.interval_s)
