"""What the journal writes: a record each, from which every table of the state can be made again."""

import msgspec

from accelwatch.alerting.incidents.model.incident import ENGINE, Incident
from accelwatch.alerting.incidents.model.silence import Maintenance, Silence

# Bytes of the body of a state.
MOST_BODY = 64 * 1024
# The body of what does not stand any more.
GONE = msgspec.Raw(b"null")
_ENCODER = msgspec.json.Encoder(order="deterministic")


class IncidentRecord(msgspec.Struct, frozen=True, tag="incident"):
    """An incident as it stands from now on."""

    incident: Incident


class SilenceRecord(msgspec.Struct, frozen=True, tag="silence"):
    """A silence that is set or changed; a silence that ends before its start is revoked."""

    silence: Silence


class MaintenanceRecord(msgspec.Struct, frozen=True, tag="maintenance"):
    """A window of maintenance, likewise."""

    window: Maintenance


class NoteRecord(msgspec.Struct, frozen=True, tag="note"):
    """What somebody or something has done that has no table of its own."""

    subject: str
    text: str


class RuleSetRecord(msgspec.Struct, frozen=True, tag="rules"):
    """The rules that are in force from now on."""

    digest: str
    files: tuple[str, ...]
    count: int


class StateRecord(msgspec.Struct, frozen=True, tag="state"):
    """How something that belongs to whoever wrote it stands from now on; the journal keeps it only."""

    # What it is: `remedy`, `operation`, `hold`, ...
    kind: str
    key: str
    # JSON, at most MOST_BODY bytes; GONE for what does not stand any more.
    body: msgspec.Raw = GONE
    # Unix seconds after which it need not be known any more; None while it stands.
    until: float | None = None
    # What no other row may claim at the same time, `node:n12`; a batch that does is refused.
    claim: str = ""
    incident: str = ""
    node: str = ""

    @property
    def is_gone(self) -> bool:
        """Whether it does not stand any more."""
        return bytes(self.body) == bytes(GONE)


Record = (
    IncidentRecord | SilenceRecord | MaintenanceRecord | NoteRecord | RuleSetRecord | StateRecord
)


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the journal; times in Unix seconds."""

    sequence: int
    time: float
    # Who did it: a person, or `engine`.
    actor: str
    # Where that person's request came from; empty where none came over a network.
    address: str = ""
    record: Record
    # SHA-256 over the hash before and what stands here, in hexadecimal.
    hash: str = ""


class Batch(msgspec.Struct, kw_only=True):
    """What is written together or not at all."""

    time: float
    records: list[Record] = []
    actor: str = ENGINE
    # Where a person's request came from.
    address: str = ""
    # Fingerprints of events that were judged, and until when (Unix seconds) they are remembered.
    fingerprints: dict[str, float] = {}
    # Messages by incident and sink, as the sender encodes them; None for those that are done.
    # They are no entries of the journal: they change with every attempt.
    outbox: dict[tuple[str, str], bytes | None] = {}


class Loaded(msgspec.Struct, kw_only=True):
    """What the journal knows when it is opened."""

    # Those that are open, and those closed lately.
    incidents: list[Incident] = []
    silences: list[Silence] = []
    windows: list[Maintenance] = []
    fingerprints: dict[str, float] = {}
    outbox: list[bytes] = []
    # Without `until` that is over.
    states: list[StateRecord] = []
    # The greatest number that an incident, silence or window has.
    number: int = 0


def encoded(value: msgspec.Struct) -> bytes:
    """A record, or what it is of, as the tables have it; the same value is always the same bytes."""
    return _ENCODER.encode(value)


def key_of(record: Record) -> tuple[str, ...]:
    """Table and key of what a record says; empty for what only happened."""
    match record:
        case IncidentRecord(incident):
            return "incident", incident.id
        case SilenceRecord(silence):
            return "silence", silence.id
        case MaintenanceRecord(window):
            return "maintenance", window.id
        case StateRecord():
            return "state", record.kind, record.key
        case _:
            return ()


def number_of(id_: str) -> int:
    """The number in `i42`, `s7` or `m3`; 0 for what has none."""
    digits = id_[1:]
    return int(digits) if digits.isascii() and digits.isdigit() else 0
