"""The confirmed faults of the last 28 days that a hub knows: of its journal, and of memory.

The journal has what was before the start of the process; what has changed since is in memory, and is
followed from there.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable

import msgspec

from accelwatch.alerting.evaluation.incident_reader import IncidentReader
from accelwatch.alerting.incidents.journal.location import JournalLocation
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.silence import Maintenance, Silence
from accelwatch.base.errors import AccelwatchError
from accelwatch.base.slices import LongWork
from accelwatch.detection.fading import PERIOD_S
from accelwatch.fleet.lemons.documents import Lemon
from accelwatch.fleet.lemons.faults import Fault, fault_of
from accelwatch.fleet.lemons.scoring import lemons_of, recent
from accelwatch.fleet.state.fleet import Fleet

logger = logging.getLogger(__name__)

# Between two checks of whether incidents have changed.
CHECK_EVERY_S = 10.0
# Scores fade and boards move also while no incident changes.
REFRESH_EVERY_S = 60.0
_NOT_KEPT = "no journal is kept here: faults of before this hub's start are not counted"


class FaultHistory:
    """For the hub's event loop; what is long is done on a thread, once at a time."""

    def __init__(
        self,
        fleet: Fleet,
        runner: Callable[[], IncidentReader | None],
        journal: Callable[[], JournalLocation | None],
    ) -> None:
        """`journal` is where it is written now; None where nothing is kept."""
        self._fleet = fleet
        self._runner = runner
        self._journal = journal
        # Faults by the id of their own incident, whatever group that is part of.
        self._faults: dict[str, Fault] = {}
        # Incidents of groups, and silences and windows, by id.
        self._groups: dict[str, Incident] = {}
        self._mutes: dict[str, Silence | Maintenance] = {}
        self._has_read = False
        self._problem = ""
        # Each fault of the last 28 days once, and the offenders among them.
        self.faults: tuple[Fault, ...] = ()
        self.lemons: tuple[Lemon, ...] = ()
        # The journal is read while the loop goes on: two refreshes would count its faults twice.
        self._refreshing = asyncio.Lock()
        # Of the incidents that were counted last, and when that was, monotonic seconds.
        self._counted: tuple[int, float] | None = None

    @property
    def rules(self) -> int:
        """How many rules are in force; without any no fault is ever counted."""
        runner = self._runner()
        return 0 if runner is None else runner.rule_count

    @property
    def problems(self) -> tuple[str, ...]:
        """Why faults may be missing."""
        if self._runner() is None:
            return ()
        if self._journal() is None:
            return (_NOT_KEPT,)
        return (self._problem,) if self._problem else ()

    async def run(self) -> None:
        """Keep the board of the fleet up to date."""
        while True:
            try:
                await self.refresh()
            except Exception:
                # Only a list of past faults is at stake; the hub goes on.
                logger.exception("faults could not be counted")
            await asyncio.sleep(CHECK_EVERY_S)

    async def refresh(self) -> None:
        """Count again where incidents have changed, or scores are old."""
        async with self._refreshing:
            runner, now = self._runner(), self._fleet.clock.monotonic()
            version = -1 if runner is None else runner.version
            counted = self._counted
            if counted and counted[0] == version and now - counted[1] < REFRESH_EVERY_S:
                return
            wall = self._fleet.clock.wall()
            if runner is not None:
                # Lists of the loop are copied here; all that is in them is frozen.
                muting = runner.muting
                incidents = [*runner.closed, *runner.open]
                mutes: list[Silence | Maintenance] = [*muting.silences, *muting.windows]
                location = None if self._has_read else self._journal()
                await asyncio.to_thread(self._count, location, incidents, mutes, wall)
            else:
                self.faults = self.lemons = ()
            await self._fleet.lemons.refresh(self.faults, self.lemons, LongWork())
            self._counted = version, now

    def _count(
        self,
        location: JournalLocation | None,
        incidents: Iterable[Incident],
        mutes: Iterable[Silence | Maintenance],
        wall: float,
    ) -> None:
        """On a thread, under the lock."""
        since = wall - PERIOD_S
        if location is not None:
            self._read(location, since)
        # What is in memory is newer than what is written. What is not in force any more was ended
        # early, or was withdrawn before it began.
        mutes = tuple(mutes)
        in_force = {source.id for source in mutes}
        for id_, source in tuple(self._mutes.items()):
            if id_ not in in_force and source.ends > wall:
                del self._mutes[id_]
                if source.starts < wall:
                    self._mutes[id_] = msgspec.structs.replace(source, ends=wall)
        self._add(incidents, mutes)
        self._mutes = {id_: kept for id_, kept in self._mutes.items() if kept.ends > since}
        self._groups = {id_: kept for id_, kept in self._groups.items() if kept.updated > since}
        self._faults = {id_: kept for id_, kept in self._faults.items() if kept.time >= since}
        self.faults = tuple(recent(self._faults.values(), wall))
        self.lemons = lemons_of(self.faults, wall)

    def _read(self, location: JournalLocation, since: float) -> None:
        from accelwatch.alerting.incidents.journal.opening import read_journal

        try:
            with contextlib.closing(read_journal(location)) as file:
                stored, mutes = file.changed_since(since), file.mutes_since(since)
        except AccelwatchError as error:
            # It is tried again with the next change.
            self._problem = f"{error}: faults of before this hub's start are not counted"
            return
        self._add(stored, mutes)
        self._has_read, self._problem = True, ""

    def _add(self, incidents: Iterable[Incident], mutes: Iterable[Silence | Maintenance]) -> None:
        incidents = list(incidents)
        self._mutes.update((source.id, source) for source in mutes)
        # Of a group only its name, and what it is part of, matter.
        self._groups.update(
            (incident.id, msgspec.structs.replace(incident, timeline=(), evidence=()))
            for incident in incidents
            if incident.entity.group
        )
        sources = tuple(self._mutes.values())
        for incident in incidents:
            fault = fault_of(incident, self._groups, sources)
            if fault is None:
                self._faults.pop(incident.id, None)
            else:
                self._faults[incident.id] = fault
