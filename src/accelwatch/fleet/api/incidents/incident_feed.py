"""Incidents on the hub's stream: those that count now, then each that opens or changes.

The feed is bounded (`MOST_OPEN`, `MOST_CLOSED`). A client that reads slowly gets each incident in the
state of its next read; one that has missed an end is sent a restart.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence

import msgspec

from accelwatch.alerting.evaluation.describing import document_of
from accelwatch.alerting.evaluation.incident_reader import IncidentReader
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.muting import Mute
from accelwatch.alerting.rules.document import Severity
from accelwatch.base.slices import LongWork
from accelwatch.fleet.api.incidents.incident_frames import NO_RULES, IncidentFrames
from accelwatch.fleet.wire import MOST_CLOSED, MOST_NAMES, MOST_OPEN, IncidentNow, RulesNow


class _Notice(msgspec.Struct, frozen=True, gc=False):
    # Of the look that brought it.
    sequence: int
    incident: Incident
    mute: Mute | None
    message: IncidentNow


class IncidentFeed:
    """The published incidents, numbered by refreshes with a change; the loop's thread only."""

    def __init__(self, reader: Callable[[], IncidentReader | None]) -> None:
        self._reader = reader
        self._frames = IncidentFrames()
        # A client behind this sequence is sent everything again.
        self._restart_sequence = 0
        self._notices: dict[str, _Notice] = {}
        # The reader, and the version of its incidents, at the last refresh.
        self._observed: tuple[object, int] = (self, -1)
        # A refresh yields to the loop while it walks the incidents. A second one meanwhile would
        # give out the same sequence number twice.
        self._refreshing = asyncio.Lock()

    @property
    def sequence(self) -> int:
        """Of the last refresh that brought something; 0 before the first."""
        return self._frames.sequence

    async def refresh(self) -> None:
        """Publish what has changed; one refresh at a time."""
        async with self._refreshing:
            reader, work = self._reader(), LongWork()
            observed = (reader, -1 if reader is None else reader.version)
            changed = observed != self._observed
            going_on = reader.open if changed and reader is not None else None
            rules = await self._rules_now(reader, going_on, work)
            if self.sequence and not changed and rules == self._frames.rules:
                return
            sequence = self.sequence + 1
            if reader is not self._observed[0]:
                self._notices, self._restart_sequence = {}, sequence
            if reader is not None and going_on is not None:
                await self._choose(reader, going_on, sequence, work)
            self._observed = observed
            notices = self._notices.values()
            self._frames.publish(
                rules,
                [(notice.sequence, notice.message) for notice in notices],
                self._restart_sequence,
            )
        await asyncio.sleep(0)

    async def _rules_now(
        self, reader: IncidentReader | None, going_on: Sequence[Incident] | None, work: LongWork
    ) -> RulesNow:
        """`going_on` are the incidents that are open, where any have changed."""
        if reader is None:
            return NO_RULES
        before = self._frames.rules
        counts, muted, omitted = before.open, before.muted, before.omitted
        if going_on is not None:
            loud, muted = Counter[str](), 0
            for incident in going_on:
                if not (incident.group or reader.is_covered_by_leader(incident)):
                    is_muted = reader.mute_of(incident) is not None
                    muted += is_muted
                    loud[incident.severity.value] += not is_muted
                await work.yield_control()
            counts = {severity: count for severity, count in loud.items() if count}
            omitted = max(len(going_on) - MOST_OPEN, 0)
        return RulesNow(
            evaluated=True,
            rules=reader.rule_count,
            problems=reader.problems,
            open=counts,
            muted=muted,
            omitted=omitted,
            is_reset=False,
        )

    async def _choose(
        self, reader: IncidentReader, going_on: Sequence[Incident], sequence: int, work: LongWork
    ) -> None:
        """Choose the incidents to publish from now on."""
        before = self._notices
        notices: dict[str, _Notice] = {}
        for incident in (*await _worst(going_on, before, work), *_over(reader)):
            notice, mute = before.get(incident.id), reader.mute_of(incident)
            if notice is None or notice.incident is not incident or notice.mute != mute:
                notice = _Notice(sequence, incident, mute, _message(incident, mute))
                await work.yield_control()
            notices[incident.id] = notice
        for id_ in before.keys() - notices.keys():
            finished = before[id_]
            # Clients keep the latest closed ones; a client that missed the end is sent everything again.
            missed = sequence if finished.incident.is_open else finished.sequence
            self._restart_sequence = max(self._restart_sequence, missed)
        self._notices = notices

    async def frames(self, form: str, after: int) -> tuple[Sequence[bytes], int]:
        """What has come after a refresh, in a stream's form, and up to which refresh."""
        return await self._frames.frames(form, after)


def _over(reader: IncidentReader) -> Iterator[Incident]:
    """Those that are over, the latest last."""
    return reversed(reader.closed[:MOST_CLOSED])


async def _worst(
    incidents: Sequence[Incident], reported: Collection[str], work: LongWork
) -> Sequence[Incident]:
    """MOST_OPEN of them: the most severe, groups before members, those published already, the first."""
    if len(incidents) <= MOST_OPEN:
        return incidents
    ranks: dict[tuple[int, bool, bool], list[Incident]] = {}
    for incident in incidents:
        rank = (
            -_WEIGHTS[incident.severity],
            bool(incident.group or incident.follows),
            incident.id not in reported,
        )
        ranks.setdefault(rank, []).append(incident)
        await work.yield_control()
    return [incident for rank in sorted(ranks) for incident in ranks[rank]][:MOST_OPEN]


_WEIGHTS = {severity: severity.weight for severity in Severity}


def _message(incident: Incident, mute: Mute | None) -> IncidentNow:
    short = msgspec.structs.replace(
        incident, nodes=incident.nodes[:MOST_NAMES], members=incident.members[:MOST_NAMES]
    )
    return IncidentNow(
        incident=document_of(short, mute),
        nodes_total=len(incident.nodes),
        members_total=len(incident.members),
    )
