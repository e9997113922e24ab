"""Mute: while an incident is muted, or hours are quiet, what is pending waits."""

from accelwatch.alerting.delivery.messages.cadence import Plan
from accelwatch.alerting.delivery.messages.message import NEVER, Message
from accelwatch.alerting.delivery.messages.message_store import MessageStore
from accelwatch.alerting.incidents.model.incident import Incident


def is_muted(incident: Incident, silenced: bool) -> bool:
    """Whether nobody is notified of an incident now: of a member of a group the group's one stands."""
    return silenced or bool(incident.group)


class MuteStage:
    """Nothing is lost while it waits: when nothing mutes it any more, it is delivered as it is then."""

    def __init__(self, messages: MessageStore) -> None:
        self._messages = messages

    def hold_back(self, message: Message, plan: Plan | None, now: float) -> None:
        """Have what is pending wait while there is no plan, and be due as planned once there is one."""
        # What is in flight has a due that its outcome will set; to set it here would send it twice.
        if not message.is_pending or self._messages.in_flight(message):
            return
        if plan is None and message.due < NEVER:
            self._messages.schedule(message, NEVER, now)
        elif plan is not None and message.due == NEVER:
            self._messages.schedule(message, plan.due, now)

    def waits_until(self, message: Message, now: float) -> float | None:
        """The end of quiet hours, for what would ring in them.

        They were minded when it was scheduled; but a sink that was down, or a hub, may be back in the
        middle of the night.
        """
        if not (message.is_pending and message.rings):
            return None
        rings_at = message.rings_at(now)
        return rings_at if rings_at > now else None
