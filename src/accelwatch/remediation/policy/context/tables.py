"""The tables and fields of the state: how each is read, set, kept in the journal, and replayed from it.

A step changes the state by these constants alone, so that a type checker knows what is in each.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from accelwatch.action.intent import Intent
from accelwatch.remediation.policy.context.records import (
    AttemptsRecord,
    BoundaryRecord,
    BreakerRecord,
    BudgetRecord,
    CanaryRecord,
    ChoreRecord,
    DeniedRecord,
    DepartedRecord,
    ForgottenRecord,
    LingeringRecord,
    NodeTestsRecord,
    OverrideRecord,
    RelapsesRecord,
    RemedyRecord,
    RetriesRecord,
    ScoresRecord,
    SparesRecord,
    StartedRecord,
    StateRecord,
    StopRecord,
    VetoRecord,
)
from accelwatch.remediation.policy.context.touched import Touches
from accelwatch.remediation.policy.guards.limits.attempts import AttemptState
from accelwatch.remediation.policy.guards.limits.breaker import BreakerState
from accelwatch.remediation.policy.guards.limits.budget import BudgetState
from accelwatch.remediation.policy.guards.limits.canary import CanaryState
from accelwatch.remediation.policy.guards.retry.job_history import RetryState
from accelwatch.remediation.policy.state.model import Departed, Remedy, RemedyState
from accelwatch.remediation.policy.state.node_tests import NodeTests
from accelwatch.remediation.policy.state.orders import Boundary, Denied, Override, Stop, Veto
from accelwatch.remediation.policy.state.relapses import Relapses
from accelwatch.remediation.policy.state.score import ScoreState
from accelwatch.remediation.policy.state.spares.model import SpareState

V = TypeVar("V")


@dataclass(frozen=True, eq=False)
class StateTable(Generic[V]):
    """One table of the state, by key."""

    read: Callable[[RemedyState], Mapping[str, V]]
    # The state with other rows in the table.
    replaced: Callable[[RemedyState, Mapping[str, V]], RemedyState]
    # The journal's record of a row; None: it was removed.
    record: Callable[[str, V | None], StateRecord]
    # Key and row of a record; None where it is of another table.
    row_of: Callable[[StateRecord], tuple[str, V | None] | None]
    touches: Touches = Touches.NODE

    def changed(self, before: RemedyState, after: RemedyState, key: str) -> StateRecord | None:
        """The record of a row; None where it is as it was."""
        row = self.read(after).get(key)
        return None if self.read(before).get(key) == row else self.record(key, row)

    def replayed(self, state: RemedyState, record: StateRecord) -> RemedyState | None:
        """The state after a record; None where it is of another table."""
        match = self.row_of(record)
        if match is None:
            return None
        key, row = match
        rows = {other: value for other, value in self.read(state).items() if other != key}
        if row is not None:
            rows[key] = row
        return self.replaced(state, rows)


@dataclass(frozen=True, eq=False)
class StateField(Generic[V]):
    """A part of the state of which there is one."""

    read: Callable[[RemedyState], V]
    replaced: Callable[[RemedyState, V], RemedyState]
    record: Callable[[V], StateRecord]
    # The state after a record; None where it is of another field.
    replayed: Callable[[RemedyState, StateRecord], RemedyState | None]

    def changed(self, before: RemedyState, after: RemedyState, _key: str) -> StateRecord | None:
        """The record of the field; None where it is as it was."""
        value = self.read(after)
        return None if self.read(before) == value else self.record(value)


REMEDIES = StateTable[Remedy](
    read=lambda state: state.remedies,
    replaced=lambda state, rows: replace(state, remedies=rows),
    record=lambda node, row: RemedyRecord(node=node, remedy=row),
    row_of=lambda record: (
        (record.node, record.remedy) if isinstance(record, RemedyRecord) else None
    ),
)
OVERRIDES = StateTable[Override](
    read=lambda state: state.overrides,
    replaced=lambda state, rows: replace(state, overrides=rows),
    record=lambda node, row: OverrideRecord(node=node, override=row),
    row_of=lambda record: (
        (record.node, record.override) if isinstance(record, OverrideRecord) else None
    ),
)
BOUNDARIES = StateTable[Boundary](
    read=lambda state: state.boundaries,
    replaced=lambda state, rows: replace(state, boundaries=rows),
    record=lambda node, row: BoundaryRecord(node=node, boundary=row),
    row_of=lambda record: (
        (record.node, record.boundary) if isinstance(record, BoundaryRecord) else None
    ),
)
VETOES = StateTable[Veto](
    read=lambda state: state.vetoes,
    replaced=lambda state, rows: replace(state, vetoes=rows),
    record=lambda node, row: VetoRecord(node=node, veto=row),
    row_of=lambda record: (record.node, record.veto) if isinstance(record, VetoRecord) else None,
)
DENIED = StateTable[Denied](
    read=lambda state: state.denied,
    replaced=lambda state, rows: replace(state, denied=rows),
    record=lambda node, row: DeniedRecord(node=node, denied=row),
    row_of=lambda record: (
        (record.node, record.denied) if isinstance(record, DeniedRecord) else None
    ),
)
CHORES = StateTable[Intent](
    read=lambda state: state.chores,
    replaced=lambda state, rows: replace(state, chores=rows),
    record=lambda key, row: ChoreRecord(key=key, intent=row),
    row_of=lambda record: (record.key, record.intent) if isinstance(record, ChoreRecord) else None,
    touches=Touches.NOTHING,
)
DEPARTED = StateTable[Departed](
    read=lambda state: state.departed,
    replaced=lambda state, rows: replace(state, departed=rows),
    record=lambda key, row: DepartedRecord(key=key, departed=row),
    row_of=lambda record: (
        (record.key, record.departed) if isinstance(record, DepartedRecord) else None
    ),
    touches=Touches.NOTHING,
)
LINGERING = StateTable[Intent](
    read=lambda state: state.lingering,
    replaced=lambda state, rows: replace(state, lingering=rows),
    record=lambda node, row: LingeringRecord(node=node, intent=row),
    row_of=lambda record: (
        (record.node, record.intent) if isinstance(record, LingeringRecord) else None
    ),
)
FORGOTTEN = StateTable[str](
    read=lambda state: state.forgotten,
    replaced=lambda state, rows: replace(state, forgotten=rows),
    record=lambda node, row: ForgottenRecord(node=node, incident=row),
    row_of=lambda record: (
        (record.node, record.incident) if isinstance(record, ForgottenRecord) else None
    ),
)
RELAPSES = StateTable[Relapses](
    read=lambda state: state.relapses,
    replaced=lambda state, rows: replace(state, relapses=rows),
    record=lambda node, row: RelapsesRecord(node=node, relapses=row),
    row_of=lambda record: (
        (record.node, record.relapses) if isinstance(record, RelapsesRecord) else None
    ),
)
NODE_TESTS = StateTable[NodeTests](
    read=lambda state: state.tests,
    replaced=lambda state, rows: replace(state, tests=rows),
    record=lambda node, row: NodeTestsRecord(node=node, tests=row),
    row_of=lambda record: (
        (record.node, record.tests) if isinstance(record, NodeTestsRecord) else None
    ),
    touches=Touches.NOTHING,
)
STOP = StateField[Stop | None](
    read=lambda state: state.stop,
    replaced=lambda state, value: replace(state, stop=value),
    record=lambda value: StopRecord(stop=value),
    replayed=lambda state, record: (
        replace(state, stop=record.stop) if isinstance(record, StopRecord) else None
    ),
)
BUDGET = StateField[BudgetState](
    read=lambda state: state.budget,
    replaced=lambda state, value: replace(state, budget=value),
    record=lambda value: BudgetRecord(budget=value),
    replayed=lambda state, record: (
        replace(state, budget=record.budget) if isinstance(record, BudgetRecord) else None
    ),
)
BREAKER = StateField[BreakerState](
    read=lambda state: state.breaker,
    replaced=lambda state, value: replace(state, breaker=value),
    record=lambda value: BreakerRecord(breaker=value),
    replayed=lambda state, record: (
        replace(state, breaker=record.breaker) if isinstance(record, BreakerRecord) else None
    ),
)
ATTEMPTS = StateField[AttemptState](
    read=lambda state: state.attempts,
    replaced=lambda state, value: replace(state, attempts=value),
    record=lambda value: AttemptsRecord(attempts=value),
    replayed=lambda state, record: (
        replace(state, attempts=record.attempts) if isinstance(record, AttemptsRecord) else None
    ),
)
CANARY = StateField[CanaryState](
    read=lambda state: state.canary,
    replaced=lambda state, value: replace(state, canary=value),
    record=lambda value: CanaryRecord(canary=value),
    replayed=lambda state, record: (
        replace(state, canary=record.canary) if isinstance(record, CanaryRecord) else None
    ),
)
SCORES = StateField[ScoreState](
    read=lambda state: state.scores,
    replaced=lambda state, value: replace(state, scores=value),
    record=lambda value: ScoresRecord(scores=value),
    replayed=lambda state, record: (
        replace(state, scores=record.scores) if isinstance(record, ScoresRecord) else None
    ),
)
SPARES = StateField[SpareState](
    read=lambda state: state.spares,
    replaced=lambda state, value: replace(state, spares=value),
    record=lambda value: SparesRecord(spares=value),
    replayed=lambda state, record: (
        replace(state, spares=record.spares) if isinstance(record, SparesRecord) else None
    ),
)
RETRIES = StateField[RetryState](
    read=lambda state: state.retries,
    replaced=lambda state, value: replace(state, retries=value),
    record=lambda value: RetriesRecord(retries=value),
    replayed=lambda state, record: (
        replace(state, retries=record.retries) if isinstance(record, RetriesRecord) else None
    ),
)

_ALL: tuple[StateTable[Any] | StateField[Any], ...] = (
    REMEDIES,
    OVERRIDES,
    BOUNDARIES,
    VETOES,
    DENIED,
    CHORES,
    DEPARTED,
    LINGERING,
    FORGOTTEN,
    RELAPSES,
    NODE_TESTS,
    STOP,
    BUDGET,
    BREAKER,
    ATTEMPTS,
    CANARY,
    SCORES,
    SPARES,
    RETRIES,
)


def replay(state: RemedyState, record: StateRecord) -> RemedyState:
    """The state after a record of the journal: folded over all records it is the state but `world`."""
    if isinstance(record, StartedRecord):
        return replace(state, token=record.token, started=record.at)
    for table in _ALL:
        after = table.replayed(state, record)
        if after is not None:
            return after
    raise TypeError(f"no table of the state keeps a {type(record).__name__}")
