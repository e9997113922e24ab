"""A rule file as it is written: the shapes of its YAML, which the published JSON Schema is made from.

Durations are text (`90s`, `5m`, `24h`) or seconds; `loading` turns a document into checked rules.
"""

from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta, field

_DURATION = r"^\s*(\d+(\.\d+)?|\.\d+)\s*(ms|s|m|h|d)?\s*$"
# Seconds, or text with a unit.
Duration = (
    Annotated[str, Meta(extra_json_schema={"pattern": _DURATION})]
    | Annotated[int, Meta(ge=0)]
    | Annotated[float, Meta(ge=0)]
)

VERSION = 1


class Scope(StrEnum):
    """What a rule is judged for: there is one answer for each of these."""

    DEVICE = "device"
    NODE = "node"
    JOB = "job"
    RACK = "rack"


class Severity(StrEnum):
    """How loud an incident is; from `critical` on it wakes somebody."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def weight(self) -> int:
        """Greater is worse."""
        return list(Severity).index(self)


class Confidence(StrEnum):
    """How sure a rule is; with `mode: auto`, whether it acts without approval (`act_on`)."""

    HIGH = "high"
    LOW = "low"

    def suffices(self, act_on: "Confidence") -> bool:
        """Whether a rule that is so sure acts without a person's approval."""
        return self is Confidence.HIGH or act_on is Confidence.LOW


def how_sure(confidence: str, act_on: str) -> str:
    """For people: how sure a rule is, and whether it needs that to act without approval."""
    note = " (act_on: low)" if act_on == Confidence.LOW else ""
    return f"confidence {confidence}{note}"


class Mode(StrEnum):
    """How far a rule may go; the site's ceiling caps it."""

    OFF = "off"
    OBSERVE = "observe"
    APPROVE = "approve"
    AUTO = "auto"

    @property
    def reach(self) -> int:
        """Greater goes further."""
        return list(Mode).index(self)


class Trust(StrEnum):
    """Which readings may make a rule act: those of authenticated sources, or any."""

    AUTHENTICATED = "authenticated"
    ANY = "any"


class Advice(StrEnum):
    """What mends it, in one word (the output contract of the back-test has these words)."""

    NONE = "none"
    # The job, on the same nodes.
    RESTART = "restart"
    RESET = "reset"
    REBOOT = "reboot"
    REPLACE = "replace"
    # Remove the node from service.
    EXCLUDE = "exclude"
    # Until a group's cause clears.
    WAIT = "wait"


class QuarantineLevel(StrEnum):
    """What is quarantined."""

    NODE = "node"
    DEVICE = "device"


class When(StrEnum):
    """When it is quarantined."""

    NOW = "now"
    AFTER_JOB = "after_job"
    AT_CHECKPOINT = "at_checkpoint"


class JobPolicy(StrEnum):
    """What happens to the job."""

    NOTHING = "nothing"
    NOTIFY = "notify"
    REQUEUE = "requeue"
    # The job's own launcher swaps the node before its next cycle.
    IN_JOB = "in_job"
    CANCEL = "cancel"


class Fence(StrEnum):
    """What must be proven of the old copy of a job before another one runs."""

    REQUIRE = "require"
    JOB = "job"
    NONE = "none"


class Quarantine(msgspec.Struct, frozen=True, kw_only=True):
    """`action.quarantine`."""

    level: QuarantineLevel = QuarantineLevel.NODE
    when: When = When.AFTER_JOB


class JobAction(msgspec.Struct, frozen=True, kw_only=True):
    """`action.job`."""

    policy: JobPolicy = JobPolicy.NOTIFY
    # The signal for a checkpoint, such as `USR1`; empty: none is sent.
    signal: str = ""
    grace: Duration = 0


class Spare(msgspec.Struct, frozen=True, kw_only=True):
    """`action.spare`."""

    draw: bool = False


class DeadlinesDocument(msgspec.Struct, frozen=True, kw_only=True):
    """`action.deadlines`: after which a person is notified of what still waits; it goes on waiting."""

    # For the jobs to leave the node, and for what comes after that to begin.
    drain: Duration = "30m"
    # For one job to run elsewhere.
    move: Duration = "10m"
    fence: Duration = "5m"
    # For one reset, reboot or power cycle.
    reboot: Duration = "20m"
    # For one test, and for a verification besides its passive time and its tests.
    test: Duration = "15m"


