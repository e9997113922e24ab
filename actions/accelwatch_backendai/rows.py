"""What stands in the tables of the action: readings and proposals by intent, effects by step."""

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.observed import JobObservation
from accelwatch.action.step import (
    Committed,
    Proposal,
    Recovery,
    Report,
    StartedStep,
    Step,
    StepKind,
)
from accelwatch.action_kit.checkpoint_search import CheckpointSearch
from accelwatch.action_kit.power import PowerSwitch
from accelwatch.backendai.client import BackendAiClient
from accelwatch.backendai.releases import ManagerRelease
from accelwatch.base.clock import Clock
from accelwatch_backendai.api.specifications import Specifications
from accelwatch_backendai.options import BackendAiOptions
from accelwatch_backendai.quarantines import Quarantines
from accelwatch_backendai.scene import Scene


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


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What an intent of some kind needs besides its agent."""

    # Added to the observation's `own`.
    own: Mapping[str, str] = {}
    job: JobObservation | None = None
    proven_dead: bool = False


# Raises ActionUnavailableError. What is read already of the agent is in `own`.
Read = Callable[[Access, Intent, Mapping[str, str]], Awaitable[Reading]]
# The next step towards an intent. Pure.
Propose = Callable[[Intent, Scene], Proposal]
# Does one write. Raises ChangedError, WithdrawnError and ActionUnavailableError where nothing was done,
# and as the client does.
Perform = Callable[[Access, Step, Committed], Awaitable[Report]]


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of step."""

    kind: StepKind
    perform: Perform
    # Whether its effect is there to be seen; None where nothing was read that shows it. Pure.
    is_observed: Callable[[Step, Scene], bool | None]
    # What has become of it after a crash, where `is_observed` does not decide that alone. Pure.
    recover: Callable[[StartedStep, Scene], Recovery] | None = None
