"""The contract of a sink: how a notice of an incident reaches somebody.

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
    # Nobody has acknowledged it yet.
    REMINDER = "reminder"
    # An action on it needs a person's approval.
    APPROVAL = "asked"
    # A person has to act: an operation does not continue on its own.
    CALLED = "called"
    TEST = "test"


class ApprovalRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A plan that waits for a person's yes."""

    node: str
    # Its digest, which an approval names.
    plan: str
    steps: tuple[str, ...]
    # Unix seconds of the request.
    at: float
    # Unix seconds until which it waits.
    until: float | None = None
    # Unix seconds at which the node and its jobs were seen so.
    as_of: float | None = None
    # By which whoever reads it may decide, once. It is in what is sent only, and never kept.
    link: str = ""


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """What will be done about a node without an approval."""

    node: str
    # In their order.
    steps: tuple[str, ...]
    # Unix seconds before which no step starts; None for now.
    at: float | None = None
    # Why no step has started yet; empty where nothing holds it back.
    held_back: str = ""
    # What acting now is expected to save; None where that is not known, or nothing to speak of.
    saved_gpu_hours: float | None = None


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """The notice of an incident at a time; texts are fit for a terminal, not for markup."""

    # The same for all notices of an incident; receivers group them by it.
    key: str
    # Grows with each notice of an incident, so that an older one is recognised.
    sequence: int
    kind: NoticeKind
    severity: Severity
    title: str
    # Node, device with index and serial, rack; or what a group has in common.
    where: str
    # Unix seconds at which it began.
    since: float
    # Unix seconds of this notice.
    time: float
    closed: float | None = None
    # A few lines, the strongest first.
    evidence: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    what_to_do: str = ""
    runbook: str = ""
    rule: str = ""
    # Who recommends what is to be done.
    source: str = ""
    link: str = ""
    trusted: bool = True
    labels: Mapping[str, str] = {}
    # Open requests for approval.
    asks: tuple[ApprovalRequest, ...] = ()
    # What will be done about it; as it is when the notice is sent.
    plans: tuple[Planned, ...] = ()
    # How often it has come back within its rule's cool-down.
    returns: int = 0
    # The latest of what was done about it, and by whom, with its time of day.
    done: tuple[str, ...] = ()
    # Why nothing is done about it now, where something may be done about incidents.
    not_done: str = ""


class Status(StrEnum):
    """What became of a notice."""

    DELIVERED = "delivered"
    # Not now; the same notice may be sent again.
    RETRY = "retry"
    # Never in this form: sending it again would be in vain.
    REFUSED = "refused"
    # It concerns nobody whom this sink writes to: settled, but no person has it.
    NO_RECIPIENT = "no_recipient"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a sink says of a notice that it was given."""

    status: Status
    # By what the receiver knows the message, where it can be edited later.
    reference: str = ""
    # How long a pause the receiver requests.
    retry_after_s: float | None = None
    # What went wrong, without secrets and without a full address.
    message: str = ""


class SinkContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a sink gets from its surroundings."""

    # Its name in the configuration.
    name: str
    # Its own section of the configuration; secrets in it are resolved already.
    options: Mapping[str, object] = {}
    clock: Clock = msgspec.field(default_factory=SystemClock)
    timeout_s: float = 10.0


class Sink(Protocol):
    """One receiver. Raises nothing: what goes wrong is an outcome."""

    # Whether a message that was delivered can be changed by its reference; another one that says
    # nothing new then disturbs nobody.
    edits: bool
    # Seconds that the receiver wants between two messages; 0 for a receiver without such a limit.
    pace_s: float
    # Seconds after which a receiver that forgets is notified again of open incidents.
    repeat_s: float | None

    async def deliver(self, notice: Notice, reference: str) -> Outcome:
        """Send a notice; `reference` is that of the incident's message before, or empty."""
        ...

    async def close(self) -> None:
        """Give connections back."""
        ...
