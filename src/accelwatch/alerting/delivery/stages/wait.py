"""Wait: what begins waits until it is known what is done about it, what is over until it stays over."""

from collections.abc import Mapping

from accelwatch.alerting.delivery.messages.message import Message, Traits
from accelwatch.alerting.delivery.messages.outlook import Outlook
from accelwatch.alerting.incidents.model.incident import Incident


class WaitStage:
    """So that one message says both: what has happened and what is done, or that it came and went."""

    def __init__(self, traits: Mapping[str, Traits], outlook: Outlook) -> None:
        self._traits = traits
        self._outlook = outlook

    def opening_wait_s(self, message: Message, incident: Incident) -> float:
        """For how many seconds from now on the beginning of an incident waits."""
        return 0.0 if message.request_names else self._outlook.decides_within_s(incident)

    def resolve_wait_s(self, message: Message) -> float:
        """For how many seconds from now on the end of its incident waits.

        A receiver that forgets what is not repeated, such as Alertmanager, waits by itself.
        """
        forgets = self._traits[message.sink].repeat_s is not None
        return 0.0 if forgets else self._outlook.resolve_wait_s(message.incident)

    def waits_until(self, message: Message, now: float) -> float | None:
        """Until when an incident that is over may come back, or something is still done about it."""
        wait_s = self.resolve_wait_s(message) if message.is_closing else 0.0
        return now + wait_s if wait_s > 0.0 else None
