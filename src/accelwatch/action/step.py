"""One effect on the world: proposed, journalled, performed, and judged by what is observed."""

from collections.abc import Callable, Mapping
from enum import StrEnum

import msgspec

from accelwatch.action.intent import OwnerAnnotation


class StepKind(msgspec.Struct, frozen=True):
    """What an action declares of one of its steps; the engine infers nothing."""

    # Whether doing it twice is the same as doing it once.
    idempotent: bool
    reversible: bool
    # After that its outcome is unknown.
    timeout_s: float = 15.0
    # How long after its start its effect may take to be observed.
    settle_s: float = 10.0
    # How long after a response of done its effect may take to be observed; None: as `settle_s`.
    observe_for_s: float | None = None
    # How many of this kind may be under way together; more only where one call does many.
    at_once: int = 8


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One effect on the world."""

    # A key of the action's `steps`.
    kind: str
    arguments: Mapping[str, str] = {}
    # What was seen and has to be so still, such as restart count or boot id.
    precondition: Mapping[str, str] = {}
    # What it replaces, so that it can be put back.
    original: Mapping[str, str] = {}
    # For people: what would be done, `drain n12`.
    text: str = ""


class Wait(msgspec.Struct, frozen=True):
    """Nothing is to be done now; look again after so many seconds."""

    seconds: float
    text: str


class Measured(msgspec.Struct, frozen=True):
    """What a test has measured; more is better."""

    # In the unit, which is a base unit (`bytes_per_second`); empty where the test names none.
    value: float
    unit: str = ""
    # What was run, without secrets; empty where the action does not know it.
    command: str = ""


class Achieved(msgspec.Struct, frozen=True):
    """It is as wanted: observed, not said."""

    text: str
    # Where a job runs now.
    moved_to: tuple[str, ...] = ()
    # Of a test that measures.
    measured: Measured | None = None


class RefusalKind(StrEnum):
    """Why something is not done."""

    # Somebody else holds the node.
    FOREIGN = "foreign"
    # A person undid what we did.
    OVERRIDDEN = "overridden"
    # The scheduler does not let us.
    NOT_ALLOWED = "not_allowed"
    # It cannot be done to such a node or job.
    IMPOSSIBLE = "impossible"
    # Something is not proven that has to be.
    UNSAFE = "unsafe"
    # A test was run, and has not passed.
    UNFIT = "unfit"
    # A node that a test needs idle has got a job; nothing was run.
    BUSY = "busy"
    # A followed job has ended before it should, or has restarted since.
    DIED = "died"


class Refusal(msgspec.Struct, frozen=True):
    """It will not be done; a person or a change of the world leads on."""

    kind: RefusalKind
    text: str


Proposal = Step | Wait | Achieved | Refusal


def stands() -> str:
    """Of a permission that nobody withdraws."""
    return ""


class Committed(msgspec.Struct, frozen=True, kw_only=True):
    """An operation whose entry is on the journal's disk; only `remedy.ledger` makes one."""

    operation: str
    attempt: int
    annotation: OwnerAnnotation
    # Unix seconds.
    deadline: float
    dry_run: bool = False
    # Why this permission counts no more, such as a STOP; empty while it stands. To be checked again
    # immediately before each command, from whatever thread sends it: a step may have waited in a queue.
    withdrawn: Callable[[], str] = stands


class ReportStatus(StrEnum):
    """What was said to a step."""

    DONE = "done"
    # It goes on by itself; `reference` is what to poll it by.
    ACCEPTED = "accepted"
    # Nothing has happened, and it may be tried again.
    RETRY = "retry"
    # Nothing has happened, and nothing will.
    REFUSED = "refused"
    # Nothing has happened: the permission was withdrawn before the first command.
    NOT_STARTED = "not_begun"
    # It may have happened, or may happen yet.
    UNKNOWN = "unknown"

    @property
    def is_without_effect(self) -> bool:
        """Whether it certainly had no effect at the scheduler."""
        return self in (ReportStatus.RETRY, ReportStatus.REFUSED, ReportStatus.NOT_STARTED)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a step."""

    status: ReportStatus
    # Without secrets.
    text: str = ""
    reference: str = ""
    again_after_s: float | None = None
    # Of a test that measures.
    measured: Measured | None = None


class Recovery(StrEnum):
    """The outcome of a started operation, judged by what is observed."""

    DONE = "done"
    # It has not happened, and cannot happen any more.
    REDO = "redo"
    UNKNOWN = "unknown"


class StartedStep(msgspec.Struct, frozen=True, kw_only=True):
    """What the journal knows of an operation whose end it does not know."""

    step: Step
    # Unix seconds; None when it was written down only.
    started: float | None
    report: Report | None = None

    @property
    def is_without_effect(self) -> bool:
        """Whether it certainly had no effect at the scheduler, and will have none."""
        if self.started is None:
            return True
        return self.report is not None and self.report.status.is_without_effect
