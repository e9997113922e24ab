"""What a step comes to: records to commit first, then intents to begin or end, and notes for people."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.remedy.model import (
    Boundary,
    Denied,
    Override,
    Remedy,
    RemedyState,
    Stop,
    Veto,
)


class RemedyRecord(msgspec.Struct, frozen=True, kw_only=True, tag="remedy"):
    """The remedy of a node as it stands from now on."""

    node: str
    remedy: Remedy | None
    """None: it is over."""


class OverrideRecord(msgspec.Struct, frozen=True, kw_only=True, tag="override"):
    """A person undid what we did to a node."""

    node: str
    override: Override | None


class BoundaryRecord(msgspec.Struct, frozen=True, kw_only=True, tag="recovered"):
    """A person declared a node mended."""

    node: str
    boundary: Boundary | None


class VetoRecord(msgspec.Struct, frozen=True, kw_only=True, tag="veto"):
    """A person's wish that nothing be done to a node; None: taken back."""

    node: str
    veto: Veto | None


class DeniedRecord(msgspec.Struct, frozen=True, kw_only=True, tag="denied"):
    """A person's no to a plan."""

    node: str
    denied: Denied | None


class StopRecord(msgspec.Struct, frozen=True, kw_only=True, tag="stop"):
    """Everything is stopped; None: it goes on."""

    stop: Stop | None


class ChoreRecord(msgspec.Struct, frozen=True, kw_only=True, tag="chore"):
    """Something to be given back; None: it was."""

    key: str
    intent: Intent | None


class LingeringRecord(msgspec.Struct, frozen=True, kw_only=True, tag="lingering"):
    """An intent that is not wanted any more; None: its end is known."""

    node: str
    intent: Intent | None


class ForgottenRecord(msgspec.Struct, frozen=True, kw_only=True, tag="forgotten"):
    """A mark of ours that is left alone; empty: not any more."""

    node: str
    incident: str


class StartedRecord(msgspec.Struct, frozen=True, kw_only=True, tag="engine"):
    """An engine has begun."""

    token: int
    at: float


StateRecord = (
    RemedyRecord
    | OverrideRecord
    | BoundaryRecord
    | VetoRecord
    | DeniedRecord
    | StopRecord
    | ChoreRecord
    | LingeringRecord
    | ForgottenRecord
    | StartedRecord
)


class Loudness(StrEnum):
    """Whom a note is for."""

    LOG = "log"
    """Only for who reads the incident's page."""
    TELL = "tell"
    """It belongs into the incident's message."""
    ALERT = "alert"
    """A person has to do something."""


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A line for people about one node's remedy, or about all."""

    text: str
    loudness: Loudness
    node: str = ""
    incident: str = ""
    actor: str = ""
    """Who caused it, where a person did."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a step comes to. Nothing of it may be done before the records are on disk."""

    state: RemedyState
    records: tuple[StateRecord, ...] = ()
    pursue: tuple[Intent, ...] = ()
    cancel: tuple[Intent, ...] = ()
    notes: tuple[Note, ...] = ()


_TABLES = {
    RemedyRecord: ("remedies", "node", "remedy"),
    OverrideRecord: ("overrides", "node", "override"),
    BoundaryRecord: ("boundaries", "node", "boundary"),
    VetoRecord: ("vetoes", "node", "veto"),
    DeniedRecord: ("denied", "node", "denied"),
    ChoreRecord: ("chores", "key", "intent"),
    LingeringRecord: ("lingering", "node", "intent"),
    ForgottenRecord: ("forgotten", "node", "incident"),
}
"""Record -> the state's table, and which fields are key and value; a false value takes the row out."""


def replay(state: RemedyState, record: StateRecord) -> RemedyState:
    """The state after a record of the journal: folded over all records it is the state but `world`."""
    if isinstance(record, StartedRecord):
        return msgspec.structs.replace(state, token=record.token, started=record.at)
    if isinstance(record, StopRecord):
        return msgspec.structs.replace(state, stop=record.stop)
    table, key_name, value_name = _TABLES[type(record)]
    rows: Mapping[str, object] = getattr(state, table)
    key, value = getattr(record, key_name), getattr(record, value_name)
    changed = {known: row for known, row in rows.items() if known != key}
    if value:
        changed[key] = value
    return msgspec.structs.replace(state, **{table: changed})
