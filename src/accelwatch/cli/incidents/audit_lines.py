"""Entries of the journal as people and scripts read them."""

from collections.abc import Iterable

import msgspec

from accelwatch.alerting.incidents.journal.listing import AuditPage, document_of
from accelwatch.alerting.incidents.journal.records import (
    Entry,
    IncidentRecord,
    MaintenanceRecord,
    NoteRecord,
    Record,
    RuleSetRecord,
    SilenceRecord,
    StateRecord,
)
from accelwatch.base.untrusted_text import printable
from accelwatch.schema.timestamps import timestamp

# What is shown of a state's body, where it has it.
_SHOWN_FIELDS = ("stage", "state", "text")


def line(entry: Entry) -> str:
    """One line for people."""
    who = f"{entry.actor}@{entry.address}" if entry.address else entry.actor
    text = f"{entry.sequence:>7}  {timestamp(entry.time)}  {who:10}  {_summary(entry.record)}"
    return printable(text.rstrip()) + "\n"


def _summary(record: Record) -> str:
    return " ".join(filter(None, _columns(record)))


def _columns(record: Record) -> tuple[str, ...]:
    match record:
        case IncidentRecord(incident):
            return (
                "incident",
                incident.id,
                incident.state,
                incident.severity,
                incident.entity.node,
                incident.title,
            )
        case SilenceRecord(silence):
            return ("silence", silence.id, "until", timestamp(silence.ends), silence.reason)
        case MaintenanceRecord(window):
            return ("maintenance", window.id, *window.nodes, window.reason)
        case NoteRecord(subject, text):
            return ("note", subject, text)
        case RuleSetRecord(digest, _, count):
            return ("rules", f"{count} in force", digest[:12])
        case StateRecord():
            return (record.kind, record.key, record.node, record.incident, *_of_body(record))


def _of_body(record: StateRecord) -> list[str]:
    if record.is_gone:
        return ["gone"]
    body = msgspec.json.decode(record.body)
    if not isinstance(body, dict):
        return []
    inner = body.get(record.kind)
    fields = inner if isinstance(inner, dict) else body
    return [str(fields[name]) for name in _SHOWN_FIELDS if fields.get(name)]


def documents(entries: Iterable[Entry]) -> bytes:
    """One JSON document; `record` is what was written, with Unix seconds."""
    page = AuditPage(entries=tuple(map(document_of, entries)))
    return msgspec.json.format(msgspec.json.encode(page), indent=1) + b"\n"
