"""The answers of the guards in one step, so that each guard is evaluated once."""

from typing import NamedTuple

from accelwatch.action.intent import IntentKind
from accelwatch.remediation.policy.guards.denial import Answer, Denial
from accelwatch.remediation.policy.state.case import Case
from accelwatch.remediation.policy.state.model import Remedy


class LeadingCase(NamedTuple):
    """The case that comes nearest to a quarantine of its node, and what stands in its way."""

    # As it was when the guards were evaluated: the answer holds for this state only.
    remedy: Remedy
    # None: no rule requests a quarantine.
    case: Case | None
    denial: Denial | None


class GuardMemo:
    """Answers of one step; any change of the state makes them void."""

    def __init__(self) -> None:
        # By the hub's name of the node; to a quarantine for a case the leading case has the answer.
        self.answers: dict[tuple[str, IntentKind], Answer] = {}
        self.leading: dict[str, LeadingCase] = {}
        # For which case the guards have permitted a quarantine, by node. It is no answer that a change
        # could make void: whoever begins that quarantine in this step begins it for this case.
        self.permitted: dict[str, Case] = {}

    def clear(self) -> None:
        """The state has changed: evaluate every guard again."""
        self.answers.clear()
        self.leading.clear()
