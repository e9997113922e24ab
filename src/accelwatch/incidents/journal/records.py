"""What the journal writes: a record each, from which every table of the state can be made again."""

import msgspec

from accelwatch.incidents.incident import Incident
from accelwatch.incidents.silence import Maintenance, Silence

ENGINE = "engine"
"""The actor where nobody but we have done something."""


class IncidentRecord(msgspec.Struct, frozen=True, tag="incident"):
    """An incident as it stands from now on."""

    incident: Incident


class SilenceRecord(msgspec.Struct, frozen=True, tag="silence"):
    """A silence that is set or changed; one that ends before it began is taken back."""

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


Record = IncidentRecord | SilenceRecord | MaintenanceRecord | NoteRecord | RuleSetRecord


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the journal; times in Unix seconds."""

    sequence: int
    time: float
    actor: str
    """Who did it: a person, or `engine`."""
    record: Record
    hash: str = ""
    """SHA-256 over the hash before and what stands here, in hexadecimal."""


class Batch(msgspec.Struct, kw_only=True):
    """What is written together or not at all."""

    time: float
    records: list[Record] = []
    actor: str = ENGINE
    seen: dict[str, float] = {}
    """Fingerprints of events that were judged, and until when (Unix seconds) they are remembered."""
    outbox: dict[tuple[str, str], bytes | None] = {}
    """What is to be told, by incident and sink, as whoever tells it writes it; None for what is done.
    It is no entry of the journal: what was said to whom changes with every attempt."""


class Loaded(msgspec.Struct, kw_only=True):
    """What the journal knows when it is opened."""

    incidents: list[Incident] = []
    """Those that are open, and those closed lately."""
    silences: list[Silence] = []
    windows: list[Maintenance] = []
    seen: dict[str, float] = {}
    outbox: list[bytes] = []
    number: int = 0
    """The greatest number that an incident, silence or window has."""


def number_of(id_: str) -> int:
    """The number in `i42`, `s7` or `m3`; 0 for what has none."""
    digits = id_[1:]
    return int(digits) if digits.isascii() and digits.isdigit() else 0
