"""What a step comes to: records to commit first, then intents to begin or end, and notes for people."""

from enum import StrEnum

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.remediation.policy.context.records import StateRecord
from accelwatch.remediation.policy.state.model import RemedyState


class Loudness(StrEnum):
    """Whom a note is for."""

    # Only for who reads the incident's page.
    LOG = "log"
    # It belongs into the incident's message.
    NOTIFY = "tell"
    # A person has to do something.
    ALERT = "alert"


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A line for people about one node's remedy, or about all."""

    text: str
    loudness: Loudness
    node: str = ""
    incident: str = ""
    # Who caused it, where a person did.
    actor: str = ""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a step comes to. Nothing of it may be done before the records are on disk."""

    state: RemedyState
    records: tuple[StateRecord, ...] = ()
    pursue: tuple[Intent, ...] = ()
    cancel: tuple[Intent, ...] = ()
    notes: tuple[Note, ...] = ()