class ActionDocument(msgspec.Struct, frozen=True, kw_only=True):
    """`action`: what would be done; it is checked when it is loaded."""

    quarantine: Quarantine | None = None
    job: JobAction | None = None
    spare: Spare | None = None
    fence: Fence = Fence.REQUIRE
    # Rungs of the ladder: a word, or a word with its limits (`{power_cycle: {max: 1}}`).
    remedy: list[Any] = []
    # `{passive: 10m}` or `{active: name of a test}`.
    verify: list[dict[str, Any]] = []
    probation: Duration = 0
    deadlines: DeadlinesDocument = DeadlinesDocument()


class GroupDocument(msgspec.Struct, frozen=True, kw_only=True):
    """`group`: so many at once are one incident with one cause, and no quarantine."""

    # `rack`, `job`, `node`, `model`, `stage`, `driver_version`, `fleet` or a label (`labels.pdu`).
    by: str = "fleet"
    at_least: Annotated[int, Meta(ge=2, le=10000)] = 3
    within: Duration = "5m"
    # So long must nothing of the group be seen before it is over.
    calm: Duration = "10m"
    # Of the group, where that is something else than of one.
    what_to_do: str = ""


class CanaryDocument(msgspec.Struct, frozen=True, kw_only=True):
    """`canary`: a new or changed rule acts on a share of the fleet and observes on the rest."""

    share: str = "5%"
    for_: Duration = field(default="24h", name="for")


class CaseDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One of a rule's own tests; docs/rules.md explains the series."""

    name: str
    every: Duration = "10s"
    given: list[dict[str, Any]] = []
    expect: dict[str, Any] = {}


class RuleDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One rule as it is written."""

    id: str
    title: str
    when: str
    scope: Scope = Scope.DEVICE
    # Rules of one family are one incident of an entity; else the id is its own family.
    family: str = ""
    # Fields with a value or a list of values, `labels` among them; or an expression.
    select: Annotated[Any, Meta(extra_json_schema={"type": ["object", "string"]})] = {}
    confirm: str = ""
    for_: Duration = field(default=0, name="for")
    clear: str = ""
    keep: Duration | None = None
    unknown_after: Duration | None = None
    cooldown: Duration | None = None
    severity: Severity = Severity.WARNING
    confidence: Confidence = Confidence.LOW
    # How sure the rule must be to act without approval; `low`: it always is.
    act_on: Confidence = Confidence.HIGH
    # A bare `off` is `false` in YAML.
    mode: Mode | bool | None = None
    trust: Trust | None = None
    advice: Advice = Advice.NONE
    # A sentence for who is woken.
    what_to_do: str = ""
    # An expression that is a text, such as `health_reason`: it follows the title of an incident.
    detail: str = ""
    # Expressions whose values are shown as evidence; else those of the condition.
    show: list[str] = []
    action: ActionDocument | None = None
    group: GroupDocument | None = None
    canary: CanaryDocument | None = None
    # An agent whose hub is silent notifies of this rule itself.
    local: bool = False
    runbook: str = ""
    source: str = ""
    tests: list[CaseDocument] = []


class Defaults(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for the rules of a file that say nothing else."""

    mode: Mode | bool = Mode.OBSERVE
    keep: Duration = "2m"
    cooldown: Duration = "30m"
    unknown_after: Duration = "10m"
    trust: Trust = Trust.AUTHENTICATED


class AmendmentDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What a site says of rules that stand elsewhere, such as those of a pack."""

    # Ids; one that ends with `*` stands for all that begin so.
    rules: list[str] = []
    mode: Mode | bool | None = None
    act_on: Confidence | None = None
    trust: Trust | None = None
    action: ActionDocument | None = None
    canary: CanaryDocument | None = None


class ProfileDocument(msgspec.Struct, frozen=True, kw_only=True):
    """How far rules may go where an expression over labels holds; the first that fits counts."""

    # Empty: everything.
    when: str = ""
    ceiling: str = "observe"


class FileDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A whole rule file."""

    version: Annotated[int, Meta(ge=1, le=VERSION)]
    defaults: Defaults = Defaults()
    profiles: list[ProfileDocument] = []
    amend: list[AmendmentDocument] = []
    rules: list[RuleDocument] = []
