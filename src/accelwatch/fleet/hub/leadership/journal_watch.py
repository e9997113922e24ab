"""A hub's poll of the journal that it shares with others, once a second, whether or not it leads."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.journal.lease import lease_clock
from accelwatch.alerting.incidents.journal.shared import HubEntry, SharedJournal
from accelwatch.base.clock import Clock
from accelwatch.config.journal import JournalSettings

if TYPE_CHECKING:
    from accelwatch.alerting.incidents.journal.postgresql.shared_reader import Polled, SharedReader
    from accelwatch.alerting.incidents.journal_copy import JournalCopy

logger = logging.getLogger(__name__)

POLL_EVERY_S = 1.0
# A copy that is older is no picture of what goes on.
LATE_S = 5.0


class JournalWatch:
    """Of a journal in PostgreSQL; of one in a file there is nothing to watch. For one event loop."""

    def __init__(
        self,
        settings: JournalSettings,
        state_dir: Path | None,
        clock: Clock,
        own: Callable[[], HubEntry],
    ) -> None:
        """`own` gives what this hub says of itself."""
        self._settings = settings
        self._state_dir = state_dir
        self._clock = clock
        self._own = own
        self._reader: SharedReader | None = None
        # The greatest token that is remembered in the state_dir; None before that was read.
        self._remembered: int | None = None
        # As it stood when it was read last; None before that.
        self.shared: SharedJournal | None = None
        # Why it could not be read the last time; empty when it was.
        self.problem = ""
        # Why this hub could not say there that it is there.
        self.unannounced = ""
        # One poll at a time: what a slow one has read must not come after what a later one has.
        self._polling = asyncio.Lock()
        self._copy: JournalCopy | None = None
        # Whether that was read: an empty copy of a hub that has just lost its lease says nothing.
        self.is_copied = False

    @property
    def copy(self) -> "JournalCopy":
        """What goes on, as the leader wrote it; empty while this hub leads."""
        if self._copy is None:
            # Loaded by those only who share a journal.
            from accelwatch.alerting.incidents.journal_copy import JournalCopy

            self._copy = JournalCopy()
        return self._copy

    @property
    def late_s(self) -> float | None:
        """Seconds since all that is written was read; None before the first time."""
        current_at = None if self._reader is None else self._reader.current_at
        return None if current_at is None else lease_clock() - current_at

    @property
    def is_current(self) -> bool:
        """Whether the copy is no older than LATE_S."""
        late_s = self.late_s
        return late_s is not None and late_s <= LATE_S

    async def run(self) -> None:
        """Poll until cancelled."""
        while self._settings.in_postgresql:
            await self.poll()
            await asyncio.sleep(POLL_EVERY_S)

    async def poll(self) -> None:
        """Look once; what is wrong is kept in `problem`."""
        async with self._polling:
            await self._poll()

    async def _poll(self) -> None:
        own = self._own()
        try:
            polled = await self._polled(own)
        except JournalError as error:
            if self.problem != str(error):
                logger.warning("the shared journal cannot be followed: %s", error)
            self.problem = str(error)
            return
        if self.problem:
            logger.warning("the shared journal is followed again")
        self.problem = ""
        if self.unannounced != polled.unannounced and polled.unannounced:
            logger.warning("%s", polled.unannounced)
        self.unannounced, self.shared = polled.unannounced, polled.shared
        now = self._clock.wall()
        if own.token:
            self._copy, self.is_copied = None, False
        elif polled.loaded is not None:
            self.copy.replace(polled.loaded, now)
            self.is_copied = True
        else:
            self.copy.apply(polled.records, now)

    async def _polled(self, own: HubEntry) -> "Polled":
        # asyncpg is loaded by those only who need it.
        from accelwatch.alerting.incidents.journal.postgresql.shared_reader import SharedReader

        reader = self._reader = self._reader or SharedReader(self._settings.postgresql)
        now = self._clock.wall()

        def poll() -> "Polled":
            polled = reader.poll(own, now, copies=not own.token)
            try:
                self._remember(polled.shared.token)
            except JournalError:
                # What was read now is not shown: the copy must not lack it from then on.
                reader.reset_position()
                raise
            return polled

        return await asyncio.to_thread(poll)

    def _remember(self, token: int) -> None:
        """Keep the greatest token that was seen: a database that knows a lower one only is refused.

        Raises JournalError.
        """
        from accelwatch.alerting.incidents.journal.postgresql.opening import (
            latest_token,
            write_token,
        )

        if self._state_dir is None:
            return
        if self._remembered is None:
            self._remembered = latest_token(self._state_dir)
        if token > self._remembered:
            write_token(self._state_dir, token)
            self._remembered = token

    async def stop(self) -> None:
        """End the session; no task runs `run` any more."""
        if self._reader is not None:
            await asyncio.to_thread(self._reader.close)
