"""Resolve: whether a sink is notified that an incident is over, and what if it is back before that."""

from collections.abc import Mapping

from accelwatch.alerting.delivery.messages.cadence import Plan
from accelwatch.alerting.delivery.messages.composer import Composer, Notification, called_at
from accelwatch.alerting.delivery.messages.message import Message, Traits
from accelwatch.alerting.delivery.messages.message_store import MessageStore
from accelwatch.alerting.delivery.stages.remind import RemindStage
from accelwatch.alerting.delivery.stages.wait import WaitStage
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.sink import NoticeKind


class ResolveStage:
    """For incidents of which a sink was, or may have been, notified."""

    def __init__(
        self,
        messages: MessageStore,
        composer: Composer,
        wait: WaitStage,
        remind: RemindStage,
        traits: Mapping[str, Traits],
    ) -> None:
        self._messages = messages
        self._composer = composer
        self._wait = wait
        self._remind = remind
        self._traits = traits

    def closed(
        self, message: Message, incident: Incident, plan: Plan | None, now: float
    ) -> Notification | None:
        """Of an incident that is over; None where the sink knows, or will."""
        is_same_end = message.reopened == incident.reopened
        message.reopened = incident.reopened
        is_waiting = self._is_waiting(message)
        is_called = called_at(incident) > message.called_at
        if plan is not None and is_called and (message.is_end_notified or is_waiting):
            # What was done about it goes on after its end: a node that cannot be given back.
            return Notification(NoticeKind.CALLED, plan.due)
        # Of one that came back and went while it was muted the end was notified before.
        is_in_flight = is_same_end and message.notice.kind is NoticeKind.CLOSED and not is_waiting
        if message.is_end_notified or is_in_flight:
            return None
        due = now if plan is None else max(plan.due, now)
        return Notification(NoticeKind.CLOSED, max(due, now + self._wait.resolve_wait_s(message)))

    def is_back(self, message: Message, incident: Incident) -> bool:
        """Whether an open incident came back before anybody was notified of its end."""
        return incident.reopened > message.reopened and self._is_waiting(message)

    def cancel(self, message: Message, incident: Incident, now: float) -> None:
        """It goes on as if it had not been over."""
        message.reopened = incident.reopened
        if message.notified_at is None:
            # An attempt failed that may have arrived; the beginning is what has to be delivered.
            self._composer.replace(message, incident, NoticeKind.OPENED, now)
            self._messages.schedule(message, now, now)
            return
        is_called = called_at(incident) > message.notified_at
        kind = NoticeKind.CALLED if is_called else NoticeKind.UPDATED
        self._composer.replace(message, incident, kind, now)
        if is_called or message.rings or self._traits[message.sink].edits:
            self._messages.schedule(message, now, now)
        else:
            message.is_pending = False
            self._messages.schedule(message, self._remind.remind_at(message), now)

    def _is_waiting(self, message: Message) -> bool:
        return message.is_closing and not self._messages.in_flight(message)
