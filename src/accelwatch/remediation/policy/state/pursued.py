"""Results that come back to the state machine: ends of intents, and polls of all nodes."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from accelwatch.action.intent import Intent, IntentKind
from accelwatch.action.observed import NodeObservation, Observed, ReservationObservation
from accelwatch.action.step import Measured, RefusalKind


class PursuitResult(StrEnum):
    """How the pursuit of an intent stands."""

    # Observed to be as wanted.
    ACHIEVED = "achieved"
    # It will not be done, and nothing of it is open.
    REFUSED = "refused"
    # It was tried as often as it may be, and is observed not to be so.
    FAILED = "failed"
    # A step may have happened or may happen yet: only a later observation or a person leads on.
    UNKNOWN = "unknown"
    # It is not wanted any more, and no step of it is open.
    CANCELLED = "cancelled"


class Pursued(msgspec.Struct, frozen=True, kw_only=True):
    """The end of an intent."""

    intent: Intent
    result: PursuitResult
    # Unix seconds.
    time: float
    text: str
    refusal: RefusalKind | None = None
    # The last look.
    observed: Observed | None = None
    moved_to: tuple[str, ...] = ()
    # Of a test that measures.
    measured: Measured | None = None
    # What its steps replaced, so that it can be put back.
    original: dict[str, str] = {}
    # Whether a step of it was observed to have happened, whatever has become of that since.
    was_applied: bool = False
    # Name of the action that pursued it; empty where none could.
    action: str = ""


class Poll(msgspec.Struct, frozen=True, kw_only=True):
    """All nodes of a scheduler at a moment; or that it did not answer."""

    # The action's name in the configuration.
    action: str
    time: float
    nodes: tuple[NodeObservation, ...] = ()
    # Why nothing is known; empty when something is.
    unavailable: str = ""
    # Those of ours that keep nodes for jobs.
    reservations: tuple[ReservationObservation, ...] = ()
    # Whether the action can have its scheduler find out that its daemon on a node is silent.
    probes: bool = False
    # Whether the action can quarantine single devices of a node.
    quarantines_devices: bool = False
    # Of which start of the scheduler's controller this is; empty where it does not say.
    controller_boot: str = ""
    # What can be done to no node by this action, and why.
    impossible: Mapping[IntentKind, str] = {}


Observation = Pursued | Poll
