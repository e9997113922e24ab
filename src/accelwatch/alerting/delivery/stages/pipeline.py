"""The stages, put together: what changes of an incident pass on their way in, messages on theirs out."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from accelwatch.alerting.delivery.messages.composer import Composer
from accelwatch.alerting.delivery.messages.message import Message, Traits
from accelwatch.alerting.delivery.messages.message_store import MessageStore
from accelwatch.alerting.delivery.messages.outlook import Outlook
from accelwatch.alerting.delivery.stages.dedup import DedupStage
from accelwatch.alerting.delivery.stages.group import GroupStage
from accelwatch.alerting.delivery.stages.mute import MuteStage
from accelwatch.alerting.delivery.stages.open import OpenStage
from accelwatch.alerting.delivery.stages.remind import RemindStage
from accelwatch.alerting.delivery.stages.resolve import ResolveStage
from accelwatch.alerting.delivery.stages.retry import RetryStage
from accelwatch.alerting.delivery.stages.set_notifies import SetNotifiesStage
from accelwatch.alerting.delivery.stages.wait import WaitStage


class HoldingStage(Protocol):
    """A stage that may hold back what is due."""

    def held_until(self, message: Message, now: float) -> float | None:
        """Until when, Unix seconds; None where the message may pass."""
        ...


class Pipeline(NamedTuple):
    """One of each stage."""

    open: OpenStage
    dedup: DedupStage
    resolve: ResolveStage
    group: GroupStage
    wait: WaitStage
    mute: MuteStage
    remind: RemindStage
    retry: RetryStage
    set_notifies: SetNotifiesStage

    def held_until(self, message: Message, now: float) -> float | None:
        """Until when the first stage that holds a message back does; None where all let it pass."""
        stages: tuple[HoldingStage, ...] = (self.group, self.wait, self.mute, self.remind)
        times = (stage.held_until(message, now) for stage in stages)
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
