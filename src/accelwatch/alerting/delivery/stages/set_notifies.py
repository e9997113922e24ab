"""Set notifies: what a sink has got is remembered, for all that is decided of it from then on."""

from accelwatch.alerting.delivery.messages.message import Message, rings
from accelwatch.alerting.delivery.messages.message_store import MessageStore
from accelwatch.alerting.delivery.stages.remind import RemindStage
from accelwatch.alerting.sink import Notice, NoticeKind, Outcome

# An incident that is over may come back.
KEPT_S = 86_400.0


class SetNotifiesStage:
    """For notices that were delivered, and those that have no recipient."""

    def __init__(self, messages: MessageStore, remind: RemindStage) -> None:
        self._messages = messages
        self._remind = remind

    def delivered(self, message: Message, sent: Notice, outcome: Outcome, now: float) -> None:
        """`sent` is what arrived; the message may have a later notice since."""
        if sent.kind is NoticeKind.OPENED or outcome.reference:
            message.reference = outcome.reference
        if rings(sent, message.notified_severity):
            message.alerted_at = now
        message.attempts, message.error, message.notified_at = 0, "", now
        message.notified_severity = sent.severity
        # A call after the end leaves the end as what the sink knows.
        calls_late = sent.kind is NoticeKind.CALLED and (
            message.is_end_notified or sent.closed is not None
        )
        message.is_end_notified = calls_late or sent.kind is NoticeKind.CLOSED
        if message.notice.sequence > sent.sequence:
            # It was replaced while it was in flight.
            message.pending_since = now
            self._messages.schedule(message, max(message.due, now), now)
            return
        message.is_pending = False
        again = now + KEPT_S if message.is_final else self._remind.remind_at(message)
        self._messages.schedule(message, again, now)
