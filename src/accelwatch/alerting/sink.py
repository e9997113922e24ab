"""The contract of a sink: how what is to be said of an incident reaches somebody.

A sink is found by the entry point `accelwatch.alerts` and built as `factory(context)`. It sends one
notice at a time and says what became of it; queueing, repeating and grouping are not its business.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol

import msgspec

from accelwatch.alerting.rules.document import Severity
from accelwatch.base.clock import Clock, SystemClock


class NoticeKind(StrEnum):
    """Why something is said."""

    OPENED = "opened"
    UPDATED = "updated"
    CLOSED = "closed"
    REMINDER = "reminder"
    """Nobody has taken it up yet."""
    APPROVAL = "asked"
    """A person is asked whether something may be done about it."""
    CALLED = "called"
    """A person has to look: what was begun does not continue on its own."""
    TEST = "test"


class ApprovalRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A plan that waits for a person's yes."""

    node: str
    plan: str
    """Its digest, which an approval names."""
    steps: tuple[str, ...]
    at: float
    """Unix seconds at which it was asked."""
    until: float | None = None
    """Unix seconds until which it waits."""
    as_of: float | None = None
    """Unix seconds at which the node and its jobs were seen so."""
    link: str = ""
    """By which whoever reads it may decide, once. It is in what is sent only, and never kept."""


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """What will be done about a node without anybody being asked."""

    node: str
    steps: tuple[str, ...]
    """In their order."""
    at: float | None = None
    """Unix seconds before which nothing is begun; None for now."""
    held_back: str = ""
    """Why nothing is begun yet; empty where nothing stands in the way."""
    saved_gpu_hours: float | None = None
    """What acting now is expected to save; None where that is not known, or nothing to speak of."""


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be said of an incident at a moment; texts are fit for a terminal, not for markup."""

    key: str
    """The same for all notices of an incident; receivers tell by it what belongs together."""
    sequence: int
    """Grows with each notice of an incident, so that an older one is recognised."""
    kind: NoticeKind
    severity: Severity
    title: str
    where: str
    """Node, device with index and serial, rack; or what a group has in common."""
    since: float
    """Unix seconds at which it began."""
    time: float
    """Unix seconds of this notice."""
    closed: float | None = None
    evidence: tuple[str, ...] = ()
    """A few lines, the strongest first."""
    jobs: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    what_to_do: str = ""
    runbook: str = ""
    rule: str = ""
    source: str = ""
    """Who recommends what is to be done."""
    link: str = ""
    trusted: bool = True
    labels: Mapping[str, str] = {}
    asks: tuple[ApprovalRequest, ...] = ()
    """What a person is asked about it now."""
    plans: tuple[Planned, ...] = ()
    """What will be done about it; as it is when the notice is sent."""
    returns: int = 0
    """How often it has come back within its rule's cool-down."""
    done: tuple[str, ...] = ()
    """The latest of what was done about it, and by whom, with its time of day."""
    not_done: str = ""
    """Why nothing is done about it now, where something may be done about incidents."""


class Status(StrEnum):
    """What became of a notice."""

    DELIVERED = "delivered"
    RETRY = "retry"
    """Not now; the same notice may be sent again."""
    REFUSED = "refused"
    """Never in this form: sending it again would be in vain."""
    NO_RECIPIENT = "no_recipient"
    """It concerns nobody whom this sink writes to: settled, but no person has it."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a sink says of a notice that it was given."""

    status: Status
    reference: str = ""
    """By what the receiver knows the message, where it can be edited later."""
    retry_after_s: float | None = None
    """How long the receiver asks to be left alone."""
    message: str = ""
    """What went wrong, without secrets and without a full address."""


class SinkContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a sink gets from its surroundings."""

    name: str
    """Its name in the configuration."""
    options: Mapping[str, object] = {}
    """Its own section of the configuration; secrets in it are resolved already."""
    clock: Clock = msgspec.field(default_factory=SystemClock)
    timeout_s: float = 10.0


class Sink(Protocol):
    """One receiver. Raises nothing: what goes wrong is an outcome."""

    edits: bool
    """Whether a message that was delivered can be changed by its reference; another one that says
    nothing new then disturbs nobody."""
    pace_s: float
    """Seconds that the receiver wants between two messages; 0 for one that takes them as they come."""
    repeat_s: float | None
    """Seconds after which a receiver that forgets is told again of what is still open."""

    async def deliver(self, notice: Notice, reference: str) -> Outcome:
        """Send a notice; `reference` is that of the incident's message before, or empty."""
        ...

    async def close(self) -> None:
        """Give connections back."""
        ...
