"""The stages, put together: what changes of an incident pass on their way in, messages on theirs out."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from accelwatch.alerting.delivery.messages.cadence import Plan
from accelwatch.alerting.delivery.messages.composer import Composer, Notification
from accelwatch.alerting.delivery.messages.message import Message, Traits
from accelwatch.alerting.delivery.messages.message_store import MessageStore
from accelwatch.alerting.delivery.messages.outlook import Outlook
from accelwatch.alerting.delivery.stages.dedup import DedupStage
from accelwatch.alerting.delivery.stages.group import GroupStage
from accelwatch.alerting.delivery.stages.mute import MuteStage
from accelwatch.alerting.delivery.stages.open import OpenStage, is_called_late
from accelwatch.alerting.delivery.stages.remind import RemindStage
from accelwatch.alerting.delivery.stages.resolve import ResolveStage
from accelwatch.alerting.delivery.stages.retry import RetryStage
from accelwatch.alerting.delivery.stages.set_notifies import SetNotifiesStage
from accelwatch.alerting.delivery.stages.wait import WaitStage
from accelwatch.alerting.incidents.model.incident import Incident


class WaitingStage(Protocol):
    """A stage that may hold back what is due."""

    def waits_until(self, message: Message, now: float) -> float | None:
        """Until when, Unix seconds; None where the message may pass."""
        ...


class Pipeline(NamedTuple):
    """One of each stage."""

    messages: MessageStore
    composer: Composer
    open: OpenStage
    dedup: DedupStage
    resolve: ResolveStage
    group: GroupStage
    wait: WaitStage
    mute: MuteStage
    remind: RemindStage
    retry: RetryStage
    set_notifies: SetNotifiesStage

    def update(self, sink: str, incident: Incident, plan: Plan | None, now: float) -> None:
        """Adopt how an incident stands for a sink; without a plan it is not notified of anything now."""
        message = self.messages.get(incident.id, sink)
        is_undelivered = message is None or message.is_undelivered
        if plan is not None and is_undelivered and is_called_late(incident):
            self.open.open_late(sink, incident, plan, now)
        elif message is None:
            if plan is not None and incident.is_open:
                self.open.open(sink, incident, plan, now)
        elif is_undelivered and not self.messages.in_flight(message):
            self._update_undelivered(message, incident, plan, now)
        else:
            self._record_deliveries(message, incident, plan, now)

    def _update_undelivered(
        self, message: Message, incident: Incident, plan: Plan | None, now: float
    ) -> None:
        if plan is None or not incident.is_open:
            # Nobody is notified of an incident that ended, or was muted, before its first notice.
            self.group.release(message)
            self.messages.remove(message)
        else:
            notification = self.dedup.first_notification(message, incident, plan, now)
            self._notify(message, incident, notification, now)

    def _record_deliveries(
        self, message: Message, incident: Incident, plan: Plan | None, now: float
    ) -> None:
        if not incident.is_open:
            self._notify(message, incident, self.resolve.closed(message, incident, plan, now), now)
            return
        if self.resolve.is_back(message, incident):
            self.resolve.cancel(message, incident, now)
        self.remind.set_cadences(message, plan, now)
        self.mute.hold_back(message, plan, now)
        if plan is not None:
            self._notify(
                message, incident, self.dedup.record_delivery(message, incident, plan, now), now
            )

    def _notify(
        self, message: Message, incident: Incident, notification: Notification | None, now: float
    ) -> None:
        if notification is not None:
            self.composer.replace(message, incident, notification.kind, now)
            self.messages.schedule(message, notification.due, now)

    def waits_until(self, message: Message, now: float) -> float | None:
        """Until when the first stage that holds a message back does; None where all let it pass."""
        stages: tuple[WaitingStage, ...] = (self.group, self.wait, self.mute, self.remind)
        times = (stage.waits_until(message, now) for stage in stages)
        return next((until for until in times if until is not None), None)


def build_pipeline(
    messages: MessageStore,
    composer: Composer,
    traits: Mapping[str, Traits],
    group_wait_s: float,
    outlook: Outlook,
) -> Pipeline:
    """The stages of all sinks; `traits` has each of them by name."""
    group, wait = GroupStage(group_wait_s), WaitStage(traits, outlook)
    remind = RemindStage(messages, traits)
    return Pipeline(
        messages=messages,
        composer=composer,
        open=OpenStage(messages, composer, group, wait),
        dedup=DedupStage(messages, composer, group, traits, outlook),
        resolve=ResolveStage(messages, composer, wait, remind, traits),
        group=group,
        wait=wait,
        mute=MuteStage(messages),
        remind=remind,
        retry=RetryStage(messages, remind),
        set_notifies=SetNotifiesStage(messages, remind),
    )
