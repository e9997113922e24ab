"""Which nodes we hold by the journal, for an action whose scheduler keeps no mark of ours.

The operations say it from the moment at which a step may have been sent until its pursuit has ended;
from then on the remedies do, which also know that a person has undone a hold. A release that is known to
be done ends both: whatever keeps the node out afterwards is somebody else's.

A hold belongs to one action. Another scheduler of the hub may have a node of the same name, and what
keeps that out is not ours.
"""

from collections.abc import Callable, Iterator, Mapping

from accelwatch.action.intent import Intent, IntentKind, OwnerAnnotation
from accelwatch.action.step import ReportStatus
from accelwatch.remediation.execution.operations.ledger import Ledger
from accelwatch.remediation.execution.operations.operation import Operation, OperationState
from accelwatch.remediation.policy.state.model import NodeQuarantine, RemedyState

_MAY_BE_SENT = frozenset(
    {
        OperationState.STARTED,
        OperationState.ANSWERED,
        OperationState.UNKNOWN,
        OperationState.OBSERVED,
    }
)
# Whether a kind of step, or a key of what a step replaced, is of the scheduler in question.
IsOf = Callable[[str], bool]


class JournalQuarantines(Mapping[str, OwnerAnnotation]):
    """Our holds by the scheduler's name of the node, as of each question."""

    def __init__(
        self,
        action: str,
        ledger: Ledger,
        state: Callable[[], RemedyState],
        is_of: IsOf = lambda _: True,
    ) -> None:
        """Of the action with that name; `state` is what is decided and written down by now."""
        self._action = action
        self._ledger = ledger
        self._state = state
        self._is_of = is_of
        # Made of the state with which it stands: nodes are many, and states change once a decision.
        self._indexed: tuple[RemedyState, dict[str, NodeQuarantine], dict[str, Intent]] | None = (
            None
        )

    def narrowed(self, is_of: IsOf) -> "JournalQuarantines":
        """Those that steps of one scheduler of a pair have set."""
        return JournalQuarantines(self._action, self._ledger, self._state, is_of)

    def __getitem__(self, node: str) -> OwnerAnnotation:
        annotation = self._annotation(node)
        if annotation is None:
            raise KeyError(node)
        return annotation

    def __iter__(self) -> Iterator[str]:
        recorded, pursued = self._index()
        nodes = dict.fromkeys((*self._ledger.nodes_of(self._action), *recorded, *pursued))
        return (node for node in nodes if self._annotation(node) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _annotation(self, node: str) -> OwnerAnnotation | None:
        recorded, pursued = self._index()
        last = self._latest(node)
        if last is not None and last.intent.kind is IntentKind.RELEASE:
            if _is_completed(last):
                return None
        elif last is not None and (last.is_open or pursued.get(node) == last.intent):
            # Maybe sent, or observed and not yet processed by a decision.
            return last.intent.mark
        quarantine = recorded.get(node)
        if quarantine is None or not any(self._is_of(key) for key in quarantine.original):
            return None
        return quarantine.mark

    def _latest(self, node: str) -> Operation | None:
        """The latest step that may have changed whose the node is."""
        operations = [
            operation
            for operation in self._ledger.on_node(self._action, node)
            if operation.intent.kind in (IntentKind.QUARANTINE, IntentKind.RELEASE)
            and self._is_of(operation.step.kind)
            and _may_have_happened(operation)
        ]
        return operations[-1] if operations else None

    def _index(self) -> tuple[dict[str, NodeQuarantine], dict[str, Intent]]:
        """What is recorded of our holds, and the quarantines that are pursued, by node."""
        state = self._state()
        if self._indexed is None or self._indexed[0] is not state:
            recorded: dict[str, NodeQuarantine] = {}
            pursued: dict[str, Intent] = {}
            for remedy in state.remedies.values():
                node = remedy.scheduler_name
                if remedy.hold is not None and remedy.hold.action in ("", self._action):
                    recorded[node] = remedy.hold
                if remedy.pursuing is not None and remedy.pursuing.kind is IntentKind.QUARANTINE:
                    pursued[node] = remedy.pursuing
            self._indexed = state, recorded, pursued
        return self._indexed[1], self._indexed[2]


def _may_have_happened(operation: Operation) -> bool:
    """A step that was reserved and never started has not; nor has a refused one."""
    if operation.state not in _MAY_BE_SENT:
        return False
    return operation.report is None or not operation.report.status.is_without_effect


def _is_completed(operation: Operation) -> bool:
    if operation.state is OperationState.OBSERVED:
        return True
    return operation.report is not None and operation.report.status is ReportStatus.DONE
