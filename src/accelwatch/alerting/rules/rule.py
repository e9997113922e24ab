"""A checked rule: what a document means, with its expressions compiled and its durations in seconds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from accelwatch.alerting.rules.document import (
    Advice,
    CaseDocument,
    Confidence,
    Fence,
    JobPolicy,
    Mode,
    QuarantineLevel,
    Scope,
    Severity,
    Trust,
    When,
)
from accelwatch.alerting.rules.timing import Timing
from accelwatch.expr.checking.tree import Event, walk
from accelwatch.expr.needs import Needs
from accelwatch.expr.rule import RuleExpression
from accelwatch.expr.vocabulary.detector_names import DETECTOR_FIELDS


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationStep:
    """One step of the ladder of remedies."""

    name: str
    # How often it is tried before the next rung.
    most: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """After how many seconds a person is notified of what still waits."""

    # For the jobs to leave the node, and for what comes after that to begin.
    drain_s: float = 1800.0
    # For one job to run elsewhere.
    move_s: float = 600.0
    fence_s: float = 300.0
    # For one reset, reboot or power cycle.
    reboot_s: float = 1200.0
    # For one test, and for a verification besides its passive time and its tests.
    test_s: float = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What would be done about an incident."""

    quarantine: QuarantineLevel | None = None
    quarantine_when: When = When.AFTER_JOB
    job: JobPolicy = JobPolicy.NOTHING
    signal: str = ""
    grace_s: float = 0.0
    draw_spare: bool = False
    fence: Fence = Fence.REQUIRE
    remedy: tuple[EscalationStep, ...] = ()
    verify_passive_s: float = 0.0
    # Names of tests.
    verify_active: tuple[str, ...] = ()
    probation_s: float = 0.0
    deadlines: Deadlines = Deadlines()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """From how many entities on, and within which time, it is one incident of a group."""

    by: str
    at_least: int
    within_s: float
    calm_s: float
    # Of the group; empty where it is what is done about one of them.
    what_to_do: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """On which share of the fleet (0 to 1) a new rule acts, and for how long only there."""

    share: float
    for_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a rule is written."""

    file: Path
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule, ready to be judged."""

    id: str
    title: str
    scope: Scope
    family: str
    # Whom it is about; an entity of which this is not True is never judged.
    select: RuleExpression | None
    when: RuleExpression
    # A second, independent reading that must be True as well before it fires.
    confirm: RuleExpression | None
    clear: RuleExpression | None
    timing: Timing
    cooldown_s: float
    severity: Severity
    confidence: Confidence
    mode: Mode
    trust: Trust
    advice: Advice
    what_to_do: str
    show: tuple[RuleExpression, ...]
    action: Action | None
    group: Grouping | None
    canary: Canary | None
    local: bool
    runbook: str
    source: str
    origin: Origin
    # A text that follows the title of an incident.
    detail: RuleExpression | None = None
    # How sure it must be to act without a person's approval.
    act_on: Confidence = Confidence.HIGH
    # SHA-256 of what it says, without its tests: an incident keeps it.
    digest: str
    tests: tuple[CaseDocument, ...] = field(default=(), repr=False)
    # Where its action is written, if that is an amendment.
    action_origin: Origin | None = field(default=None, repr=False)

    @property
    def expressions(self) -> tuple[RuleExpression, ...]:
        """All expressions of the rule."""
        expressions = (self.select, self.when, self.confirm, self.clear, self.detail, *self.show)
        return tuple(expression for expression in expressions if expression is not None)

    @property
    def needs_detector(self) -> bool:
        """Whether it reads what a detector finds."""
        return any(each.needs.fields & DETECTOR_FIELDS.keys() for each in self.expressions)

    @property
    def counts_until_boot(self) -> bool:
        """Whether its event is so for as long as it fires: a boot ends it, and no time does."""
        return any(isinstance(node, Event) and node.until_boot for node in walk(self.when.tree))


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How far rules may go where `when` holds; None holds everywhere."""

    when: RuleExpression | None
    ceiling: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """All rules that are in force, by id, in the order of their files."""

    rules: Mapping[str, Rule]
    profiles: tuple[Profile, ...] = ()
    digest: str = ""
    files: tuple[Path, ...] = ()


def enabled_rules(rules: Mapping[str, Rule]) -> dict[str, Rule]:
    """Those of the rules that are not off."""
    return {id_: rule for id_, rule in rules.items() if rule.mode is not Mode.OFF}


def needs_of(rules: Iterable[Rule]) -> Needs:
    """All that rules read."""
    needs = Needs()
    for rule in rules:
        for expression in rule.expressions:
            needs |= expression.needs
    return needs
