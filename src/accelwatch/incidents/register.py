"""The incidents of a process that judges rules: those that are open, those closed lately, their journal.

A journal that cannot be kept costs nobody an incident: they are kept in memory, and that is told.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from accelwatch.incidents.incident import Incident
from accelwatch.incidents.journal.file import JournalError
from accelwatch.incidents.journal.opening import open_journal
from accelwatch.incidents.journal.records import (
    Batch,
    IncidentRecord,
    Loaded,
    Record,
    RuleSetRecord,
)
from accelwatch.incidents.journal.writer import JournalWriter
from accelwatch.incidents.keeper import Describe, Keeper
from accelwatch.rules.rule import Rule, RuleSet
from accelwatch.rules.spells import Spells
from accelwatch.rules.verdict import VerdictChange

logger = logging.getLogger(__name__)

COMMIT_WAIT_S = 2.0
"""How long the disk is waited for; what there is to say is said after that all the same."""
MOST_CLOSED = 1000
"""Closed incidents that are kept in memory, the latest."""

Heard = Callable[[Sequence[Incident]], None]
"""Who is told of incidents that have changed."""


class Register:
    """All incidents of a process, and their journal; for one event loop."""

    def __init__(
        self,
        rules: Mapping[str, Rule],
        describe: Describe,
        heard: Heard = lambda _: None,
    ) -> None:
        self._rules = rules
        self._describe = describe
        self._heard = heard
        self._number = 0
        self._keeper = Keeper(rules, describe, self._next_id)
        self._closed: dict[str, Incident] = {}
        self._writer: JournalWriter | None = None
        self._lock: int | None = None
        self._journal_problem = ""
        self._unwritten = ""

    async def begin(self, folder: Path | None, rules: RuleSet, now: float) -> Loaded:
        """Open the journal of a folder; what it knows from before. Raises nothing."""
        opened = await asyncio.to_thread(open_journal, folder, now)
        self._journal_problem, self._lock = opened.problem, opened.lock
        if opened.file is not None:
            self._writer = JournalWriter(opened.file)
        self._number = opened.loaded.number
        incidents = opened.loaded.incidents
        self._keeper = Keeper(self._rules, self._describe, self._next_id, incidents)
        self._closed = {one.id: one for one in incidents if not one.is_open}
        await self._note([_in_force(rules)], now)
        return opened.loaded

    async def end(self) -> None:
        """Write what waits, and let go of the journal."""
        if self._writer is not None:
            await self._writer.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    async def set_rules(self, rules: Mapping[str, Rule], loaded: RuleSet, now: float) -> None:
        """Other rules from now on."""
        self._rules = rules
        orphaned = self._keeper.set_rules(rules, now)
        await self._note([_in_force(loaded)], now)
        await self._changed(orphaned, now)

    async def step(self, changes: Iterable[VerdictChange], now: float) -> None:
        """What a tick has brought."""
        await self._changed(self._keeper.step(changes, now), now)

    async def remember(self, seen: dict[str, float], now: float) -> None:
        """Fingerprints of events that were judged, and until when they are remembered."""
        if seen:
            await self._note([], now, seen)

    async def _changed(self, incidents: Sequence[Incident], now: float) -> None:
        if not incidents:
            return
        for incident in incidents:
            self._closed.pop(incident.id, None)
            if not incident.is_open:
                self._closed[incident.id] = incident
        while len(self._closed) > MOST_CLOSED:
            del self._closed[next(iter(self._closed))]
        await self._note([IncidentRecord(one) for one in incidents], now)
        self._heard(incidents)

    async def _note(
        self, records: list[Record], now: float, seen: dict[str, float] | None = None
    ) -> None:
        """Have records written; a disk that hangs or is full keeps nobody waiting for long."""
        if self._writer is None:
            return
        try:
            batch = Batch(time=now, records=records, seen=seen or {})
            await asyncio.wait_for(self._writer.commit(batch), COMMIT_WAIT_S)
        except (JournalError, TimeoutError) as error:
            problem = str(error) or f"the journal has not been written for {COMMIT_WAIT_S:g} s"
            if problem != self._unwritten:
                logger.error("%s", problem)
            self._unwritten = problem
        else:
            self._unwritten = ""

    def _next_id(self) -> str:
        self._number += 1
        return f"i{self._number}"

    @property
    def writer(self) -> JournalWriter | None:
        """Who writes the journal; None where there is none."""
        return self._writer

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the journal; empty when all is well."""
        return tuple(one for one in (self._journal_problem, self._unwritten) if one)

    @property
    def open(self) -> list[Incident]:
        """What is going on, in the order in which it was opened."""
        return self._keeper.open

    @property
    def closed(self) -> list[Incident]:
        """What is over, the latest first."""
        return list(reversed(self._closed.values()))

    def incident(self, id_: str) -> Incident | None:
        """One incident, if it is known here."""
        return self._closed.get(id_) or next((one for one in self.open if one.id == id_), None)


def take_up(incidents: Iterable[Incident], spells: Spells, wall: float, now: float) -> None:
    """Let rules fire that fired before this process began: only they say when it is over.

    `wall` in Unix seconds, `now` in monotonic seconds.
    """
    for incident in incidents:
        if incident.is_open and not incident.entity.group:
            for rule in incident.rules:
                spells.restore(rule, incident.entity, now - (wall - incident.since))


def _in_force(rules: RuleSet) -> RuleSetRecord:
    return RuleSetRecord(rules.digest, tuple(map(str, rules.files)), len(rules.rules))
