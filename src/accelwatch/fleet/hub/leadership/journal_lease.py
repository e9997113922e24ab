"""The leader among hubs with one journal: whoever holds the lease to write it runs rules and remedies.

The others follow their targets and serve what they see. A hub that becomes the leader starts from what
stands in the journal, as after a restart; one that loses the lease stops whatever it evaluated and did.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.journal.location import DatabaseLocation, JournalLocation
from accelwatch.config.journal import JournalSettings

logger = logging.getLogger(__name__)

CHECK_EVERY_S = 1.0


def location_of(settings: JournalSettings, state_dir: Path | None) -> JournalLocation | None:
    """Where a hub keeps its journal."""
    if settings.in_postgresql:
        return DatabaseLocation(settings=settings.postgresql, folder=state_dir)
    return state_dir


class JournalLease:
    """Starts and stops what needs the journal; for one event loop."""

    def __init__(
        self,
        start: Callable[[], Awaitable[None]],
        stop: Callable[[], Awaitable[None]],
        lost: Callable[[], str | None],
    ) -> None:
        """`start` raises JournalError while another hub holds the lease.

        `lost` says why the lease was lost; it is empty while it is ours, and None while nothing runs.
        """
        self._start = start
        self._stop = stop
        self._lost = lost
        # Why nothing is evaluated here; empty while it is.
        self.waiting = ""

    async def try_start(self) -> None:
        """Start, or say what is waited for."""
        try:
            await self._start()
        except JournalError as error:
            if self.waiting != str(error):
                logger.warning("no rules are evaluated here: %s", error)
            self.waiting = str(error)
        else:
            if self.waiting:
                logger.warning("rules are evaluated here from now on")
            self.waiting = ""

    async def check(self) -> None:
        """Start or stop what is due."""
        lost = self._lost()
        if lost:
            logger.warning("no rules are evaluated here any more: %s", lost)
            self.waiting = lost
            await self._stop()
        if self.waiting:
            await self.try_start()

    async def run(self) -> None:
        """Check each second."""
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            try:
                await self.check()
            except Exception as error:
                # Files of rules that cannot be read any more, for one: the next check tries again.
                # Some errors have no text, such as most TimeoutErrors.
                text = str(error) or type(error).__name__
                if self.waiting != text:
                    logger.exception("rules cannot be started")
                self.waiting = text
