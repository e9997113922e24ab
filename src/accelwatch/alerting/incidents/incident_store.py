"""The incidents of a process that judges rules: those that are open, those closed lately, their journal.

A journal that cannot be kept costs nobody an incident: they are kept in memory, and that is told.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from accelwatch.alerting.incidents.causes import Causes, Suspects
from accelwatch.alerting.incidents.incident import (
    ENGINE,
    MOST_NOTES,
    Incident,
    Moment,
    MomentKind,
    notes,
    with_moment,
)
from accelwatch.alerting.incidents.incident_manager import Describe, IncidentManager
from accelwatch.alerting.incidents.journal.patient import PatientJournal
from accelwatch.alerting.incidents.journal.records import (
    IncidentRecord,
    Loaded,
    MaintenanceRecord,
    Record,
    RuleSetRecord,
    SilenceRecord,
)
from accelwatch.alerting.incidents.journal.writer import JournalWriter
from accelwatch.alerting.incidents.muting import Mute, Muting, Quiet
from accelwatch.alerting.incidents.silence import Maintenance, Silence
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.rules.rule import Rule, RuleSet
from accelwatch.alerting.rules.spells import Spells
from accelwatch.alerting.rules.verdict import VerdictChange
from accelwatch.base.errors import UnmetError, UsageError
from accelwatch.base.slices import LongWork

MOST_CLOSED = 1000
"""Closed incidents that are kept in memory, the latest."""
_AT_ONCE = 25
"""Incidents that are worked on before others have their turn."""

Heard = Callable[[Sequence[Incident]], None]
"""Who is told of incidents that have changed."""


class Line(NamedTuple):
    """A line for an incident's history."""

    incident: str
    """Its id."""
    actor: str
    text: str
    calls: bool = False
    """Whether a person has to look."""


