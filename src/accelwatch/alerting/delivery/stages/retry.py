"""Retry: what a sink has not got is sent again, later each time, for a day."""

from typing import NamedTuple

from accelwatch.alerting.delivery.messages.message import Message
from accelwatch.alerting.delivery.messages.message_store import MessageStore
from accelwatch.alerting.delivery.stages.remind import RemindStage
from accelwatch.alerting.sink import Notice, NoticeKind, Outcome, Status
from accelwatch.base.backoff import doubled

GIVE_UP_AFTER_S = 86_400.0
_FIRST_PAUSE_S = 2.0
_LONGEST_PAUSE_S = 600.0


class Lost(NamedTuple):
    """A notice that was never delivered, and why."""

    sink: str
    notice: Notice
    reason: str


class RetryStage:
    """For outcomes other than a delivery."""

    def __init__(self, messages: MessageStore, remind: RemindStage) -> None:
        self._messages = messages
        self._remind = remind

    def failed(self, message: Message, sent: Notice, outcome: Outcome, now: float) -> Lost | None:
        """Schedule the next attempt; what is lost where there is none."""
        message.attempts += 1
        message.error = outcome.message
        if outcome.status is Status.RETRY and now - message.pending_since < GIVE_UP_AFTER_S:
            pause_s = doubled(_FIRST_PAUSE_S, message.attempts, _LONGEST_PAUSE_S)
            pause_s = max(pause_s, outcome.retry_after_s or 0.0)
            self._messages.schedule(message, now + pause_s, now)
            return None
        self._give_up(message, sent, now)
        reason = outcome.message if outcome.status is Status.REFUSED else "not accepted for a day"
        return Lost(message.sink, sent, reason)

    def _give_up(self, message: Message, sent: Notice, now: float) -> None:
        message.attempts = 0
        if message.notice.sequence > sent.sequence:
            # It was replaced while it was in flight: the later notice has a day of its own.
            message.pending_since = now
            self._messages.schedule(message, now, now)
        elif message.notified_at is None or sent.kind is NoticeKind.CLOSED:
            self._messages.remove(message)
        else:
            message.is_pending = False
            self._messages.schedule(message, self._remind.remind_at(message), now)
