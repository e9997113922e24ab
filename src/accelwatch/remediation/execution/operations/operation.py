"""The life of an operation: one step of an action, from being written down to what came of it.

What may follow what stands in a table. A time-out is `unknown`, and `unknown` is left only by what is
observed or by a person's word.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.step import Report, StartedStep, Step
from accelwatch.alerting.incidents.journal.records import StateRecord

# Of its records in the journal.
KIND = "operation"
# How long one that has ended stays in the table; its entries stay as long as all entries.
KEPT_S = 30 * 86_400.0


class OperationState(StrEnum):
    """How far an operation is."""

    # Nothing else begins on the node; nothing has happened.
    RESERVED = "reserved"
    # It may have happened from now on.
    STARTED = "started"
    # There was a response; its effect is not observed yet.
    ANSWERED = "told"
    OBSERVED = "observed"
    # It has not happened, and will not.
    FAILED = "failed"
    UNKNOWN = "unknown"
    # It never started.
    CANCELLED = "cancelled"


class Witness(StrEnum):
    """By what an operation comes to another state."""

    # Whoever carries it out: by an answer, or by having none.
    PURSUIT = "pursuit"
    OBSERVATION = "observation"
    PERSON = "person"


_ANY = frozenset(Witness)
_BY_OBSERVATION = frozenset({Witness.OBSERVATION, Witness.PERSON})
_CARRIED_OUT = frozenset({Witness.PURSUIT})

# What may follow what, and by what; nothing else may.
FOLLOWS: Mapping[tuple[OperationState, OperationState], frozenset[Witness]] = MappingProxyType(
    {
        (OperationState.RESERVED, OperationState.STARTED): _CARRIED_OUT,
        (OperationState.RESERVED, OperationState.CANCELLED): _ANY,
        # What followed may have been lost with the database that it was written to.
        (OperationState.RESERVED, OperationState.UNKNOWN): frozenset({Witness.OBSERVATION}),
        # Only whoever has not yet performed it knows that it never was.
        (OperationState.STARTED, OperationState.CANCELLED): _CARRIED_OUT,
        (OperationState.STARTED, OperationState.ANSWERED): _CARRIED_OUT,
        (OperationState.STARTED, OperationState.UNKNOWN): _ANY,
        (OperationState.STARTED, OperationState.OBSERVED): _BY_OBSERVATION,
        (OperationState.STARTED, OperationState.FAILED): _BY_OBSERVATION,
        (OperationState.ANSWERED, OperationState.OBSERVED): _BY_OBSERVATION,
        (OperationState.ANSWERED, OperationState.FAILED): _ANY,
        (OperationState.ANSWERED, OperationState.UNKNOWN): _ANY,
        (OperationState.UNKNOWN, OperationState.OBSERVED): _BY_OBSERVATION,
        (OperationState.UNKNOWN, OperationState.FAILED): _BY_OBSERVATION,
    }
)

# In which nobody knows its end yet: nothing else begins on its node.
OPEN = frozenset(before for before, _ in FOLLOWS)


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One step of an action, and how far it is; times in Unix seconds."""

    # Never reused: an action that gets it twice gets the same operation.
    id: str
    # The action's name in the configuration.
    action: str
    intent: Intent
    step: Step
    # From 1, of the steps of its kind for its intent.
    attempt: int
    state: OperationState = OperationState.RESERVED
    reserved: float
    # Of the journal's lease by which it was reserved; 0 where only one process can write.
    token: int = 0
    started: float | None = None
    # What its action has reported of it last. Journals call it so.
    report: Report | None = msgspec.field(default=None, name="told")
    # When it was reported.
    answered: float | None = None
    ended: float | None = None
    # For people: how it came to its state.
    text: str = ""
    # The person by whose word it did.
    by: str = ""

    @property
    def is_open(self) -> bool:
        """Whether nobody knows its end yet."""
        return self.state in OPEN

    @property
    def started_step(self) -> StartedStep:
        """What its action judges it by."""
        return StartedStep(step=self.step, started=self.started, report=self.report)


class WrongOrderError(ValueError):
    """An operation cannot come from one state to another so: a mistake of ours."""


def advanced(
    operation: Operation,
    to: OperationState,
    *,
    now: float,
    by: Witness = Witness.PURSUIT,
    report: Report | None = None,
    text: str = "",
    person: str = "",
) -> Operation:
    """The operation in another state. Raises WrongOrderError for what the table does not have."""
    if by not in FOLLOWS.get((operation.state, to), frozenset()):
        raise WrongOrderError(
            f"operation {operation.id}: {to} cannot follow {operation.state} by {by}"
        )
    return msgspec.structs.replace(
        operation,
        state=to,
        started=now if to is OperationState.STARTED else operation.started,
        report=operation.report if report is None else report,
        answered=operation.answered if report is None else now,
        ended=None if to in OPEN else now,
        text=text,
        by=person,
    )


def after_failover(operation: Operation, now: float) -> Operation:
    """An operation that another timeline of the database left open: what it had come to may be lost."""
    text = "the journal's database has failed over since, and may have lost what became of it"
    unknown = advanced(
        operation, OperationState.UNKNOWN, now=now, by=Witness.OBSERVATION, text=text
    )
    # Nobody shall read it as an operation that never started.
    started = operation.reserved if operation.started is None else operation.started
    return msgspec.structs.replace(unknown, started=started)


def record(operation: Operation) -> StateRecord:
    """Its record in the journal; while it is open, nothing else may be open on its node."""
    return StateRecord(
        kind=KIND,
        key=operation.id,
        body=msgspec.Raw(msgspec.json.encode(operation)),
        until=None if operation.ended is None else operation.ended + KEPT_S,
        claim=f"node:{operation.action}:{operation.intent.node}" if operation.is_open else "",
        incident=operation.intent.mark.incident,
        node=operation.intent.node,
    )


def operation_of(state: StateRecord) -> Operation:
    """What a record says. Raises msgspec.MsgspecError."""
    return msgspec.json.decode(state.body, type=Operation)