class IncidentStore:
    """All incidents of a process, and their journal; for one event loop."""

    def __init__(
        self,
        rules: Mapping[str, Rule],
        describe: Describe,
        heard: Heard = lambda _: None,
        wall: Callable[[], float] = time.time,
        suspects: Suspects = lambda _: (),
    ) -> None:
        """`wall` gives Unix seconds: a tick's own time may be older than a silence set meanwhile.

        `suspects` names nodes that may be to blame for what has befallen a job.
        """
        self._wall = wall
        # Who is worked on is muted, which hides nothing from anybody who looks.
        self._causes = Causes(rules, suspects, lambda _nodes, _now: None)
        self._rules = rules
        self._describe = describe
        self._heard = heard
        self._number = 0
        self._manager = IncidentManager(rules, describe, self._next_id)
        self._closed: dict[str, Incident] = {}
        self._muting = Muting()
        self._changing = asyncio.Lock()
        self._journal = PatientJournal()

    async def begin(self, folder: Path | None, rules: RuleSet, now: float) -> Loaded:
        """Open the journal of a folder; what it knows from before. Raises nothing."""
        loaded = await self._journal.open(folder, now)
        self._number = loaded.number
        incidents = loaded.incidents
        self._manager = IncidentManager(self._rules, self._describe, self._next_id, incidents)
        self._closed = {one.id: one for one in incidents if not one.is_open}
        self._muting = Muting(loaded.silences, loaded.windows)
        self._muting.advance(now)
        self._causes.restore(self._manager.open)
        await self._look(self._manager.open)
        await self._journal.write([_in_force(rules)], now)
        await self._changed(self._manager.set_rules(self._rules, now), now)
        return loaded

    async def end(self) -> None:
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
            for begin in range(0, len(waiting) or 1, _AT_ONCE):
                part = waiting[begin : begin + _AT_ONCE]
                changed.update((one.id, one) for one in self._manager.step(part, now, at))
                if begin + _AT_ONCE < len(waiting):
                    await asyncio.sleep(0)
            await self._relate(changed, now)
            await self._changed(list(changed.values()), now)

    async def _relate(self, changed: dict[str, Incident], now: float) -> None:
        """See which incidents have one cause; those that follow another than before are changed too."""
        work = LongWork()
        for _ in self._causes.steps(list(changed.values()), now):
            await work.rest()
        for id_, leader in self._causes.take_moves().items():
            after = self._manager.follow(id_, leader, now)
            if after is not None:
                changed[id_] = after
            await work.rest()

    async def check_journal(self, now: float) -> None:
        """See whether the journal can be written, also when nothing is to be."""
        await self._journal.check(now)

    async def remember(self, seen: dict[str, float], now: float) -> None:
        """Fingerprints of events that were judged, and until when they are remembered."""
        if seen:
            await self._journal.write([], now, seen)

    async def _changed(self, incidents: Sequence[Incident], now: float, actor: str = ENGINE) -> str:
        if not incidents:
            return ""
        records: list[Record] = []
        for part in _parts(incidents):
            for incident in part:
                self._closed.pop(incident.id, None)
                if not incident.is_open:
                    self._closed[incident.id] = incident
                records.append(IncidentRecord(incident))
            while len(self._closed) > MOST_CLOSED:
                oldest = next(iter(self._closed))
                del self._closed[oldest]
                self._muting.forget(oldest)
            await _rest(part)
        problem = await self._journal.write(records, now, actor=actor)
        also = self._with_followers(await self._look(incidents))
        known = {incident.id for incident in incidents} if also else set()
        heard = [*incidents, *(incident for incident in also if incident.id not in known)]
        for part in _parts(heard):
            self._heard(part)
            await _rest(part)
        return problem

    async def _look(self, incidents: Sequence[Incident]) -> list[Incident]:
        """Which of them, and of the groups, are muted now otherwise than before."""
        if self._muting.idle:
            return []
        now = self._wall()
        members = self._manager.members()
        groups = [incident for incident in self._manager.open if incident.entity.group]
        of_groups = {group.id for group in groups}
        singles = [incident for incident in incidents if incident.id not in of_groups]
        changed: list[Incident] = []
        work = LongWork()
        for incident in singles:
            changed += self._muting.look((incident,), members, now)
            await work.rest()
        return [*changed, *self._muting.look(groups, members, now)]

    async def look_at_mutes(self) -> None:
        """Let silences and windows begin and end; who is muted otherwise than before is told of."""
        async with self._changing:
            await self._advance()

    async def _advance(self) -> None:
        if self._muting.advance(self._wall()):
            changed = self._with_followers(await self._look(self._manager.open))
            if changed:
                self._heard(changed)

    def _with_followers(self, changed: list[Incident]) -> list[Incident]:
        """Those that are muted otherwise than before, and those that they tell for."""
        leaders = {one.id for one in changed if not one.follows}
        if not leaders:
            return changed
        known = {one.id for one in changed}
        followers = (one for one in self._manager.open if one.follows in leaders)
        return [*changed, *(one for one in followers if one.id not in known)]

    async def mute(self, quiet: Quiet) -> str:
        """Put a silence or window in force; what is wrong with the journal, if anything."""
        async with self._changing:
            return await self._set(quiet, quiet.named)

    async def announce(self, windows: Iterable[Maintenance]) -> None:
        """Heed the windows that a scheduler keeps, instead of those that it announced before."""
        async with self._changing:
            self._muting.announce(windows)
            await self._advance()

    async def unmute(self, id_: str, actor: str) -> tuple[Quiet, str]:
        """End a silence or window; how it is now, and what is wrong with the journal, if anything.

        Raises UnmetError when there is none, or none any more.
        """
        async with self._changing:
            quiet = self._muting.get(id_)
            if quiet is None:
                raise UnmetError(f"no silence or maintenance {id_[:100]!r}, or it is over")
            ended = msgspec.structs.replace(quiet, ends=min(self._wall(), quiet.ends))
            return ended, await self._set(ended, actor)

    async def _set(self, quiet: Quiet, actor: str) -> str:
        record = SilenceRecord(quiet) if isinstance(quiet, Silence) else MaintenanceRecord(quiet)
        problem = await self._journal.write([record], self._wall(), actor=actor)
        self._muting.set(quiet)
        await self._advance()
        return problem

    def takes_notes(self, id_: str) -> bool:
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
                noted = self._noted(line, now, late)
                if noted is not None:
                    by_actor.setdefault(line.actor or ENGINE, {})[line.incident] = noted
            told = [
                await self._changed(list(noted.values()), now, actor)
                for actor, noted in by_actor.items()
            ]
            return next(filter(None, told), "")

    def _noted(self, line: Line, now: float, late: dict[str, Incident]) -> Incident | None:
        """The incident with one more line; None for a group or one that is not known.

        `late` keeps those that cannot come back any more, with the lines before.
        """
        noted = self._manager.note(line.incident, now, line.actor, line.text, calls=line.calls)
        if noted is not None:
            return noted
        # What is done about it may end long after it cannot come back any more.
        over = late.get(line.incident) or self._closed.get(line.incident)
        if over is None or over.entity.group:
            return None
        kind = MomentKind.CALL if line.calls else MomentKind.NOTE
        late[over.id] = with_moment(over, Moment(now, kind, line.text, line.actor))
        return late[over.id]

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
                changed.update((one.id, one) for one in self._manager.release(closed, now))
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
        """The silences and windows, and what they mute; `mute` and `unmute` change them."""
        return self._muting

    def mute_of(self, incident: Incident) -> Mute | None:
        """Why nobody is told of an incident."""
        return self._muting.mute_of(incident.id)

    @property
    def writer(self) -> JournalWriter | None:
        """Who writes the journal; None where there is none."""
        return self._journal.writer

    @property
    def keeps(self) -> bool:
        """Whether a journal is wanted at all."""
        return self._journal.wanted

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
        return list(reversed(self._closed.values()))

    def incident(self, id_: str) -> Incident | None:
        """One incident, if it is known here."""
        return self._closed.get(id_) or self._manager.get(id_)

    def is_told_by_another(self, incident: Incident) -> bool:
        """Whether what leads its cause is open and told, and it is not critical itself.

        A muted one tells for nobody else.
        """
        if not incident.follows or incident.severity is Severity.CRITICAL:
            return False
        leader = self._manager.get(incident.follows)
        return leader is not None and leader.is_open and self.mute_of(leader) is None


def _parts(incidents: Sequence[Incident]) -> Iterator[Sequence[Incident]]:
    for begin in range(0, len(incidents), _AT_ONCE):
        yield incidents[begin : begin + _AT_ONCE]


async def _rest(part: Sequence[Incident]) -> None:
    """Let others have their turn after a part of many; few incidents wait for nobody."""
    if len(part) == _AT_ONCE:
        await asyncio.sleep(0)


def take_up(incidents: Iterable[Incident], spells: Spells, wall: float, now: float) -> None:
    """Let rules fire of which incidents are open and nothing is known: only they say when it is over.

    They fired before this process began, or said something else until now. `wall` in Unix seconds,
    `now` in monotonic seconds.
    """
    for incident in incidents:
        if incident.is_open and not incident.entity.group:
            since = now - max(wall - incident.since, 0.0)
            for rule in incident.rules:
                if incident.entity not in spells.of(rule):
                    spells.restore(rule, incident.entity, since)


def _in_force(rules: RuleSet) -> RuleSetRecord:
    return RuleSetRecord(rules.digest, tuple(map(str, rules.files)), len(rules.rules))
