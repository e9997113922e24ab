"""Entries of the journal for who looks through them: those about a node or an incident, as documents."""

from collections.abc import Iterable

import msgspec

from accelwatch.alerting.incidents.journal.records import (
    Entry,
    IncidentRecord,
    MaintenanceRecord,
    NoteRecord,
    Record,
    StateRecord,
)
from accelwatch.schema.timestamps import timestamp

# Entries that are looked through for one page.
MOST_SCANNED = 20_000
# Of the records of one page, about.
_MOST_BYTES = 4 << 20


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry."""

    sequence: int
    # RFC 3339.
    time: str
    # Who did it: a person, `link:` and a sink, or `engine`.
    actor: str
    # Where his request came from; null where none came over a network.
    address: str | None
    # What was written, an object with its `type`, and Unix seconds.
    record: msgspec.Raw
    # SHA-256 over the hash before and what stands here, in hexadecimal.
    hash: str


class AuditPage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Entries of the journal."""

    entries: tuple[AuditEntry, ...]
    # The cursor of the page after this one; absent where there is none.
    next: str | None = None


def document_of(entry: Entry) -> AuditEntry:
    """An entry as the API returns it."""
    return AuditEntry(
        sequence=entry.sequence,
        time=timestamp(entry.time),
        actor=entry.actor,
        address=entry.address or None,
        record=msgspec.Raw(msgspec.json.encode(entry.record)),
        hash=entry.hash,
    )


def page_of(
    newest_first: Iterable[Entry],
    *,
    since: float | None,
    node: str | None,
    incident: str | None,
    limit: int,
) -> AuditPage:
    """The first entries that fit, newest first; `since` in Unix seconds.

    After so many that do not fit the page ends, and the next one goes on.
    """
    chosen: list[AuditEntry] = []
    size = 0
    for scanned, entry in enumerate(newest_first):
        if since is not None and entry.time < since:
            break
        if len(chosen) >= limit or size >= _MOST_BYTES or scanned >= MOST_SCANNED:
            return AuditPage(entries=tuple(chosen), next=str(entry.sequence + 1))
        if about(entry.record, node, incident):
            chosen.append(document_of(entry))
            size += len(bytes(chosen[-1].record))
    return AuditPage(entries=tuple(chosen))


def about(record: Record, node: str | None, incident: str | None) -> bool:
    """Whether a record is about a node and an incident, where these are given."""
    nodes, incidents = _subjects(record)
    return (node is None or node in nodes) and (incident is None or incident in incidents)


def _subjects(record: Record) -> tuple[set[str], set[str]]:
    match record:
        case IncidentRecord(incident):
            related = {incident.id, incident.group, *incident.members}
            return {incident.entity.node, *incident.nodes}, related
        case MaintenanceRecord(window):
            return set(window.nodes), set()
        case NoteRecord(subject):
            return {subject}, {subject}
        case StateRecord():
            return {record.node}, {record.incident}
        case _:
            return set(), set()
