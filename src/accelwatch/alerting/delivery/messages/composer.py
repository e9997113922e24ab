"""Notices are composed into messages: what is pending says how its incident stands now."""

from collections.abc import Callable
from typing import NamedTuple

from accelwatch.alerting.delivery.messages.cadence import Plan
from accelwatch.alerting.delivery.messages.message import Message
from accelwatch.alerting.incidents.model.incident import Incident, TimelineKind
from accelwatch.alerting.sink import Notice, NoticeKind

# The notice of an incident, of a kind, with its sequence number.
Describe = Callable[[Incident, NoticeKind, int], Notice]


class Notification(NamedTuple):
    """What a sink is to be notified of, and when."""

    kind: NoticeKind
    # Unix seconds.
    due: float


class Composer:
    """For all sinks; nothing is scheduled here."""

    def __init__(self, describe: Describe, request_names: Callable[[Incident], str]) -> None:
        self._describe = describe
        self._request_names = request_names

    def has_request(self, incident: Incident) -> bool:
        """Whether an incident has open requests for approval."""
        return bool(self._request_names(incident))

    def has_new_request(self, message: Message, incident: Incident) -> bool:
        """Whether an incident has a request that the message lacks, also by a second change at once."""
        requested = self._request_names(incident)
        return bool(requested) and requested != message.request_names

    def has_changed(self, message: Message, incident: Incident) -> bool:
        """Whether an incident has changed since a message was composed."""
        changed = message.incident_updated != incident.updated
        return changed or self.has_new_request(message, incident)

    def first(
        self, sink: str, incident: Incident, kind: NoticeKind, plan: Plan, now: float
    ) -> Message:
        """The message of an incident of which a sink has none."""
        return Message(
            incident=incident.id,
            sink=sink,
            notice=self._describe(incident, kind, 1),
            pending_since=now,
            incident_updated=incident.updated,
            reopened=incident.reopened,
            cadences=plan.cadences,
            request_names=self._request_names(incident),
            called_at=called_at(incident),
        )

    def replace(self, message: Message, incident: Incident, kind: NoticeKind, now: float) -> None:
        """Make a later notice pending, replacing the pending or the delivered one."""
        if not message.is_pending:
            message.pending_since = now
        message.is_pending = True
        message.incident_updated = incident.updated
        message.request_names = self._request_names(incident) or message.request_names
        message.called_at = max(called_at(incident), message.called_at)
        message.notice = self._describe(incident, kind, message.notice.sequence + 1)

    def call(self, incident: Incident) -> Notice:
        """The notice that calls a person for what no incident that is kept is about."""
        return self._describe(incident, NoticeKind.CALLED, 1)


def called_at(incident: Incident) -> float:
    """Unix seconds of the latest call for a person; 0 before the first."""
    calls = (entry.time for entry in reversed(incident.timeline) if entry.kind is TimelineKind.CALL)
    return next(calls, 0.0)
