"""A remedy in the context of its step, when something happens to it: what conditions and effects get."""

from collections.abc import Callable
from typing import NamedTuple

from accelwatch.action.intent import IntentKind
from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.remediation.policy.state.changes import Command
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.pursued import Pursued
from accelwatch.remediation.policy.state.stage import Trigger
from accelwatch.remediation.policy.state.step_context import StepContext


class Happening(NamedTuple):
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


class Scene(NamedTuple):
    """A remedy in the context of its step, when something happens to it."""

    ctx: StepContext
    remedy: Remedy
    happening: Happening


Condition = Callable[[Scene], bool]
"""Whether a row of the table counts; pure."""
Effect = Callable[[Scene], Remedy]
"""The remedy after what a row does; all else that it changes goes through the context."""
