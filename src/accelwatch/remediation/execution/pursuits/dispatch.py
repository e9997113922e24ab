"""Which intents are pursued by which scheduler: those of a decision, and what a restart left open."""

from collections.abc import Mapping

from accelwatch.action.intent import Intent
from accelwatch.base.clock import Clock
from accelwatch.remediation.execution.operations.effect import Site
from accelwatch.remediation.execution.operations.ledger import Ledger
from accelwatch.remediation.execution.pursuits.pursuit import Report
from accelwatch.remediation.execution.pursuits.registry import Pursuits
from accelwatch.remediation.policy.context.outcome import Outcome
from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.policy.state.stage import Stage


class Dispatch:
    """For one event loop."""

    def __init__(
        self, sites: Mapping[str, Site], ledger: Ledger, clock: Clock, report: Report
    ) -> None:
        self.pursuits = Pursuits(sites, clock, report)
        self._ledger = ledger
        self._clock = clock
        # Intents of whose node no scheduler has been seen to have it yet.
        self._unplaced: list[Intent] = []

    def adopt(self, outcome: Outcome) -> None:
        """Start and cancel the intents of a decision, which is in the journal."""
        for intent in outcome.pursue:
            self._start(intent, outcome.state)
        for intent in outcome.cancel:
            self._unplaced = [candidate for candidate in self._unplaced if candidate != intent]
            self.pursuits.start(intent, self._action_of(intent, outcome.state))
            self.pursuits.cancel(intent)

    def retry_unplaced(self, state: RemedyState) -> None:
        """Start what waited for a scheduler, if one has shown the node by now."""
        unplaced, self._unplaced = self._unplaced, []
        for intent in unplaced:
            self._start(intent, state)

    def follow_open_operations(self, state: RemedyState) -> None:
        """After a restart: what is open is observed until it is known, desired or not."""
        desired = [*state.chores.values(), *state.lingering.values()]
        for remedy in state.remedies.values():
            if remedy.pursuing is not None:
                desired.append(remedy.pursuing)
                if remedy.stage is Stage.UNKNOWN:
                    self._start(remedy.pursuing, state)
        for operation in self._ledger.open():
            if operation.intent not in desired:
                self.pursuits.start(operation.intent, operation.action)
                self.pursuits.cancel(operation.intent)

    def _start(self, intent: Intent, state: RemedyState) -> None:
        """Pursue an intent by the scheduler that has the node; while nobody has shown it, wait."""
        action = self._action_of(intent, state)
        late = self._clock.wall() > intent.deadline
        if not action and not late and len(self.pursuits.able(intent)) > 1:
            self._unplaced.append(intent)
            return
        self.pursuits.start(intent, action)
        if late and not action:
            self.pursuits.cancel(intent)

    def _action_of(self, intent: Intent, state: RemedyState) -> str:
        """By which action it was started, also before a restart; else the one that shows the node."""
        return self._ledger.action_of(intent) or state.world.shown_by.get(intent.node, "")
