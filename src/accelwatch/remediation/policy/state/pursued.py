"""What comes back to the state machine from the world: ends of intents, and looks at all nodes."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from accelwatch.action.intent import Intent, IntentKind
from accelwatch.action.observed import NodeObservation, Observed, ReservationObservation
from accelwatch.action.step import RefusalKind


class PursuitResult(StrEnum):
    """How the pursuit of an intent stands."""

    ACHIEVED = "achieved"
    """Observed to be as wanted."""
    REFUSED = "refused"
    """It will not be done, and nothing of it is open."""
    FAILED = "failed"
    """It was tried as often as it may be, and is observed not to be so."""
    UNKNOWN = "unknown"
    """A step may have happened or may happen yet: only a later observation or a person leads on."""
    CANCELLED = "cancelled"
    """It is not wanted any more, and no step of it is open."""


class Pursued(msgspec.Struct, frozen=True, kw_only=True):
    """The end of an intent."""

    intent: Intent
    result: PursuitResult
    time: float
    """Unix seconds."""
    text: str
    refusal: RefusalKind | None = None
    observed: Observed | None = None
    """The last look."""
    moved_to: tuple[str, ...] = ()
    original: dict[str, str] = {}
    """What its steps replaced, so that it can be put back."""
    was_applied: bool = False
    """Whether a step of it was observed to have happened, whatever has become of that since."""


class Surveyed(msgspec.Struct, frozen=True, kw_only=True):
    """All nodes of a scheduler at a moment; or that it did not answer."""

    action: str
    """The action's name in the configuration."""
    time: float
    nodes: tuple[NodeObservation, ...] = ()
    unavailable: str = ""
    """Why nothing is known; empty when something is."""
    reservations: tuple[ReservationObservation, ...] = ()
    """Those of ours that keep nodes for jobs."""
    probes: bool = False
    """Whether the action can have its scheduler find out that its daemon on a node is silent."""
    controller_boot: str = ""
    """Of which start of the scheduler's controller this is; empty where it does not say."""
    impossible: Mapping[IntentKind, str] = {}
    """What can be done to no node by this action, and why."""


Observation = Pursued | Surveyed
