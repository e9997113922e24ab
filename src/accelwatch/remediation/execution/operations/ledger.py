"""The operations of this engine, in memory as in the journal; only here an effect gets its permission.

An operation is written down before it begins, and `started` before anything happens: whoever performs a
step needs the `Committed` that `start` gives when the journal's disk has it.
"""

import secrets
from collections.abc import Awaitable, Callable, Iterable, Iterator

from accelwatch.action.intent import Intent, IntentKind
from accelwatch.action.step import Committed, Report, Step, StepKind
from accelwatch.alerting.incidents.journal.errors import JournalError, JournalRefusedError
from accelwatch.alerting.incidents.journal.lease import timeline_of
from accelwatch.alerting.incidents.journal.records import Batch, StateRecord
from accelwatch.alerting.incidents.model.incident import ENGINE
from accelwatch.base.clock import Clock
from accelwatch.remediation.execution.operations.operation import (
    KEPT_S,
    KIND,
    Operation,
    OperationState,
    Witness,
    advanced,
    after_failover,
    operation_of,
    record,
)

# Of which a later word may have been lost in a fail-over; any other is settled by what is seen anyway.
_LEFT_OPEN = (OperationState.RESERVED, OperationState.STARTED)

# Has a batch written; when it returns, it is on the disk. Raises JournalError.
Commit = Callable[[Batch], Awaitable[None]]
# An action's name and a node.
NodeKey = tuple[str, str]


def rehearsal(intent: Intent) -> Committed:
    """The permission to go through a step without doing anything, which nobody has to write down."""
    return Committed(
        operation="try", attempt=1, annotation=intent.mark, deadline=intent.deadline, dry_run=True
    )


def release_without_journal(intent: Intent) -> Committed:
    """The permission to remove our own mark on command while the journal cannot be written."""
    if intent.kind is not IntentKind.RELEASE:
        raise ValueError(f"{intent.kind.value} has to be in the journal before it is done")
    return Committed(
        operation="by-hand", attempt=1, annotation=intent.mark, deadline=intent.deadline
    )


