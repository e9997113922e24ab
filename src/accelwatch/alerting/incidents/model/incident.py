"""What an incident is: whom it is about, what it rests on, and what has happened to it so far."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from accelwatch.alerting.rules.document import Advice, Confidence, Severity
from accelwatch.alerting.rules.verdict import Entity, Evidence
from accelwatch.schema.provenance import Provenance

# Lines kept of one incident's history, unless people wrote so many.
MOST_TIMELINE_ENTRIES = 100
# Lines of people in one incident's history; further ones are refused, for none of them is dropped.
MOST_NOTES = 500
# Lines of the engine that are kept beside those of people, however many these are.
_LEAST_OF_ENGINE = 20
# The actor where no person did something.
ENGINE = "engine"
MOST_EVIDENCE = 8
# Nodes named in a group incident.
MOST_NODES = 4096


# Labels that every incident has; `Incident.labels` gives their values.
OWN_LABELS = (
    "id",
    "rule",
    "family",
    "severity",
    "scope",
    "node",
    "device",
    "job",
    "rack",
    "vendor",
    "model",
)


class Facts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is known of an entity besides the rule, when something happens to it."""

    device_name: str = ""
    model: str = ""
    serial: str = ""
    # The device's slot in its node: its PCI address. Empty where it is unknown.
    slot: str = ""
    vendor: str = ""
    driver_version: str = ""
    labels: Mapping[str, str] = {}
    jobs: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    # The nodes of a job or rack; a device or node has its own.
    nodes: tuple[str, ...] = ()


class TimelineKind(StrEnum):
    """What happened to an incident."""

    OPENED = "opened"
    # It became more severe.
    ROSE = "rose"
    # Another rule of the family fires too.
    RULE = "rule"
    # A rule that has fired before fires again, on newer evidence.
    AGAIN = "again"
    BLIND = "blind"
    SEEING = "seeing"
    # It is part of a group's incident.
    JOINED = "joined"
    # One more has joined this group.
    GREW = "grew"
    CLOSED = "closed"
    REOPENED = "reopened"
    # Its rule is gone; a person closes it.
    ORPHANED = "orphaned"
    NOTE = "note"
    # A person has to look: what is done about it does not continue on its own.
    CALL = "call"


class TimelineEntry(msgspec.Struct, frozen=True, gc=False):
    """One line of an incident's history."""

    # Unix seconds.
    time: float
    kind: TimelineKind
    text: str
    # Who did it, where a person did.
    actor: str = ""

    @property
    def of_person(self) -> bool:
        """Whether a person wrote or did this."""
        return self.actor not in ("", ENGINE)


class IncidentState(StrEnum):
    """Whether it is open."""

    OPEN = "open"
    CLOSED = "closed"


class Incident(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One incident as it stands; each change makes a new one of the same id."""

    id: str
    family: str
    # The rule that weighs most.
    rule: str
    # The rules of the family that fire now, that first; of a closed one those that fired last.
    rules: tuple[str, ...]
    rule_digest: str
    title: str
    entity: Entity
    facts: Facts
    severity: Severity
    confidence: Confidence
    advice: Advice
    state: IncidentState = IncidentState.OPEN
    # Unix seconds at which what is wrong began.
    since: float
    opened: float
    updated: float
    closed: float | None = None
    # How often it has come back within its cool-down.
    reopened: int = 0
    evidence: tuple[Evidence, ...] = ()
    # All nodes concerned, the first to be seen first.
    nodes: tuple[str, ...] = ()
    # Id of the incident that this one is part of.
    group: str = ""
    # Ids of the incidents that are part of this one.
    members: tuple[str, ...] = ()
    # Id of the incident that leads those of its cause; empty of that one.
    follows: str = ""
    # Whether it is a group across nodes that no rule configures.
    storm: bool = False
    trusted: bool = True
    # The class of what the rule that weighs most rests on.
    provenance: Provenance = Provenance.UNKNOWN
    what_to_do: str = ""
    runbook: str = ""
    source: str = ""
    timeline: tuple[TimelineEntry, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether it is open."""
        return self.state is IncidentState.OPEN

    @property
    def started_at(self) -> float:
        """When it was opened, or came back last, Unix seconds."""
        if not self.reopened:
            return self.opened
        back = (
            entry.time for entry in reversed(self.timeline) if entry.kind is TimelineKind.REOPENED
        )
        return next(back, self.opened)

    @property
    def left_to_do(self) -> str:
        """The call for a person after its end that no note has answered since; empty otherwise."""
        if self.is_open or self.closed is None:
            return ""
        for entry in reversed(self.timeline):
            if entry.time < self.closed:
                break
            if entry.kind in (TimelineKind.CALL, TimelineKind.NOTE):
                return entry.text if entry.kind is TimelineKind.CALL else ""
        return ""

    def labels(self) -> dict[str, str]:
        """What silences and routes go by: the facts' labels, and words of our own, which count first."""
        own = (
            self.id,
            self.rule,
            self.family,
            self.severity.value,
            self.entity.scope.value,
            self.entity.node,
            self.facts.device_name,
            self.entity.job,
            self.entity.rack or self.facts.labels.get("rack", ""),
            self.facts.vendor,
            self.facts.model,
        )
        return {**self.facts.labels, **dict(zip(OWN_LABELS, own, strict=True))}


def with_entry(incident: Incident, entry: TimelineEntry) -> Incident:
    """The incident with one more line of history; the middle of the engine's goes."""
    timeline = (*incident.timeline, entry)
    if len(timeline) > MOST_TIMELINE_ENTRIES:
        timeline = _shortened(timeline)
    return msgspec.structs.replace(incident, timeline=timeline, updated=entry.time)


def notes(incident: Incident) -> int:
    """How many lines people have written into its history, or done something by."""
    return sum(entry.of_person for entry in incident.timeline)


def _shortened(timeline: tuple[TimelineEntry, ...]) -> tuple[TimelineEntry, ...]:
    """All lines of people, and the first and the newest of the engine's as far as there is room."""
    of_engine = [at for at, entry in enumerate(timeline) if not entry.of_person]
    room = max(MOST_TIMELINE_ENTRIES - (len(timeline) - len(of_engine)), _LEAST_OF_ENGINE)
    dropped = set(of_engine[room - room // 2 : len(of_engine) - room // 2])
    return tuple(entry for at, entry in enumerate(timeline) if at not in dropped)
