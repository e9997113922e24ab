"""What a step comes to: records to commit first, then intents to begin or end, and notes for people."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.remediation.policy.guards.attempts import AttemptState
from accelwatch.remediation.policy.guards.breaker import BreakerState
from accelwatch.remediation.policy.guards.budget import BudgetState
from accelwatch.remediation.policy.guards.canary import CanaryState
from accelwatch.remediation.policy.guards.retry import RetryState
from accelwatch.remediation.policy.state.model import (
    Boundary,
    Denied,
    Departed,
    Override,
    Remedy,
    RemedyState,
    Stop,
    Veto,
)
from accelwatch.remediation.policy.state.relapses import Relapses
from accelwatch.remediation.policy.state.score import ScoreState
from accelwatch.remediation.policy.state.spares import SpareState


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


class DepartedRecord(msgspec.Struct, frozen=True, kw_only=True, tag="departed"):
    """A job has left its nodes; None: that matters no more."""

    key: str
    departed: Departed | None


class LingeringRecord(msgspec.Struct, frozen=True, kw_only=True, tag="lingering"):
    """An intent that is not wanted any more; None: its end is known."""

    node: str
    intent: Intent | None


class ForgottenRecord(msgspec.Struct, frozen=True, kw_only=True, tag="forgotten"):
    """A mark of ours that is left alone; None: not any more."""

    node: str
    incident: str | None


class RelapsesRecord(msgspec.Struct, frozen=True, kw_only=True, tag="relapses"):
    """How often a node has failed again soon after it was given back; None: that matters no more."""

    node: str
    relapses: Relapses | None


class StartedRecord(msgspec.Struct, frozen=True, kw_only=True, tag="engine"):
    """An engine has begun."""

    token: int
    at: float


class BudgetRecord(msgspec.Struct, frozen=True, kw_only=True, tag="budget"):
    """What is taken of the budget."""

    budget: BudgetState


class BreakerRecord(msgspec.Struct, frozen=True, kw_only=True, tag="breaker"):
    """How the breaker stands."""

    breaker: BreakerState


class AttemptsRecord(msgspec.Struct, frozen=True, kw_only=True, tag="attempts"):
    """What was tried."""

    attempts: AttemptState


class CanaryRecord(msgspec.Struct, frozen=True, kw_only=True, tag="canary"):
    """Since when the rules are as they are."""

    canary: CanaryState


class ScoresRecord(msgspec.Struct, frozen=True, kw_only=True, tag="scores"):
    """How often what has failed."""

    scores: ScoreState


class SparesRecord(msgspec.Struct, frozen=True, kw_only=True, tag="spares"):
    """Where the spares have got to."""

    spares: SpareState


class RetriesRecord(msgspec.Struct, frozen=True, kw_only=True, tag="retries"):
    """How often which job was begun again."""

    retries: RetryState


StateRecord = (
    RemedyRecord
    | OverrideRecord
    | BoundaryRecord
    | VetoRecord
    | DeniedRecord
    | StopRecord
    | ChoreRecord
    | DepartedRecord
    | LingeringRecord
    | ForgottenRecord
    | RelapsesRecord
    | StartedRecord
    | BudgetRecord
    | BreakerRecord
    | AttemptsRecord
    | CanaryRecord
    | ScoresRecord
    | SparesRecord
    | RetriesRecord
)


class Loudness(StrEnum):
    """Whom a note is for."""

    LOG = "log"
    """Only for who reads the incident's page."""
    NOTIFY = "tell"
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
    DepartedRecord: ("departed", "key", "departed"),
    LingeringRecord: ("lingering", "node", "intent"),
    ForgottenRecord: ("forgotten", "node", "incident"),
    RelapsesRecord: ("relapses", "node", "relapses"),
}
"""Record -> the state's table, and which of its fields are key and value; None takes the row out."""
_FIELDS = {
    StopRecord: "stop",
    BudgetRecord: "budget",
    BreakerRecord: "breaker",
    AttemptsRecord: "attempts",
    CanaryRecord: "canary",
    ScoresRecord: "scores",
    SparesRecord: "spares",
    RetriesRecord: "retries",
}
"""Record -> the field of the state that it replaces, of the same name as its own."""
_BY_TABLE = {table: (kind, key, value) for kind, (table, key, value) in _TABLES.items()}
_BY_FIELD = {field: kind for kind, field in _FIELDS.items()}


def replay(state: RemedyState, record: StateRecord) -> RemedyState:
    """The state after a record of the journal: folded over all records it is the state but `world`."""
    if isinstance(record, StartedRecord):
        return msgspec.structs.replace(state, token=record.token, started=record.at)
    field = _FIELDS.get(type(record))
    if field is not None:
        return msgspec.structs.replace(state, **{field: getattr(record, field)})
    table, key_name, value_name = _TABLES[type(record)]
    rows: Mapping[str, object] = getattr(state, table)
    key, value = getattr(record, key_name), getattr(record, value_name)
    changed = {row_key: row for row_key, row in rows.items() if row_key != key}
    if value is not None:
        changed[key] = value
    return msgspec.structs.replace(state, **{table: changed})


def record_of(before: RemedyState, after: RemedyState, table: str, key: str) -> StateRecord | None:
    """The record of one row, or of one field with an empty key; None where nothing has changed."""
    if table == "started":
        return StartedRecord(token=after.token, at=after.started or 0.0)
    if not key:
        if getattr(before, table) == getattr(after, table):
            return None
        record: StateRecord = _BY_FIELD[table](**{table: getattr(after, table)})
        return record
    kind, key_name, value_name = _BY_TABLE[table]
    value = getattr(after, table).get(key)
    if getattr(before, table).get(key) == value:
        return None
    made: StateRecord = kind(**{key_name: key, value_name: value})
    return made
