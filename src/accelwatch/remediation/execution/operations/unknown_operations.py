"""Operations of which nobody knows whether they happened, settled by a person's word."""

from accelwatch.remediation.execution.operations.ledger import Ledger
from accelwatch.remediation.execution.operations.operation import OperationState, Witness
from accelwatch.remediation.policy.state.changes import Command, Verb

# With these a person accepts the risk of an operation of unknown outcome.
SETTLING_VERBS = frozenset({Verb.RETRY, Verb.FORCE_RELEASE, Verb.FORGET})


async def fail_unknown_operation(
    ledger: Ledger, action: str, target: str, command: Command, address: str
) -> None:
    """A person has checked a node: its unknown operation counts as not done. Raises JournalError.

    `target` is the scheduler's name of the node, whose lane the caller has; `address` is where the
    person's command came from.
    """
    operation = ledger.open_on(action, target)
    if operation is not None and operation.state is OperationState.UNKNOWN:
        await ledger.settle(
            operation,
            OperationState.FAILED,
            Witness.PERSON,
            f"{command.verb}: {command.reason}",
            person=command.by,
            address=address,
        )
