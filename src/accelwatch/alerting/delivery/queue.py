"""What sinks are to be notified of, and when. Pure: time is given, nothing waits, nothing is sent.

A sink has one message of an incident. A change of the incident passes the stages that decide whether the
sink is notified of it (mute, open, deduplicate, resolve); a message that is due passes those that may
hold it back (group, wait, mute, remind); what became of it goes to retry, or is remembered.
"""

from collections.abc import Mapping, Set

from accelwatch.alerting.delivery.messages.cadence import Plan
from accelwatch.alerting.delivery.messages.composer import Composer, Describe
from accelwatch.alerting.delivery.messages.message import Message, Traits
from accelwatch.alerting.delivery.messages.message_store import MessageStore
from accelwatch.alerting.delivery.messages.outlook import Outlook
from accelwatch.alerting.delivery.routing import Routes
from accelwatch.alerting.delivery.stages.mute import is_muted
from accelwatch.alerting.delivery.stages.pipeline import build_pipeline
from accelwatch.alerting.delivery.stages.retry import Lost
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.sink import Notice, Outcome, Status

_ARRIVED = frozenset({Status.DELIVERED, Status.NO_RECIPIENT})


class Queue:
    """The messages of all sinks, on their way through the stages."""

    def __init__(
        self,
        routes: Routes,
        traits: Mapping[str, Traits],
        describe: Describe,
        storm_wait_s: float,
        outlook: Outlook = Outlook(),  # noqa: B008 - frozen
    ) -> None:
        self.messages = MessageStore(traits)
        self._routes = routes
        self._composer = Composer(describe, outlook.request_names)
        self._stages = build_pipeline(self.messages, self._composer, traits, storm_wait_s, outlook)

    def changed(self, incident: Incident, silenced: bool, now: float) -> Set[str]:
        """Adopt how an incident stands, as often as one likes; the sinks that may have something due."""
        plans = {} if is_muted(incident, silenced) else self._routes.plans(incident, now)
        sinks = plans.keys() | self.messages.sinks_of(incident.id)
        for sink in sinks:
            self._stages.update(sink, incident, plans.get(sink), now)
        return sinks

    def call(self, incident: Incident, now: float) -> Set[str]:
        """Call a person for what no incident that is kept is about; the sinks that have to do it.

        `incident` says of what, and is notified once; the same id replaces what was said before.
        """
        plans = self._routes.plans(incident, now)
        existing = self.messages.sinks_of(incident.id)
        sinks = {sink for sink in plans if sink in existing or self.messages.has_room(sink)}
        for sink in sinks:
            notice = self._composer.call(incident)
            self._stages.open.post(sink, incident.id, notice, plans[sink], now)
        return sinks

    def post(self, sink: str, id_: str, notice: Notice, now: float) -> None:
        """A notice about no incident, due now; the same id replaces what was said before."""
        self._stages.open.post(sink, id_, notice, Plan(now), now)

    def next(self, sink: str, now: float) -> Message | None:
        """What is to be sent to a sink now. It is in flight until `settle`."""
        while (message := self.messages.pop(sink, now)) is not None:
            waits_until = self._stages.waits_until(message, now)
            if waits_until is not None:
                self.messages.schedule(message, waits_until, now)
            elif message.is_final and not message.is_pending:
                self.messages.remove(message)
            else:
                if not message.is_pending:
                    self._stages.remind.compose(message, now)
                self.messages.depart(message)
                return message
        return None

    def settle(self, message: Message, sent: Notice, outcome: Outcome, now: float) -> Lost | None:
        """Adopt what became of a notice; what has to be given up with it."""
        if not self.messages.arrive(message):
            return None  # another one has replaced it
        if outcome.status in _ARRIVED:
            self._stages.set_notifies.delivered(message, sent, outcome, now)
            return None
        return self._stages.retry.failed(message, sent, outcome, now)
