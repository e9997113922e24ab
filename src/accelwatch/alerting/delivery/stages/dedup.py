"""Deduplicate: which changes of an open incident a sink is notified of, and as what.

Until something has arrived, later changes replace what is pending. After that only what matters is
notified: it is back, it is worse, a person is needed. A sink that edits its message is notified
of every change, for an edit disturbs nobody.
"""

from collections.abc import Mapping

from accelwatch.alerting.delivery.messages.cadence import Plan
from accelwatch.alerting.delivery.messages.composer import Composer, Notification, called_at
from accelwatch.alerting.delivery.messages.message import Message, Traits
from accelwatch.alerting.delivery.messages.message_store import MessageStore
from accelwatch.alerting.delivery.messages.outlook import Outlook
from accelwatch.alerting.delivery.stages.group import GroupStage
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.sink import NoticeKind

# Chat services limit how often a message may be edited.
EDIT_EVERY_S = 5.0


class DedupStage:
    """Decides; the caller has the notice composed and scheduled."""

    def __init__(
        self,
        messages: MessageStore,
        composer: Composer,
        group: GroupStage,
        traits: Mapping[str, Traits],
        outlook: Outlook,
    ) -> None:
        self._messages = messages
        self._composer = composer
        self._group = group
        self._traits = traits
        self._outlook = outlook

    def first_notification(
        self, message: Message, incident: Incident, plan: Plan, now: float
    ) -> Notification | None:
        """Of an incident of which the sink was certainly not notified; None where nothing is new."""
        if not self._composer.has_changed(message, incident):
            return None
        due = message.due
        if _is_worse(message, incident):
            self._group.release(message)
            due = min(due, plan.due)
        elif not self._group.must_wait(message) and self._is_decided(incident):
            due = min(due, plan.due)
        return Notification(NoticeKind.OPENED, max(due, now))

    def record_delivery(
        self, message: Message, incident: Incident, plan: Plan, now: float
    ) -> Notification | None:
        """Of an incident of which the sink was, or may have been, notified; None if nothing is new."""
        if not self._composer.has_changed(message, incident):
            return None
        if incident.reopened > message.reopened:
            return self._reopened(message, incident, plan)
        pending, in_flight = message.is_pending, self._messages.in_flight(message)
        if _is_worse(message, incident):
            self._group.release(message)
            kind = message.notice.kind if pending else NoticeKind.UPDATED
            return Notification(kind, plan.due)
        kind_that_rings = self._kind_that_rings(message, incident)
        if kind_that_rings is not None:
            is_opening = pending and message.notice.kind is NoticeKind.OPENED
            # What is in flight opens it; what follows must say why it rings again.
            kind = NoticeKind.OPENED if is_opening and not in_flight else kind_that_rings
            return Notification(kind, plan.due)
        if pending and not in_flight:
            return Notification(message.notice.kind, message.due)
        if not self._traits[message.sink].edits:
            return None
        edits_at = (message.notified_at or 0.0) + EDIT_EVERY_S
        return Notification(NoticeKind.UPDATED, max(now, edits_at))

    def _reopened(self, message: Message, incident: Incident, plan: Plan) -> Notification:
        # Without a reference it is a new message: an edit rings no bell, and this is to be noticed.
        message.reference = ""
        message.reopened = incident.reopened
        message.is_end_notified = False
        return Notification(NoticeKind.OPENED, plan.due)

    def _kind_that_rings(self, message: Message, incident: Incident) -> NoticeKind | None:
        """The kind that rings for somebody who decides or checks; None where none does."""
        if self._composer.has_new_request(message, incident):
            return NoticeKind.APPROVAL
        return NoticeKind.CALLED if called_at(incident) > message.called_at else None

    def _is_decided(self, incident: Incident) -> bool:
        """Whether its opening notice has nothing more to wait for."""
        return self._composer.has_request(incident) or self._outlook.is_decided(incident)


def _is_worse(message: Message, incident: Incident) -> bool:
    return incident.severity.weight > message.notice.severity.weight
