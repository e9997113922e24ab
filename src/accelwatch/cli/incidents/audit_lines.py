"""Entries of the journal as people and scripts read them."""

from collections.abc import Iterable

import msgspec

from accelwatch.alerting.incidents.journal.listing import AuditPage, document_of
from accelwatch.alerting.incidents.journal.records import (
    GONE,
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
from accelwatch.schema.moments import timestamp

_TOLD = ("stage", "state", "text")
"""What is shown of a state's body, where it has it."""


def line(entry: Entry) -> str:
    """One line for people."""
    who = f"{entry.actor}@{entry.address}" if entry.address else entry.actor
    text = f"{entry.sequence:>7}  {timestamp(entry.time)}  {who:10}  {_told(entry.record)}"
    return printable(text.rstrip()) + "\n"


def _told(record: Record) -> str:
    return " ".join(filter(None, _words(record)))


def _words(record: Record) -> tuple[str, ...]:
    match record:
        case IncidentRecord(one):
            return ("incident", one.id, one.state, one.severity, one.entity.node, one.title)
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
    if bytes(record.body) == bytes(GONE):
        return ["gone"]
    body = msgspec.json.decode(record.body)
    if not isinstance(body, dict):
        return []
    inner = body.get(record.kind)
    known = inner if isinstance(inner, dict) else body
    return [str(known[name]) for name in _TOLD if known.get(name)]


def documents(entries: Iterable[Entry]) -> bytes:
    """One JSON document; `record` is what was written, with Unix seconds."""
    told = AuditPage(entries=tuple(map(document_of, entries)))
    return msgspec.json.format(msgspec.json.encode(told), indent=1) + b"\n"
