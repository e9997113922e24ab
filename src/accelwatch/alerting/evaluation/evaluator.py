"""What a rule runner needs of those who work rules out: one node's evaluator, or a fleet's."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from accelwatch.alerting.evaluation.explanation import Explanation
from accelwatch.alerting.incidents.model.incident import Facts, Incident
from accelwatch.alerting.rules.alert_states import AlertStates
from accelwatch.alerting.rules.budget import Budgets
from accelwatch.alerting.rules.rule import Rule, RuleSet
from accelwatch.alerting.rules.verdict import Entity, VerdictChange
from accelwatch.base.clock import Clock
from accelwatch.schema.event import ErrorEvent

# Whether an event of a node, its time on our clock, was not judged before.
IsNew = Callable[[str, ErrorEvent], bool]


class Evaluator(Protocol):
    """Works out a set of rules, on one event loop."""

    @property
    def clock(self) -> Clock:
        """Timers run by its monotonic time; its wall time is for display."""
        ...

    @property
    def rules(self) -> Mapping[str, Rule]:
        """Those of the rules in force that are worked out here."""
        ...

    @property
    def alert_states(self) -> AlertStates:
        """How far each rule has come on each entity."""
        ...

    @property
    def budgets(self) -> Budgets:
        """What rules may cost, and which exceeded it and are switched off."""
        ...

    def pace(self, requested_s: float) -> float:
        """Set how often rules require an evaluation; returns how often they get it, in seconds."""
        ...

    def set_rules(self, loaded: RuleSet, is_new: IsNew) -> None:
        """Other rules from now on. Raises WindowsError for those too dear; then all stays."""
        ...

    def recall(self, events: Sequence[ErrorEvent]) -> None:
        """Restore events that an earlier process received, and that open incidents rest on."""
        ...

    async def wait(self) -> None:
        """Return when it is time for the next tick."""
        ...

    async def evaluate(self) -> list[VerdictChange]:
        """What has changed since the tick before."""
        ...

    def facts(self, entity: Entity) -> Facts:
        """What is known of an entity now; nothing of one that has gone."""
        ...

    def suspects(self, incident: Incident, /) -> Sequence[str]:
        """Nodes that may be to blame for what has befallen a job, the likeliest first."""
        ...

    def explain(self, rule: str, entity: str) -> Explanation:
        """A rule on an entity by its name, now. Raises UnmetError."""
        ...

    def close(self) -> None:
        """Let go of what was kept for the rules."""
        ...
