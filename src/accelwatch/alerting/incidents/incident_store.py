"""The incidents of a process that evaluates rules: the open ones, those closed lately, their journal.

A journal that cannot be kept costs nobody an incident: they stay in memory, and the problem is reported.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from accelwatch.alerting.incidents.chunks import chunks
from accelwatch.alerting.incidents.closed_incidents import ClosedIncidents
from accelwatch.alerting.incidents.grouping.causes import Causes, Suspects
from accelwatch.alerting.incidents.incident_manager import Describe, IncidentManager
from accelwatch.alerting.incidents.journal.location import JournalLocation
from accelwatch.alerting.incidents.journal.patient import OpenJournal, PatientJournal
from accelwatch.alerting.incidents.journal.records import (
    IncidentRecord,
    Loaded,
    NoteRecord,
    Record,
    RuleSetRecord,
)
from accelwatch.alerting.incidents.journal.writer import JournalWriter
from accelwatch.alerting.incidents.model.incident import (
    ENGINE,
    MOST_NOTES,
    Incident,
    notes,
)
from accelwatch.alerting.incidents.model.muting import Mute, Muting
from accelwatch.alerting.incidents.mute_register import MuteRegister
from accelwatch.alerting.incidents.timeline_notes import Line, with_line
from accelwatch.alerting.rules.rule import Rule, RuleSet
from accelwatch.alerting.rules.verdict import VerdictChange
from accelwatch.base.errors import UnmetError, UsageError
from accelwatch.base.slices import LongWork

# Who is notified of incidents that have changed.
OnChanges = Callable[[Sequence[Incident]], None]


class IncidentStore:
    """All incidents of a process, and their journal; for one event loop."""

    def __init__(
        self,
        rules: Mapping[str, Rule],
        describe: Describe,
        on_changes: OnChanges = lambda _: None,
        wall: Callable[[], float] = time.time,
        suspects: Suspects = lambda _: (),
        *,
        journal: OpenJournal | None = None,
    ) -> None:
        """`wall` gives Unix seconds: a tick's own time may be older than a silence set meanwhile.

        `suspects` names nodes that may be to blame for what has befallen a job. `journal` is one that
        is open already; else `start` opens one.
        """
        self._wall = wall
        # An incident under work is muted, which hides it from no page.
        self._causes = Causes(rules, suspects, lambda _nodes, _now: None)
        self._rules = rules
        self._describe = describe
        self._on_changes = on_changes
        self._number = 0
        self._manager = IncidentManager(rules, describe, self._next_id)
        self._closed = ClosedIncidents()
        # A change is written to the journal before anybody is notified of it, and the write takes time:
        # a tick or a person's request in between would be notified of first, and written second.
        self._changing = asyncio.Lock()
        self._opened = journal
        self._journal = PatientJournal() if journal is None else journal.journal
        self.mutes = MuteRegister(
            self._manager, self._journal, wall, changing=self._changing, on_changes=on_changes
        )

    async def start(self, location: JournalLocation | None, rules: RuleSet, now: float) -> Loaded:
        """Open the journal of a location, unless one is open already; what it knows from before.

        Raises JournalError for a database that cannot be written, or that another process writes.
        """
        # What a journal has loaded is as long as its history, and is not kept beside what is made of it.
        opened, self._opened = self._opened, None
        loaded = await self._journal.open(location, now) if opened is None else opened.loaded
        self._number = loaded.number
        incidents = loaded.incidents
        self._manager = IncidentManager(self._rules, self._describe, self._next_id, incidents)
        self._closed = ClosedIncidents(incidents)
        muting = Muting(loaded.silences, loaded.windows)
        muting.advance(now)
        self._causes.restore(self._manager.open)
        await self.mutes.restore(muting, self._manager)
        await self._journal.write([_in_force(rules)], now)
        await self._changed(self._manager.set_rules(self._rules, now), now)
        return loaded

    async def stop(self) -> None:
        """Write what waits, and let go of the journal."""
        await self._journal.close()

    async def set_rules(self, rules: Mapping[str, Rule], loaded: RuleSet, now: float) -> None:
        """Other rules from now on."""
        async with self._changing:
            self._rules = self._causes.rules = rules
            orphaned = self._manager.set_rules(rules, now)
            await self._journal.write([_in_force(loaded)], now)
            await self._changed(orphaned, now)

    async def step(
        self, changes: Iterable[VerdictChange], now: float, at: float | None = None
    ) -> None:
        """What a tick has brought; `now` in Unix seconds, `at` in monotonic ones."""
        waiting = list(changes)
        changed: dict[str, Incident] = {}
        async with self._changing:
            async for chunk in chunks(waiting):
                changed.update(_by_id(self._manager.step(chunk, now, at)))
            if not waiting:  # time alone changes groups and forgets what is over
                changed.update(_by_id(self._manager.step((), now, at)))
            await self._relate(changed, now)
            await self._changed(list(changed.values()), now)

    async def _relate(self, changed: dict[str, Incident], now: float) -> None:
        """See which incidents have one cause; those that follow another than before are changed too."""
        work = LongWork()
        for _ in self._causes.steps(list(changed.values()), now):
            await work.yield_control()
        for id_, leader in self._causes.drain_moves().items():
            after = self._manager.follow(id_, leader, now)
            if after is not None:
                changed[id_] = after
            await work.yield_control()

    async def check_journal(self, now: float) -> None:
        """See whether the journal can be written, also when nothing is to be."""
        await self._journal.check(now)

    async def remember(self, fingerprints: dict[str, float], now: float) -> None:
        """Fingerprints of events that were evaluated, and until when they are remembered."""
        if fingerprints:
            await self._journal.write([], now, fingerprints)

    async def _changed(self, incidents: Sequence[Incident], now: float, actor: str = ENGINE) -> str:
        if not incidents:
            return ""
        records: list[Record] = []
        async for chunk in chunks(incidents):
            records += map(IncidentRecord, chunk)
            for dropped in self._closed.update(chunk):
                self.muting.forget(dropped)
        problem = await self._journal.write(records, now, actor=actor)
        also = await self.mutes.evaluate(incidents)
        reported = {incident.id for incident in incidents} if also else set()
        notified = [*incidents, *(incident for incident in also if incident.id not in reported)]
        async for chunk in chunks(notified):
            self._on_changes(chunk)
        return problem

    def accepts_notes(self, id_: str) -> bool:
        """Whether lines can be written into its history: of what is kept, and is no group.

        Raises UsageError where people have written as many as are kept.
        """
        incident = self._manager.get(id_)
        if incident is None or incident.entity.group:
            return False
        if notes(incident) >= MOST_NOTES:
            raise UsageError(f"{incident.id} has {MOST_NOTES} notes already, and none is dropped")
        return True

    async def note(self, lines: Iterable[Line]) -> str:
        """Write lines into the histories of incidents, all together.

        What is wrong with the journal; empty when they are on the disk.
        """
        async with self._changing:
            now = self._wall()
            by_actor: dict[str, dict[str, Incident]] = {}
            late: dict[str, Incident] = {}
            for line in lines:
                noted = with_line(line, now, self._manager, self._closed, late)
                if noted is not None:
                    by_actor.setdefault(line.actor or ENGINE, {})[line.incident] = noted
            problems = [
                await self._changed(list(noted.values()), now, actor)
                for actor, noted in by_actor.items()
            ]
            return next(filter(None, problems), "")

    async def journal_note(self, subject: str, text: str, actor: str) -> str:
        """Write down what somebody did to a node, that changes no incident.

        What is wrong with the journal; empty when it is on the disk.
        """
        async with self._changing:
            record = NoteRecord(subject, text)
            return await self._journal.write([record], self._wall(), actor=actor)

    async def close(self, id_: str, actor: str, note: str) -> tuple[Incident, str]:
        """Close an incident by hand; it, and what is wrong with the journal, if anything.

        Raises UnmetError for one that is not open.
        """
        async with self._changing:
            now = self._wall()
            closed = self._manager.close(id_, now, actor, note)
            if closed is None:
                raise UnmetError(f"no incident {id_[:100]!r} is open")
            changed = {closed.id: closed}
            if closed.entity.group:
                self._causes.drop(closed.id)
                changed.update((member.id, member) for member in self._manager.release(closed, now))
            await self._relate(changed, now)
            return closed, await self._changed(list(changed.values()), now, actor)

    def _next_id(self) -> str:
        return self.next_id("i")

    def next_id(self, letter: str) -> str:
        """An id that nothing had before: `i7` of an incident, `s8` of a silence, `m9` of a window."""
        self._number += 1
        return f"{letter}{self._number}"

    @property
    def muting(self) -> Muting:
        """The silences and windows, and what they mute; `mutes` changes them."""
        return self.mutes.muting

    def mute_of(self, incident: Incident) -> Mute | None:
        """Why an incident is muted; None where it is not."""
        return self.muting.mute_of(incident.id)

    @property
    def writer(self) -> JournalWriter | None:
        """Who writes the journal; None where there is none."""
        return self._journal.writer

    @property
    def has_journal(self) -> bool:
        """Whether a journal is wanted at all."""
        return self._journal.is_configured

    @property
    def lost(self) -> str:
        """Why the journal has to be opened again; empty while it need not."""
        return self._journal.lost

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the journal; empty when all is well."""
        return self._journal.problems

    @property
    def open(self) -> list[Incident]:
        """What is going on, in the order in which it was opened."""
        return self._manager.open

    @property
    def closed(self) -> list[Incident]:
        """What is over, the latest first."""
        return self._closed.latest_first

    def incident(self, id_: str) -> Incident | None:
        """One incident, if it is known here."""
        return self._closed.get(id_) or self._manager.get(id_)

    def is_covered_by_leader(self, incident: Incident) -> bool:
        """Whether people are notified of what leads its cause instead."""
        leader = self._manager.get(incident.follows) if incident.follows else None
        return self.muting.is_covered(incident, leader)


def _by_id(incidents: Iterable[Incident]) -> dict[str, Incident]:
    return {incident.id: incident for incident in incidents}


def _in_force(rules: RuleSet) -> RuleSetRecord:
    return RuleSetRecord(rules.digest, tuple(map(str, rules.files)), len(rules.rules))
