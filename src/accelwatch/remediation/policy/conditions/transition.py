"""A remedy in the context of its step, when something happens to it: what rows of the table get."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from accelwatch.action.intent import IntentKind
from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.state.changes import Command
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.pursued import Pursued
from accelwatch.remediation.policy.state.stage import Trigger


class RemedyEvent(NamedTuple):
    """What has happened to a remedy, with what came with it."""

    trigger: Trigger
    pursued: Pursued | None = None
    observation: NodeObservation | None = None
    command: Command | None = None

    @property
    def pursued_kind(self) -> IntentKind | None:
        """The kind of the intent that has ended; None where none has."""
        return None if self.pursued is None else self.pursued.intent.kind

    @property
    def pursued_hold_state(self) -> HoldState | None:
        """Who holds the node after an intent has ended; None where nobody looked."""
        pursued = self.pursued
        if pursued is None or pursued.observed is None or pursued.observed.node is None:
            return None
        return pursued.observed.node.hold_state


class Transition(NamedTuple):
    """A remedy in the context of its step, when something happens to it."""

    ctx: StepContext
    remedy: Remedy
    event: RemedyEvent


class TransitionView(Protocol):
    """A transition as conditions get it: they read it and change nothing."""

    @property
    def ctx(self) -> StepView:
        """What is known in this step."""

    @property
    def remedy(self) -> Remedy:
        """As it is before the row."""

    @property
    def event(self) -> RemedyEvent:
        """What has happened to it."""


# Whether a row of the table counts; pure.
Condition = Callable[[TransitionView], bool]
# The remedy after what a row does; all else that it changes goes through the context.
Effect = Callable[[Transition], Remedy]
