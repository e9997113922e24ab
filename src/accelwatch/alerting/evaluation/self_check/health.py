"""Whether a process that evaluates rules can be relied on, and what is wrong where it cannot.

One account for three readers: the problems that a page shows, the notices that people get of this
process itself, and the dead man's ping that is sent only while all is well.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from accelwatch.alerting.delivery.formatting.own_problem import OwnProblem
from accelwatch.alerting.evaluation.alerting import Alerting
from accelwatch.alerting.evaluation.evaluation_loop import EvaluationLoop
from accelwatch.alerting.evaluation.in_force.rules_in_force import RulesInForce
from accelwatch.alerting.evaluation.notifier_owner import NotifiedBy
from accelwatch.alerting.evaluation.notifying import Notifying
from accelwatch.alerting.evaluation.self_check.lateness import Lateness
from accelwatch.alerting.evaluation.self_check.own_problems import (
    configuration_problem,
    evaluation_problem,
    journal_problem,
    rules_problem,
    state_problem,
)
from accelwatch.alerting.incidents.incident_store import IncidentStore


class Health:
    """Of one rule runner."""

    def __init__(
        self,
        loop: EvaluationLoop,
        lateness: Lateness,
        incident_store: IncidentStore,
        in_force: RulesInForce,
        notifying: Notifying,
    ) -> None:
        self._loop = loop
        self._lateness = lateness
        self._incident_store = incident_store
        self._in_force = in_force
        self._notifying = notifying
        # What is wrong with the remediation that acts on these rules.
        self.remediation_problems: Callable[[], tuple[str, ...]] = tuple
        # Why remediation starts nothing new; None where there is none.
        self.stalled: Callable[[], str] | None = None
        # Which state files could not be read, and why; without those that were set aside.
        self.unread: Callable[[], tuple[str, ...]] = tuple

    @property
    def late_s(self) -> float:
        """Seconds without an evaluation, where that is too long to rely on what is known; else 0."""
        return self._lateness.late_s(self._in_force.interval_s)

    def is_well(self) -> bool:
        """Whether rules are evaluated and what comes of it is written down."""
        return self._loop.alive and not (
            self.late_s > 0.0
            or self._loop.failure
            or self._incident_store.problems
            or self.remediation_problems()
        )

    def problems(self, alerting: Alerting, switched_off: dict[str, str]) -> tuple[str, ...]:
        """What is wrong with journal, rules and alerts; empty when all is well.

        `switched_off`: why rules are not evaluated any more, by their ids.
        """
        texts = (
            *self._incident_store.problems,
            *self.remediation_problems(),
            "rules are no longer evaluated; see the log" if self._loop.has_stopped else "",
            self._loop.failure,
            self._in_force.refused,
            self._in_force.unanswered,
            self._notifying.problem,
            *alerting.problems,
            *(f"rule {rule} is switched off: {why}" for rule, why in switched_off.items()),
        )
        return tuple(text for text in texts if text)

    def own_problems(self, set_aside: Sequence[Path]) -> Iterator[OwnProblem | None]:
        """What people are notified of about this process itself; `set_aside` are damaged state files."""
        stalled = "" if self.stalled is None else self.stalled()
        store, in_force = self._incident_store, self._in_force
        yield journal_problem(stalled, next(iter(store.problems), "") if store.has_journal else "")
        # Of what is wrong on each of a thousand nodes alike people are notified where nobody else is.
        if self._notifying.by is NotifiedBy.HUB:
            return
        yield rules_problem(in_force.refused)
        # Where rule files are broken the configuration is refused because of them.
        yield configuration_problem("" if in_force.refused else in_force.configuration_refused)
        yield evaluation_problem(self.late_s, acts=self.stalled is not None)
        yield state_problem(set_aside, self.unread())
