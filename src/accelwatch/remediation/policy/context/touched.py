"""What a step has changed that remedies depend on: which of them the end of the step has to evaluate.

A remedy depends on itself, on a person's commands for its node, on the node's agent and scheduler, and
on what all have in common. What time alone changes is found once a second, when all are evaluated.
"""

from enum import Enum

from accelwatch.remediation.policy.guards.data_guard import DataGuardState
from accelwatch.remediation.policy.guards.limits.breaker import BreakerState
from accelwatch.remediation.policy.guards.limits.budget import BudgetState
from accelwatch.remediation.policy.state.world import PendingChecks


class Touches(Enum):
    """Whom it concerns that a row of a table is another."""

    NOTHING = "nothing"
    # The remedy of the node that is the row's key, by the hub's name.
    NODE = "node"
    # The remedy of the node that is the row's key, by the scheduler's name.
    SHOWN = "shown"


class Touched:
    """Grows during a step; starts with what the step before has left to evaluate."""

    def __init__(self, pending_checks: PendingChecks) -> None:
        # By the hub's names.
        self.nodes = set(pending_checks.again)
        # Nodes that are shown otherwise, by the scheduler's names.
        self.shown: set[str] = set()
        # Whether the budget is another, or the groups that it counts.
        self.waiting = pending_checks.waiting
        self.everything = pending_checks.everything

    def row(self, touches: Touches, key: str) -> None:
        """A row of a table is another."""
        if touches is Touches.NODE:
            self.nodes.add(key)
        elif touches is Touches.SHOWN:
            self.shown.add(key)

    def field(self, before: object, after: object) -> None:
        """What is no table is another."""
        if isinstance(after, BudgetState):
            self.waiting = True
        elif not (
            isinstance(before, BreakerState)
            and isinstance(after, BreakerState)
            and _bars(before) == _bars(after)
        ):
            self.everything = True

    def guard(self, before: DataGuardState, after: DataGuardState) -> None:
        """How much is seen of the fleet is another."""
        if (before.is_warmed_up, before.why) != (after.is_warmed_up, after.why):
            self.everything = True


def _bars(state: BreakerState) -> tuple[object, ...]:
    """All of a breaker that somebody may be held back by."""
    return state.standing, state.since, state.why, state.storms, state.trial
