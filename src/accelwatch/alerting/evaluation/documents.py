"""Incidents and rules as the API tells them, by an agent as by a hub: the structs alone."""

import msgspec


class EvidenceNote(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that an incident rests on."""

    signal: str
    text: str
    value: float | str | None
    expected: float | str | None
    since: str | None
    source: str
    trusted: bool


class TimelineNote(msgspec.Struct, frozen=True, kw_only=True):
    """One line of an incident's history."""

    time: str
    kind: str
    text: str
    actor: str


class MuteNote(msgspec.Struct, frozen=True, kw_only=True):
    """The silence or window of maintenance for which nobody is told of an incident."""

    id: str
    kind: str
    """`silence` or `maintenance`."""
    reason: str
    by: str
    until: str


class IncidentDocument(msgspec.Struct, frozen=True, kw_only=True):
    """An incident; times are RFC 3339, what does not apply is empty or null."""

    id: str
    state: str
    """`open` or `closed`."""
    severity: str
    confidence: str
    rule: str
    rules: tuple[str, ...]
    """Those of its family that fire, the one that weighs most first."""
    family: str
    title: str
    scope: str
    node: str
    device: str
    """Id of the device."""
    device_name: str
    model: str
    serial: str
    vendor: str
    job: str
    rack: str
    group: str
    """Of an incident that many are part of: what they have in common."""
    group_incident: str = msgspec.field(name="part_of")
    """Id of the incident of a group that it is part of."""
    members: tuple[str, ...]
    nodes: tuple[str, ...]
    jobs: tuple[str, ...]
    users: tuple[str, ...]
    labels: dict[str, str]
    since: str
    opened: str
    updated: str
    closed: str | None
    reopened: int
    trusted: bool
    """False when all that it rests on may have been forged by anybody on the node."""
    advice: str
    what_to_do: str
    runbook: str
    source: str
    evidence: tuple[EvidenceNote, ...]
    timeline: tuple[TimelineNote, ...]
    left_to_do: str = ""
    """What a person was called for after its end, and has not been done since."""
    muted_by: MuteNote | None = None
    """Why people are not notified of it; null when they are."""
    follows: str = ""
    """Id of the incident that stands for its cause: of this one nobody is told besides."""
    provenance: str = ""
    """How far its evidence is vouched for: `authenticated`, `plain`, `exporter`, `store`, `pushed` or
    `unknown`; empty from older hubs."""


class DeviceNote(msgspec.Struct, frozen=True, kw_only=True):
    """A device that says itself that something is wrong with it."""

    name: str
    health: str
    """`failed` or `degraded`."""
    text: str
    what_to_do: str = ""


class NodeNote(msgspec.Struct, frozen=True, kw_only=True):
    """The node that an agent looks after; partitions of devices are not counted."""

    host: str
    devices: int
    lost: int
    silent: int
    """Devices that should answer and do not."""
    unhealthy: tuple[DeviceNote, ...] = ()
    """Devices and partitions whose own health is failed or degraded."""
    unread: int = 0
    """Devices that are there while their backend cannot be used."""
    unusable: tuple[str, ...] = ()
    """The backends of those devices, and why each cannot be used."""


class IncidentsPage(msgspec.Struct, frozen=True, kw_only=True):
    """Incidents, ongoing ones first, the latest of each first."""

    evaluated: bool = msgspec.field(name="judged")
    """Whether there are rules at all."""
    rules: int = 0
    """How many rules are in force."""
    digest: str = ""
    """SHA-256 of the rules in force."""
    interval_s: float | None = None
    """How often they are judged."""
    evaluated_age_s: float | None = msgspec.field(name="judged_age_s", default=None)
    """Seconds since they were judged last; null before the first time."""
    notified_by: str = msgspec.field(name="told_by", default="here")
    """Who tells people: `here`; of an agent also `hub`, and `local` while that is silent."""
    problems: tuple[str, ...] = ()
    """What is wrong with the journal, with rules or with alerts."""
    node: NodeNote | None = None
    """Null on a hub."""
    incidents: tuple[IncidentDocument, ...] = ()


class RuleRow(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that is in force."""

    id: str
    title: str
    scope: str
    severity: str
    confidence: str
    act_on: str = "high"
    """How sure it must be to act without a person's approval."""
    mode: str
    family: str
    when: str
    source: str
    file: str
    line: int
    open: int
    """Incidents that it is part of now."""
    cost_us: float
    """Processor time of a judgement of one entity, in microseconds, on average."""
    switched_off: str
    """Why it is not judged; empty if it is."""
    blind: int = 0
    """On how many it has begun, and nothing has been known for longer than its `unknown_after`."""


class RulesPage(msgspec.Struct, frozen=True, kw_only=True):
    """The rules in force, in the order of their files."""

    digest: str
    rules: tuple[RuleRow, ...]
