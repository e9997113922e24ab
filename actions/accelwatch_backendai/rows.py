"""What stands in the tables of the action: readings and proposals by intent, effects by step."""

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.kit import effects
from accelwatch.action.kit.checkpoint_search import CheckpointSearch
from accelwatch.action.kit.power import PowerSwitch
from accelwatch.action.step import Proposal
from accelwatch.api_client.backendai.client import BackendAiClient
from accelwatch.api_client.backendai.releases import ManagerRelease
from accelwatch.base.clock import Clock
from accelwatch_backendai.api.specifications import Specifications
from accelwatch_backendai.observed_context import ObservedContext
from accelwatch_backendai.quarantines import Quarantines
from accelwatch_backendai.settings.options import BackendAiOptions


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """By what readings and effects reach the manager."""

    # The action's name in the configuration; `JobKey.cluster` of its jobs.
    name: str
    options: BackendAiOptions
    clock: Clock
    client: BackendAiClient
    release: ManagerRelease
    quarantines: Quarantines
    power: PowerSwitch
    checkpoints: CheckpointSearch
    specifications: Specifications


# Raises ActionUnavailableError. What is read already of the agent is in `own`.
Read = Callable[[Access, Intent, Mapping[str, str]], Awaitable[effects.Reading]]
# The next step towards an intent. Pure.
Propose = Callable[[Intent, ObservedContext], Proposal]
# One kind of step.
Effect = effects.Effect[Access, ObservedContext]
