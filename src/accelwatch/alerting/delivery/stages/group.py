"""Group: what begins right after others waits for more, for it may turn out to be one of many.

Alertmanager's group wait: a storm is an incident of its own, and those in it are its members, of whom
nobody is notified. The first incident is delivered at once; those that follow it within the wait are
held until no incident of their family has opened for that long, and no longer than `MOST_WAITS` of it.
"""

from accelwatch.alerting.delivery.formatting.own_problem import is_own
from accelwatch.alerting.delivery.messages.message import NEVER, Key, Message
from accelwatch.alerting.incidents.grouping.grouping_key import FLEET
from accelwatch.alerting.incidents.model.incident import Incident

# A family of which another one begins every few seconds would otherwise be held for ever.
MOST_WAITS = 6


class GroupStage:
    """When incidents began, by sink and by family."""

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
        self._last_started: dict[str, float] = {}
        self._last_of_family: dict[tuple[str, str], float] = {}
        # The families of those that are held.
        self._family_of: dict[Key, str] = {}

    def open(self, sink: str, incident: Incident, now: float) -> float:
        """For how many seconds an incident that begins is held."""
        self._last_of_family[sink, incident.family] = now
        if is_own(incident):
            return 0.0
        follows_another = 0.0 <= now - self._last_started.get(sink, -NEVER) < self._wait_s
        self._last_started[sink] = now
        # An incident of the whole fleet is what others would become a part of.
        if follows_another and incident.entity.group != FLEET:
            self._family_of[incident.id, sink] = incident.family
            return self._wait_s
        # The first tick of a storm has a few of its nodes: how many there are is what counts.
        return self._wait_s if incident.storm else 0.0

    def release(self, message: Message) -> None:
        """Hold a message no more: it has become worse, or is gone."""
        self._family_of.pop(message.key, None)

    def must_wait(self, message: Message) -> bool:
        """Whether a message waits for others of its family."""
        return message.key in self._family_of

    def waits_until(self, message: Message, now: float) -> float | None:
        """While others of its family begin: until none has for the whole wait."""
        family = self._family_of.get(message.key)
        if family is None:
            return None
        last = self._last_of_family[message.sink, family]
        latest_start = message.pending_since + (MOST_WAITS - 1) * self._wait_s
        until = min(last, latest_start) + self._wait_s
        # Further away than one wait it can only be by a clock that was set back.
        if not now < until <= now + self._wait_s:
            self.release(message)
            return None
        return until
