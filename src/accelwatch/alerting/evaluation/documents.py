"""Incidents and rules as the API of agent and hub returns them: the structs alone."""

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
    """The silence or window of maintenance that mutes an incident."""

    id: str
    # `silence` or `maintenance`.
    kind: str
    reason: str
    by: str
    until: str


class IncidentDocument(msgspec.Struct, frozen=True, kw_only=True):
    """An incident; times are RFC 3339, what does not apply is empty or null."""

    id: str
    # `open` or `closed`.
    state: str
    severity: str
    confidence: str
    rule: str
    # Those of its family that fire, the one that weighs most first.
    rules: tuple[str, ...]
    family: str
    title: str
    scope: str
    node: str
    # Id of the device.
    device: str
    device_name: str
    model: str
    serial: str
    vendor: str
    job: str
    rack: str
    # Of an incident that many are part of: what they have in common.
    group: str
    # Id of the incident of a group that it is part of.
    group_incident: str = msgspec.field(name="part_of")
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
    # False when all that it rests on may have been forged by anybody on the node.
    trusted: bool
    advice: str
    what_to_do: str
    runbook: str
    source: str
    evidence: tuple[EvidenceNote, ...]
    timeline: tuple[TimelineNote, ...]
    # What a person was called for after its end, and has not been done since.
    left_to_do: str = ""
    # Why people are not notified of it; null when they are.
    muted_by: MuteNote | None = None
    # Id of the incident that leads its cause: nobody is notified of this one besides.
    follows: str = ""
    # How far its evidence is vouched for: `authenticated`, `plain`, `exporter`, `store`, `pushed` or
    # `unknown`; empty from older hubs.
    provenance: str = ""


class DeviceNote(msgspec.Struct, frozen=True, kw_only=True):
    """A device that says itself that something is wrong with it."""

    name: str
    # `failed` or `degraded`.
    health: str
    text: str
    what_to_do: str = ""


class NodeNote(msgspec.Struct, frozen=True, kw_only=True):
    """The node that an agent looks after; partitions of devices are not counted."""

    host: str
    devices: int
    lost: int
    # Devices that should answer and do not.
    silent: int
    # Devices and partitions whose own health is failed or degraded.
    unhealthy: tuple[DeviceNote, ...] = ()
    # Devices that are there while their backend cannot be used.
    unread: int = 0
    # The backends of those devices, and why each cannot be used.
    unusable: tuple[str, ...] = ()


class IncidentsPage(msgspec.Struct, frozen=True, kw_only=True):
    """Incidents, ongoing ones first, the latest of each first."""

    # Whether there are rules at all.
    evaluated: bool = msgspec.field(name="judged")
    # How many rules are in force.
    rules: int = 0
    # SHA-256 of the rules in force.
    digest: str = ""
    # How often they are judged.
    interval_s: float | None = None
    # Seconds since they were judged last; null before the first time.
    evaluated_age_s: float | None = msgspec.field(name="judged_age_s", default=None)
    # Who notifies people: `here`; of an agent also `hub`, and `local` while that is silent.
    notified_by: str = msgspec.field(name="told_by", default="here")
    # What is wrong with the journal, with rules or with alerts.
    problems: tuple[str, ...] = ()
    # Null on a hub.
    node: NodeNote | None = None
    incidents: tuple[IncidentDocument, ...] = ()


class RuleRow(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that is in force."""

    id: str
    title: str
    scope: str
    severity: str
    confidence: str
    # How sure it must be to act without a person's approval.
    act_on: str = "high"
    mode: str
    # Seconds for which it has to hold; None of a server that does not say.
    for_s: float | None = None
    family: str
    when: str
    source: str
    file: str
    line: int
    # Incidents that it is part of now.
    open: int
    # Processor time of a judgement of one entity, in microseconds, on average.
    cost_us: float
    # Why it is not judged; empty if it is.
    switched_off: str
    # On how many entities it is active, and has been unknown for longer than its `unknown_after`.
    blind: int = 0


class RulesPage(msgspec.Struct, frozen=True, kw_only=True):
    """The rules in force, in the order of their files."""

    digest: str
    rules: tuple[RuleRow, ...]