class Ledger:
    """The operations, and how far they are; for one event loop."""

    def __init__(
        self,
        commit: Commit | None,
        clock: Clock,
        states: Iterable[StateRecord] = (),
        new_id: Callable[[], str] = lambda: secrets.token_hex(4),
        written: Callable[[Operation], None] = lambda _: None,
        *,
        token: int = 0,
    ) -> None:
        """`commit` is None where there is no journal: then nothing can start. `written` gets each
        operation whose state has come to the disk. `token` is that of the journal's lease: what another
        timeline of its database has left open is unknown.

        Raises msgspec.MsgspecError for a state that is no operation.
        """
        self._commit = commit
        self._clock = clock
        self._new_id = new_id
        self._on_written = written
        self._token = token
        self._operations: dict[NodeKey, dict[str, Operation]] = {}
        # The actions with any operation, the first seen first.
        self._actions: dict[str, None] = {}
        # What is wrong with the journal; empty when the last word was written.
        self.problem = ""
        for state in states:
            if state.kind == KIND:
                self._store(self._as_left(operation_of(state)))

    def open_on(self, action: str, node: str) -> Operation | None:
        """The operation on a node whose end nobody knows."""
        return next(
            (operation for operation in self._on(action, node).values() if operation.is_open), None
        )

    def of(self, action: str, intent: Intent) -> list[Operation]:
        """The operations for an intent, oldest first."""
        on = self._on(action, intent.node).values()
        return sorted(
            (operation for operation in on if operation.intent == intent),
            key=lambda operation: operation.reserved,
        )

    def on_node(self, action: str, node: str) -> list[Operation]:
        """The operations on a node, for any intent, oldest first."""
        return sorted(self._on(action, node).values(), key=lambda operation: operation.reserved)

    def nodes_of(self, action: str) -> Iterator[str]:
        """The nodes on which an action has operations."""
        return (node for name, node in self._operations if name == action)

    def action_of(self, intent: Intent) -> str:
        """The action with an operation for an intent; empty when there is none."""
        for action in self._actions:
            if any(
                operation.intent == intent for operation in self._on(action, intent.node).values()
            ):
                return action
        return ""

    def open(self) -> list[Operation]:
        """All whose end nobody knows."""
        return [
            operation
            for on in self._operations.values()
            for operation in on.values()
            if operation.is_open
        ]

    async def reserve(self, action: str, intent: Intent, step: Step, attempt: int) -> Operation:
        """Write down what is about to be done. Raises JournalError; JournalClaimedError, too, when
        something else is open on the node.
        """
        operation = Operation(
            id=f"{intent.mark.incident}-{self._new_id()}",
            action=action,
            intent=intent,
            step=step,
            attempt=attempt,
            reserved=self._clock.wall(),
            token=self._token,
        )
        try:
            await self._write(operation)
        except JournalRefusedError:
            raise
        except JournalError:
            if self._commit is not None:
                # It may be on the disk all the same, and would hold the node against all that follow;
                # who comes next ends it there.
                self._store(operation)
            raise
        return operation

    async def start(
        self, operation: Operation, kind: StepKind, withdrawn: Callable[[], str]
    ) -> tuple[Operation, Committed]:
        """The permission to do it: it is on the disk that it may have happened. Raises JournalError.

        `withdrawn` says why the permission counts no more; it is checked before each command.
        """
        now = self._clock.wall()
        started = advanced(operation, OperationState.STARTED, now=now)
        await self._write(started)
        return started, Committed(
            operation=operation.id,
            attempt=operation.attempt,
            annotation=operation.intent.mark,
            deadline=min(operation.intent.deadline, now + kind.timeout_s),
            withdrawn=withdrawn,
        )

    async def record_report(
        self, operation: Operation, report: Report, to: OperationState
    ) -> Operation:
        """Write down an answer, with which it comes to another open state. Raises JournalError; the
        answer is known then all the same.
        """
        after = advanced(operation, to, now=self._clock.wall(), report=report, text=report.text)
        self._store(after)
        await self._write(after)
        return after

    async def settle(
        self,
        operation: Operation,
        to: OperationState,
        by: Witness,
        text: str,
        *,
        person: str = "",
        address: str = "",
    ) -> Operation:
        """Write down what it has come to. Raises JournalError, then it is as open as before."""
        after = advanced(operation, to, now=self._clock.wall(), by=by, text=text, person=person)
        await self._write(after, person, address)
        return after

    async def _write(self, operation: Operation, person: str = "", address: str = "") -> None:
        if self._commit is None:
            self.problem = "there is no journal, so nothing is done"
            raise JournalError(self.problem)
        batch = Batch(
            time=self._clock.wall(),
            records=[record(operation)],
            actor=person or ENGINE,
            address=address,
        )
        try:
            await self._commit(batch)
        except JournalError as error:
            self.problem = f"nothing is done while the journal cannot be written: {error}"
            raise
        self.problem = ""
        self._store(operation)
        self._on_written(operation)

    def _store(self, operation: Operation) -> None:
        key = operation.action, operation.intent.node
        self._actions[operation.action] = None
        old = self._clock.wall() - KEPT_S
        self._operations[key] = {
            entry.id: entry
            for entry in (*self._on(*key).values(), operation)
            if entry.ended is None or entry.ended > old
        }

    def _as_left(self, operation: Operation) -> Operation:
        same_timeline = timeline_of(operation.token) == timeline_of(self._token)
        if same_timeline or operation.state not in _LEFT_OPEN:
            return operation
        return after_failover(operation, self._clock.wall())

    def _on(self, action: str, node: str) -> dict[str, Operation]:
        return self._operations.get((action, node), {})


def originals(operations: Iterable[Operation]) -> dict[str, str]:
    """What the steps of an intent replaced, where they may have happened: the oldest word counts."""
    replaced: dict[str, str] = {}
    for operation in operations:
        if operation.state not in (OperationState.CANCELLED, OperationState.FAILED):
            replaced = {**operation.step.original, **replaced}
    return replaced


def same(step: Step, other: Step) -> bool:
    """Whether two steps are the same effect on the same state of things."""
    return (step.kind, step.arguments, step.precondition) == (
        other.kind,
        other.arguments,
        other.precondition,
    )
