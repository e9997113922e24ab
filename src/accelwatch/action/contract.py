"""The protocol that an action plug-in fulfils."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from accelwatch.action.intent import Intent, IntentKind, OwnerAnnotation
from accelwatch.action.observed import NodeObservation, Observed, ReservationObservation
from accelwatch.action.step import (
    Committed,
    Proposal,
    Recovery,
    Report,
    StartedStep,
    Step,
    StepKind,
)
from accelwatch.base.clock import Clock, SystemClock
from accelwatch.base.errors import AccelwatchError


class ActionUnavailableError(AccelwatchError):
    """The scheduler does not answer now: nothing is known, nothing may be concluded."""


class ActionContext(msgspec.Struct, frozen=True, kw_only=True):
    """What an action gets from its surroundings; tests replace all of it."""

    # Its name in the configuration.
    name: str
    # Its own section of the configuration; secrets in it are resolved already.
    options: Mapping[str, object] = {}
    clock: Clock = msgspec.field(default_factory=SystemClock)
    environ: Mapping[str, str] = {}


class Action(Protocol):
    """One way to act. For one event loop; no call blocks it, and every call ends in bounded time."""

    @property
    def intents(self) -> frozenset[IntentKind]:
        """The kinds that it supports; with some actions their configuration decides."""
        ...

    @property
    def steps(self) -> Mapping[str, StepKind]:
        """What its steps are like."""
        ...

    async def observe_all(self) -> Sequence[NodeObservation]:
        """All nodes at once. Raises ActionUnavailableError."""
        ...

    async def observe(self, intent: Intent) -> Observed:
        """How things stand for an intent, read now. Raises ActionUnavailableError."""
        ...

    def propose(self, intent: Intent, observed: Observed) -> Proposal:
        """The next step towards it, or why there is none. Pure: the same answer to the same question.

        When it proposes a step that was observed done for the same intent, the caller calls `recover`.
        If the effect is still there the intent is achieved (so a step without an observable effect,
        such as a signal, ends it), else an idempotent step is performed again. A step that may be
        needed twice, and is not idempotent, differs in its precondition.
        """
        ...

    async def perform(self, step: Step, operation: Committed) -> Report:
        """Perform one step. Raises nothing: the report carries every failure."""
        ...

    def recover(self, started_step: StartedStep, observed: Observed) -> Recovery:
        """What has become of a step whose end nobody saw. Pure.

        Called after every step, with its report, and after a crash, without: DONE is observed done (or,
        where nothing can be observed, was reported done), REDO is observed not done and cannot come any
        more, UNKNOWN is all else. After `settle_s` of UNKNOWN an operator has to decide.
        """
        ...

    async def close(self) -> None:
        """Give back what it holds."""
        ...


@runtime_checkable
class KeepsReservations(Protocol):
    """An action that reserves nodes for the jobs that it moves."""

    async def reservations(self) -> Sequence[ReservationObservation]:
        """All of ours for jobs, read now. Raises ActionUnavailableError.

        One whose job is not being moved is given back by RESTORE_JOB.
        """
        ...


@runtime_checkable
class HasComplaints(Protocol):
    """An action that can say what would keep it from acting, without calling the scheduler."""

    def complaints(self) -> Sequence[str]:
        """Each with its key and the mend; none when all is well."""
        ...


@runtime_checkable
class NeedsOptions(Protocol):
    """An action of whose `intents` some need an option that may not be given."""

    def needs(self, kind: IntentKind) -> str:
        """Which option it needs, and how to set it; empty when nothing is missing. Makes no call."""
        ...


@runtime_checkable
class FindsLimits(Protocol):
    """An action that reads from its scheduler what that, as it is set up, cannot do."""

    @property
    def impossible(self) -> Mapping[IntentKind, str]:
        """What would be refused, and why, as of the latest poll; empty before the first."""
        ...


@runtime_checkable
class ShowsRights(Protocol):
    """An action that reads by which right it acts at its scheduler."""

    @property
    def rights(self) -> str:
        """What that allows, in plain words, as of the latest poll; empty before the first."""
        ...


@runtime_checkable
class ReleasesByHand(Protocol):
    """An action whose scheduler has a command by which a person gives a node back."""

    def release_command(self, node: str) -> str:
        """The command for the scheduler's name of a node, as a person types it. Makes no call."""
        ...


@runtime_checkable
class HasController(Protocol):
    """An action whose scheduler has a controller that can restart, and may lose its state."""

    @property
    def controller_boot(self) -> str:
        """By which one start of the controller differs from another, as of the latest poll.

        All nodes of that poll were read after this start. Empty before the first poll.
        """
        ...


@runtime_checkable
class ResumesOperations(Protocol):
    """An action whose accepted operations go on outside, and are polled."""

    def resume_operation(self, started_step: StartedStep, operation: str, attempt: int) -> None:
        """Resume polling an operation, maybe accepted before this process started. Makes no call itself.

        Called before each poll of an open operation, with its id and the number of its attempt.
        """
        ...


@runtime_checkable
class ReceivesQuarantines(Protocol):
    """An action whose scheduler keeps no mark of ours on a node: the journal alone knows our holds.

    Each of its QUARANTINE steps has in `original` what it replaces; of a hold without it nothing is
    known later.
    """

    def set_quarantines(self, quarantines: Mapping[str, OwnerAnnotation]) -> None:
        """Our holds by the scheduler's name of the node. Called before the first poll; makes no call.

        The mapping is live: each question is answered from the journal as it is by then. A hold counts
        from the moment at which its step may have been sent until its release is known to be done.
        Read it before and after each read of the scheduler: a node that was ours at either time is ours,
        since the step may have been done while the answer was on its way.
        """
        ...


@runtime_checkable
class QuarantinesDevices(Protocol):
    """An action that can take single devices out of a node: it heeds `Intent.devices`."""

    @property
    def quarantines_devices(self) -> bool:
        """Whether its configuration allows it; it may still refuse single nodes. Makes no call."""
        ...


@runtime_checkable
class Corrects(Protocol):
    """An action that goes by the nodes that are bad now, not by those of the moment of the decision."""

    @property
    def corrects(self) -> frozenset[IntentKind]:
        """Kinds of intents whose `bad_nodes` are current at every call.

        `original` has then what was replaced for the intent so far.
        """
        ...


@runtime_checkable
class PreviewsDrains(Protocol):
    """An action that can query what its scheduler would refuse, without changing anything."""

    async def preview(self, node: str, device: str) -> Sequence[str]:
        """What would leave the scheduler's node, and what would stay or be refused; for people.

        `device` is the bad one (uuid, serial or PCI address); empty where the whole node is bad. Raises
        ActionUnavailableError.
        """
        ...


# Every optional part of an action; a name that is nearly one of theirs is reported as an error.
OPTIONAL: tuple[type, ...] = (
    KeepsReservations,
    HasComplaints,
    NeedsOptions,
    FindsLimits,
    ShowsRights,
    ReleasesByHand,
    HasController,
    ResumesOperations,
    ReceivesQuarantines,
    QuarantinesDevices,
    Corrects,
    PreviewsDrains,
)
