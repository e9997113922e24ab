"""Open: the first message of something to a sink, if there is room for one more."""

import msgspec

from accelwatch.alerting.delivery.messages.cadence import Plan
from accelwatch.alerting.delivery.messages.composer import Composer, called_at
from accelwatch.alerting.delivery.messages.message import Message
from accelwatch.alerting.delivery.messages.message_store import MessageStore
from accelwatch.alerting.delivery.stages.group import GroupStage
from accelwatch.alerting.delivery.stages.wait import WaitStage
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.sink import Notice, NoticeKind


def is_called_late(incident: Incident) -> bool:
    """Whether the latest that is known of it is that a person is called, after its end."""
    return bool(incident.left_to_do) and called_at(incident) == incident.updated


class OpenStage:
    """For incidents, calls of a person, and notices that are about neither."""

    def __init__(
        self, messages: MessageStore, composer: Composer, group: GroupStage, wait: WaitStage
    ) -> None:
        self._messages = messages
        self._composer = composer
        self._group = group
        self._wait = wait

    def open(self, sink: str, incident: Incident, plan: Plan, now: float) -> None:
        """An incident begins, or is not muted any more."""
        if not self._messages.has_room(sink):
            return
        message = self._composer.first(sink, incident, NoticeKind.OPENED, plan, now)
        self._messages.put(message)
        wait_s = self._group.open(sink, incident, now)
        wait_s = max(wait_s, self._wait.opening_wait_s(message, incident))
        self._messages.schedule(message, max(plan.due, now + wait_s), now)

    def open_late(self, sink: str, incident: Incident, plan: Plan, now: float) -> None:
        """A person is called for what is over, and of which the sink knows nothing, or no more."""
        start = self._messages.get(incident.id, sink)
        if start is not None:
            # Nobody was notified of it. In flight it may arrive yet; its outcome then concerns nobody.
            self._group.release(start)
            self._messages.remove(start)
        if not self._messages.has_room(sink):
            return
        message = self._composer.first(sink, incident, NoticeKind.CALLED, plan, now)
        self._messages.put(message)
        self._messages.schedule(message, plan.due, now)

    def post(self, sink: str, id_: str, notice: Notice, plan: Plan, now: float) -> None:
        """A notice that is about no incident that is kept; the same id replaces what was said before."""
        before = self._messages.get(id_, sink)
        sequence = 1 if before is None else before.notice.sequence + 1
        notice = msgspec.structs.replace(notice, sequence=sequence)
        message = before or Message(
            incident=id_, sink=sink, notice=notice, pending_since=now, is_one_off=True
        )
        message.notice, message.is_pending, message.incident_updated = notice, True, now
        message.cadences = plan.cadences
        self._messages.put(message)
        self._messages.schedule(message, plan.due, now)
