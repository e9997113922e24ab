"""What is to be said to whom and when. Pure: time is given, nothing waits, nothing is sent.

A sink has one message of an incident. While it waits, later news replace it; once it is out, only what
matters is said again: that it became worse, that it is over, that it is still open. A sink that edits is
told of every change, for that disturbs nobody. Nobody is told of a member of a group besides the group,
nor of what was over before anybody had heard of it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

import msgspec

from accelwatch.alerting.delivery.agenda import Agenda
from accelwatch.alerting.delivery.formatting.own_problem import is_own, is_own_id
from accelwatch.alerting.delivery.message import NEVER, Key, Message, decoded, encoded, rings
from accelwatch.alerting.delivery.routing import Plan, Routes
from accelwatch.alerting.incidents.grouping.groups import FLEET
from accelwatch.alerting.incidents.model.incident import Incident, TimelineKind
from accelwatch.alerting.sink import Notice, NoticeKind, Outcome, Status
from accelwatch.base.backoff import doubled

MOST_MESSAGES = 10_000
"""Of one sink; what begins beyond them is counted and not told."""
GIVE_UP_AFTER_S = 86_400.0
KEPT_S = 86_400.0
"""How long a message is remembered whose incident is over: it may come back."""
EDIT_EVERY_S = 5.0
MOST_WAITS = 6
"""So many times the wait for a storm is the longest that what begins is held back."""
_FIRST_PAUSE_S = 2.0
_LONGEST_PAUSE_S = 600.0
_SETTLED = frozenset({Status.DELIVERED, Status.NO_RECIPIENT})
"""Nothing of it is left to be sent."""


class Traits(NamedTuple):
    """What a sink can do, as its contract says."""

    edits: bool = False
    repeat_s: float | None = None


class Lost(NamedTuple):
    """A notice that was never delivered, and why."""

    sink: str
    notice: Notice
    reason: str


class Queue:
    """The messages of all sinks."""

    def __init__(
        self,
        routes: Routes,
        traits: Mapping[str, Traits],
        describe: Callable[[Incident, NoticeKind, int], Notice],
        storm_wait_s: float,
        *,
        request_names: Callable[[Incident], str] = lambda _: "",
        soon: Callable[[Incident], float] = lambda _: 0.0,
        decided: Callable[[Incident], bool] = lambda _: False,
        end_wait: Callable[[str], float] = lambda _: 0.0,
    ) -> None:
        """`asked` names what people are asked about an incident now; empty for nothing.

        `soon` says for how many seconds an incident that begins waits for what is asked or will be done,
        so that it is told with it; `decided` whether that is known. `end_wait` says for how many seconds
        the end of an incident, by its id, waits from now on.
        """
        self._decided = decided
        self._end_wait = end_wait
        self._request_names = request_names
        self._soon = soon
        self._routes = routes
        self._traits = traits
        self._describe = describe
        self._storm_wait_s = storm_wait_s
        self._messages: dict[Key, Message] = {}
        self._of_incident: dict[str, set[str]] = {}
        self._count = dict.fromkeys(traits, 0)
        self._agenda = Agenda(traits, self._messages)
        self._last_started: dict[str, float] = {}
        self._last_of_family: dict[tuple[str, str], float] = {}
        self._delayed: dict[Key, str] = {}
        """Those that begin and wait for others of their family, which is given."""
        self._in_flight: dict[str, Key] = {}
        self.untold = 0
        """Incidents of which a sink was not told because too much waited."""

    def restore(self, rows: Iterable[bytes], now: float) -> None:
        """Go on with what an earlier process left; rows of sinks that are gone, or odd, are dropped."""
        for row in rows:
            message = decoded(row)
            if message is not None and is_own_id(message.incident):
                # What was wrong with the earlier process; what is wrong with this one is found anew.
                self._agenda.changes.add(message.key)
            elif message is not None and message.sink in self._traits:
                self._store(message)
                self._agenda.reschedule(message, now)

    def changed(self, incident: Incident, muted: bool, now: float) -> set[str]:
        """Take up how an incident stands, as often as one likes; the sinks that have something to do."""
        hidden = muted or bool(incident.group)
        plans = {} if hidden else self._routes.plans(incident, now)
        names = plans.keys() | self._of_incident.get(incident.id, set())
        return {name for name in names if self._update_sink(name, incident, plans.get(name), now)}

    def _update_sink(self, name: str, incident: Incident, plan: Plan | None, now: float) -> bool:
        """The same for one sink; without a plan nobody is to hear of it now."""
        message = self._messages.get((incident.id, name))
        if plan is not None and _called_late(incident) and (message is None or message.unknown):
            return self._open_late(name, incident, plan, now)
        if message is None:
            is_new = plan is not None and incident.is_open
            return is_new and self._open_message(name, incident, plan, now)  # type: ignore[arg-type]
        if message.unknown and not self._flies(message):
            return self._unheard(message, incident, plan, now)
        if not incident.is_open:
            return self._over(message, incident, plan, now)
        if incident.reopened > message.reopened and self._is_closing(message):
            self._cancel_closing(message, incident, now)
        self._hide(message, plan, now)
        if plan is None:
            return False
        if message.seen == incident.updated and not self._has_new_request(message, incident):
            return True
        return self._update_open(message, incident, plan, now)

    def _unheard(self, message: Message, incident: Incident, plan: Plan | None, now: float) -> bool:
        """News of an incident of which the sink has heard nothing yet."""
        if plan is None or not incident.is_open:
            self._drop(message)
            return False
        if message.seen != incident.updated or self._has_new_request(message, incident):
            due = message.due
            if _rises(message, incident):
                self._delayed.pop(message.key, None)
                due = min(due, plan.due)
            is_decided = self._request_names(incident) or self._decided(incident)
            if message.key not in self._delayed and is_decided:
                # What it has waited for.
                due = min(due, plan.due)
            self._queue_notice(message, incident, NoticeKind.OPENED, max(due, now), now)
        return True

    def _update_open(self, message: Message, incident: Incident, plan: Plan, now: float) -> bool:
        """News of an incident that is open, and of which the sink has heard, or may have."""
        if incident.reopened > message.reopened:
            # An edit rings no bell, and this is to be heard.
            message.reference = ""
            message.reopened = incident.reopened
            message.told_closed = False
            return self._queue_notice(message, incident, NoticeKind.OPENED, plan.due, now)
        if _rises(message, incident):
            self._delayed.pop(message.key, None)
            kind = message.notice.kind if message.waits else NoticeKind.UPDATED
            return self._queue_notice(message, incident, kind, plan.due, now)
        bell = self._bell(message, incident)
        if bell is not None:
            first = message.waits and message.notice.kind is NoticeKind.OPENED
            kind = NoticeKind.OPENED if first and not self._flies(message) else bell
            return self._queue_notice(message, incident, kind, plan.due, now)
        if message.waits and not self._flies(message):
            return self._queue_notice(message, incident, message.notice.kind, message.due, now)
        if not self._traits[message.sink].edits:
            return False
        due = max(now, (message.told_at or 0.0) + EDIT_EVERY_S)
        return self._queue_notice(message, incident, NoticeKind.UPDATED, due, now)

    def _bell(self, message: Message, incident: Incident) -> NoticeKind | None:
        """What has to be heard by somebody who decides or looks: an edit rings no bell."""
        if self._has_new_request(message, incident):
            return NoticeKind.APPROVAL
        return NoticeKind.CALLED if _called(incident) > message.called else None

    def _has_new_request(self, message: Message, incident: Incident) -> bool:
        """Whether people are asked what they were not, also by a second change at the same moment."""
        requested = self._request_names(incident)
        return bool(requested) and requested != message.asked

    def _over(self, message: Message, incident: Incident, plan: Plan | None, now: float) -> bool:
        """It is over, and the sink has heard of it, or may have."""
        again = message.reopened == incident.reopened
        message.reopened = incident.reopened
        waits = self._is_closing(message)
        calls = _called(incident) > message.called
        if plan is not None and calls and (message.told_closed or waits):
            # What was done about it goes on after its end: a node that cannot be given back.
            return self._queue_notice(message, incident, NoticeKind.CALLED, plan.due, now)
        # Of one that came back and went while nobody was to hear of it the end was told before.
        was_closed = again and message.notice.kind is NoticeKind.CLOSED and not waits
        if message.told_closed or was_closed:
            return False
        due = now if plan is None else max(plan.due, now)
        due = max(due, now + self._resolve_wait_s(message))
        return self._queue_notice(message, incident, NoticeKind.CLOSED, due, now)

    def _is_closing(self, message: Message) -> bool:
        """Whether the end of its incident waits, and is not being sent."""
        is_closing = message.waits and message.notice.kind is NoticeKind.CLOSED
        return is_closing and not self._flies(message)

    def _resolve_wait_s(self, message: Message) -> float:
        """For how many seconds from now on the end of its incident waits.

        A receiver that forgets what it is not told again waits by itself.
        """
        forgets = self._traits[message.sink].repeat_s is not None
        return 0.0 if forgets else self._end_wait(message.incident)

    def _cancel_closing(self, message: Message, incident: Incident, now: float) -> None:
        """It is back before anybody was notified of its end, and goes on as if that had not been."""
        message.reopened = incident.reopened
        if message.told_at is None:
            self._queue_notice(message, incident, NoticeKind.OPENED, now, now)
            return
        called = _called(incident) > message.told_at
        self._queue_notice(
            message, incident, NoticeKind.CALLED if called else NoticeKind.UPDATED, now, now
        )
        if not (called or message.rings or self._traits[message.sink].edits):
            message.waits = False
            self._agenda.schedule(message, self._again(message), now)

    def _hide(self, message: Message, plan: Plan | None, now: float) -> None:
        """Hold back what waits, and reminders, while nobody is to hear of an incident."""
        cadences = () if plan is None else plan.cadences
        if cadences != message.cadences:
            message.cadences = cadences
            if not message.waits:
                self._agenda.schedule(message, self._again(message), now)
        if message.waits and not self._flies(message):
            if plan is None and message.due < NEVER:
                self._agenda.schedule(message, NEVER, now)
            elif plan is not None and message.due == NEVER:
                self._agenda.schedule(message, plan.due, now)

    def _flies(self, message: Message) -> bool:
        """Whether it is being sent right now."""
        return self._in_flight.get(message.sink) == message.key

    def _queue_notice(
        self, message: Message, incident: Incident, kind: NoticeKind, due: float, now: float
    ) -> bool:
        self._replace(message, incident, kind, now)
        self._agenda.schedule(message, due, now)
        return True

    def _open_message(self, name: str, incident: Incident, plan: Plan, now: float) -> bool:
        if self._count[name] >= MOST_MESSAGES:
            self.untold += 1
            return False
        last = self._last_started.get(name, -NEVER)
        storm = 0.0 <= now - last < self._storm_wait_s and incident.entity.group != FLEET
        # The first look at a storm sees a few of its nodes: how many there are is what counts.
        grows = incident.storm
        if is_own(incident):
            storm = grows = False
        else:
            self._last_started[name] = now
        self._last_of_family[name, incident.family] = now
        message = Message(
            incident=incident.id,
            sink=name,
            notice=self._describe(incident, NoticeKind.OPENED, 1),
            queued=now,
            seen=incident.updated,
            reopened=incident.reopened,
            cadences=plan.cadences,
            asked=self._request_names(incident),
            called=_called(incident),
        )
        self._store(message)
        if storm:
            self._delayed[message.key] = incident.family
        soon_s = 0.0 if message.asked else self._soon(incident)
        wait_s = max(self._storm_wait_s if storm or grows else 0.0, soon_s)
        self._agenda.schedule(message, max(plan.due, now + wait_s), now)
        return True

    def _open_late(self, name: str, incident: Incident, plan: Plan, now: float) -> bool:
        """A person is called for what is over, and of which the sink knows nothing, or no more."""
        existing = self._messages.get((incident.id, name))
        if existing is not None:
            self._drop(existing)  # its beginning, which nobody was told
        if self._count[name] >= MOST_MESSAGES:
            self.untold += 1
            return False
        message = Message(
            incident=incident.id,
            sink=name,
            notice=self._describe(incident, NoticeKind.CALLED, 1),
            queued=now,
            seen=incident.updated,
            reopened=incident.reopened,
            cadences=plan.cadences,
            called=_called(incident),
        )
        self._store(message)
        self._agenda.schedule(message, plan.due, now)
        return True

    def _gathers(self, message: Message, now: float) -> bool:
        """Whether others of its family still begin, so that it may turn out to be one of many."""
        family = self._delayed.get(message.key)
        if family is None:
            return False
        last = self._last_of_family[message.sink, family]
        due = min(last, message.queued + MOST_WAITS * self._storm_wait_s - self._storm_wait_s)
        due += self._storm_wait_s
        if not now < due <= now + self._storm_wait_s:
            del self._delayed[message.key]
            return False
        self._agenda.schedule(message, due, now)
        return True

    def call(self, incident: Incident, now: float) -> set[str]:
        """Call a person for what no incident that is kept is about; the sinks that have to do it.

        `incident` says of what, and is told once; the same id replaces what was said before.
        """
        plans = self._routes.plans(incident, now)
        room = {
            name
            for name in plans
            if self._count[name] < MOST_MESSAGES or (incident.id, name) in self._messages
        }
        self.untold += len(plans) - len(room)
        for name in room:
            notice = self._describe(incident, NoticeKind.CALLED, 1)
            self.post(name, incident.id, notice, now, plans[name])
        return room

    def post(
        self, sink: str, id_: str, notice: Notice, now: float, plan: Plan | None = None
    ) -> None:
        """Say something that is no incident; the same id replaces what was said before."""
        before = self._messages.get((id_, sink))
        sequence = 1 if before is None else before.notice.sequence + 1
        notice = msgspec.structs.replace(notice, sequence=sequence)
        message = before or Message(incident=id_, sink=sink, notice=notice, queued=now, once=True)
        message.notice, message.waits, message.seen = notice, True, now
        message.cadences = () if plan is None else plan.cadences
        self._store(message)
        self._agenda.schedule(message, now if plan is None else plan.due, now)

    def _replace(self, message: Message, incident: Incident, kind: NoticeKind, now: float) -> None:
        if not message.waits:
            message.queued = now
        message.waits = True
        message.seen = incident.updated
        message.asked = self._request_names(incident) or message.asked
        message.called = max(_called(incident), message.called)
        message.notice = self._describe(incident, kind, message.notice.sequence + 1)

    def _store(self, message: Message) -> None:
        if message.key not in self._messages:
            self._count[message.sink] += 1
        self._messages[message.key] = message
        self._of_incident.setdefault(message.incident, set()).add(message.sink)

    def _drop(self, message: Message) -> None:
        if self._messages.pop(message.key, None) is None:
            return
        self._count[message.sink] -= 1
        self._delayed.pop(message.key, None)
        self._agenda.changes.add(message.key)
        sinks = self._of_incident[message.incident]
        sinks.discard(message.sink)
        if not sinks:
            del self._of_incident[message.incident]

    def due_at(self, sink: str, now: float) -> float:
        """When there is something to do for a sink; infinity when there is nothing."""
        return self._agenda.due_at(sink, now)

    def next(self, sink: str, now: float) -> Message | None:
        """What is to be sent to a sink now. It is in flight until `settle`."""
        while (message := self._agenda.pop(sink, now)) is not None:
            if self._gathers(message, now) or self._waits_for_the_end(message, now):
                continue
            # A sink that was down, or a hub, may be back in the middle of the night.
            rings_at = message.rings_at(now) if message.waits and message.rings else now
            if rings_at > now:
                self._agenda.schedule(message, rings_at, now)
                continue
            again = now if message.waits or message.is_final else self._again(message)
            if again > now:
                # A clock that was set has come into quiet hours, or out of them.
                self._agenda.schedule(message, again, now)
                continue
            if self._ready(message, now):
                self._in_flight[sink] = message.key
                return message
        return None

    def _waits_for_the_end(self, message: Message, now: float) -> bool:
        """Whether an incident that is over may still come back, or something is still done about it."""
        if not (message.waits and message.notice.kind is NoticeKind.CLOSED):
            return False
        wait_s = self._resolve_wait_s(message)
        if wait_s > 0.0:
            self._agenda.schedule(message, now + wait_s, now)
        return wait_s > 0.0

    def _ready(self, message: Message, now: float) -> bool:
        """Whether there is something to send; what is said again is made here."""
        if message.waits:
            return True
        if message.is_final:
            self._drop(message)
            return False
        reminds = now >= message.reminds_at
        message.notice = msgspec.structs.replace(
            message.notice,
            kind=NoticeKind.REMINDER if reminds else NoticeKind.UPDATED,
            time=now,
            sequence=message.notice.sequence + 1,
        )
        message.waits, message.queued = True, now
        return True

    def settle(self, message: Message, sent: Notice, outcome: Outcome, now: float) -> Lost | None:
        """Take up what became of a notice; what has to be given up with it."""
        self._in_flight.pop(message.sink, None)
        if self._messages.get(message.key) is not message:
            return None
        if outcome.status in _SETTLED:
            self._delivered(message, sent, outcome, now)
            return None
        message.attempts += 1
        message.error = outcome.message
        if outcome.status is Status.RETRY and now - message.queued < GIVE_UP_AFTER_S:
            pause = doubled(_FIRST_PAUSE_S, message.attempts, _LONGEST_PAUSE_S)
            self._agenda.schedule(message, now + max(pause, outcome.retry_after_s or 0.0), now)
            return None
        newer = message.notice.sequence > sent.sequence
        message.attempts = 0
        if newer:
            message.queued = now
            self._agenda.schedule(message, now, now)
        elif message.told_at is None or sent.kind is NoticeKind.CLOSED:
            self._drop(message)
        else:
            message.waits = False
            self._agenda.schedule(message, self._again(message), now)
        reason = outcome.message if outcome.status is Status.REFUSED else "not taken for a day"
        return Lost(message.sink, sent, reason)

    def _delivered(self, message: Message, sent: Notice, outcome: Outcome, now: float) -> None:
        if sent.kind is NoticeKind.OPENED or outcome.reference:
            message.reference = outcome.reference
        if rings(sent, message.told_severity):
            message.rung_at = now
        message.attempts, message.error, message.told_at = 0, "", now
        message.told_severity = sent.severity
        late = sent.kind is NoticeKind.CALLED and sent.closed is not None
        after = sent.kind is NoticeKind.CALLED and (message.told_closed or late)
        message.told_closed = after or sent.kind is NoticeKind.CLOSED
        if message.notice.sequence > sent.sequence:
            message.queued = now
            self._agenda.schedule(message, max(message.due, now), now)
            return
        message.waits = False
        self._agenda.schedule(
            message, now + KEPT_S if message.is_final else self._again(message), now
        )

    def _again(self, message: Message) -> float:
        """When it is to be said again that it is still open."""
        repeat_s = self._traits[message.sink].repeat_s
        if repeat_s and message.told_at is not None:
            return min(message.told_at + repeat_s, message.reminds_at)
        return message.reminds_at

    def drain_changes(self) -> dict[Key, bytes | None]:
        """The rows that have changed since they were last taken; None for those that are gone."""
        changes: dict[Key, bytes | None] = {}
        for key in self._agenda.changes:
            message = self._messages.get(key)
            changes[key] = None if message is None else encoded(message)
        self._agenda.changes.clear()
        return changes

    def restore_changes(self, keys: Collection[Key]) -> None:
        """Rows that were taken and could not be written are still to be written."""
        self._agenda.changes |= set(keys)

    def waiting(self, sink: str, now: float) -> list[Message]:
        """What should have been delivered, and was not."""
        return [
            message
            for message in self._messages.values()
            if message.sink == sink and message.waits and (message.attempts or message.due <= now)
        ]


def _called(incident: Incident) -> float:
    """Unix seconds of the latest call for a person; 0 before the first."""
    calls = (entry.time for entry in reversed(incident.timeline) if entry.kind is TimelineKind.CALL)
    return next(calls, 0.0)


def _called_late(incident: Incident) -> bool:
    """Whether the latest that is known of it is that a person is called, after its end."""
    return bool(incident.left_to_do) and _called(incident) == incident.updated


def _rises(message: Message, incident: Incident) -> bool:
    return incident.severity.weight > message.notice.severity.weight
