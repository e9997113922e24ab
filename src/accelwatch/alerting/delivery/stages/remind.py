"""Remind: that an incident is still open, as often as its routes say, or as its sink would forget it."""

from collections.abc import Mapping

import msgspec

from accelwatch.alerting.delivery.messages.cadence import Plan
from accelwatch.alerting.delivery.messages.message import Message, Traits
from accelwatch.alerting.delivery.messages.message_store import MessageStore
from accelwatch.alerting.sink import NoticeKind


class RemindStage:
    """For messages of which nothing is pending."""

    def __init__(self, messages: MessageStore, traits: Mapping[str, Traits]) -> None:
        self._messages = messages
        self._traits = traits

    def remind_at(self, message: Message) -> float:
        """When a sink is to be notified again of what it knows; infinity for never."""
        repeat_s = self._traits[message.sink].repeat_s
        if repeat_s and message.notified_at is not None:
            return min(message.notified_at + repeat_s, message.reminds_at)
        return message.reminds_at

    def set_cadences(self, message: Message, plan: Plan | None, now: float) -> None:
        """Remind as the routes say now: a muted incident, which has no plan, not at all."""
        cadences = () if plan is None else plan.cadences
        if cadences == message.cadences:
            return
        message.cadences = cadences
        if not message.is_pending:
            self._messages.schedule(message, self.remind_at(message), now)

    def waits_until(self, message: Message, now: float) -> float | None:
        """When it is to remind, if a clock that was set has come into quiet hours, or out of them."""
        if message.is_pending or message.is_final:
            return None
        remind_at = self.remind_at(message)
        return remind_at if remind_at > now else None

    def compose(self, message: Message, now: float) -> None:
        """Have a reminder be pending, or a repetition that rings no bell."""
        is_reminder = now >= message.reminds_at
        message.notice = msgspec.structs.replace(
            message.notice,
            kind=NoticeKind.REMINDER if is_reminder else NoticeKind.UPDATED,
            time=now,
            sequence=message.notice.sequence + 1,
        )
        message.is_pending, message.pending_since = True, now
