"""The rules of a hub worked out: in columns over the whole fleet, once in a while."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from time import thread_time

from accelwatch.alerting.evaluation.evaluator import IsNew
from accelwatch.alerting.evaluation.explanation import Explanation
from accelwatch.alerting.incidents.model.incident import Facts, Incident
from accelwatch.alerting.rules.alert_states import AlertStates
from accelwatch.alerting.rules.budget import Budgets
from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.rule import Rule, RuleSet
from accelwatch.alerting.rules.verdict import Entity, VerdictChange
from accelwatch.base.clock import Clock
from accelwatch.base.errors import AccelwatchError
from accelwatch.base.slices import LongWork
from accelwatch.expr.needs import Needs
from accelwatch.expr.vocabulary.kleene import UNKNOWN
from accelwatch.fleet.rules.columns.fleet_rule_context import FleetRuleContext
from accelwatch.fleet.rules.columns.rule_context import RunsDetector
from accelwatch.fleet.rules.explaining import entity_named, explained_on
from accelwatch.fleet.rules.facts import facts_of, with_scheduled
from accelwatch.fleet.rules.row import RowEnvironment
from accelwatch.fleet.rules.rule_evaluator import FleetRuleEvaluator
from accelwatch.fleet.state.events import Noted
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.schema.event import ErrorEvent

# Between two ticks, whatever is urgent.
LEAST_PAUSE_S = 0.1
# Ticks that are early rest so many times the processor time that the one before used.
_SHARE = 10.0


class FleetEvaluator:
    """Works rules out on a hub's fleet; the loop's thread only."""

    def __init__(self, fleet: Fleet, detector: RunsDetector | None = None) -> None:
        """`detector` runs beside the rules as long as one of them needs its findings."""
        self._fleet = fleet
        self._detector = detector
        self._loaded = RuleSet(rules={})
        self._is_new: IsNew = lambda _node, _event: True
        self._interval_s = 1.0
        self._duration_s = 0.0
        self._urgent = asyncio.Event()
        fleet.hurry = self._urgent.set
        # How far each rule has come on each entity.
        self.alert_states = AlertStates({})
        # The jobs that a scheduler shows on a node and their users, where somebody acts by one.
        self.scheduled: Callable[[str], Mapping[str, str]] = lambda _node: {}
        # What rules may cost.
        self.budgets = Budgets()
        self._rule_evaluator = self._build_rule_evaluator(self._loaded)

    def _build_rule_evaluator(self, loaded: RuleSet) -> FleetRuleEvaluator:
        context = FleetRuleContext(self._fleet, self._is_new_event)
        of_profiles = Needs()
        for profile in loaded.profiles:
            if profile.when is not None:
                of_profiles |= profile.when.needs
        return FleetRuleEvaluator(
            context,
            loaded.rules,
            self.alert_states,
            self.budgets,
            others=of_profiles,
            detector=self._detector,
        )

    def _is_new_event(self, noted: Noted) -> bool:
        return self._is_new(noted.node, noted.event)

    @property
    def clock(self) -> Clock:
        """The hub's."""
        return self._fleet.clock

    @property
    def rules(self) -> Mapping[str, Rule]:
        """Those that are not off."""
        return self._rule_evaluator.rules

    def pace(self, requested_s: float) -> float:
        """As often as rules require."""
        self._interval_s = requested_s
        return requested_s

    def set_rules(self, loaded: RuleSet, is_new: IsNew) -> None:
        """Other rules from now on. Raises WindowsError for those too dear; then all stays."""
        self._is_new = is_new
        self._rule_evaluator.close()
        try:
            evaluator = self._build_rule_evaluator(loaded)
        except AccelwatchError:
            self._rule_evaluator = self._build_rule_evaluator(self._loaded)
            raise
        self.budgets.forgive(self._loaded.rules, loaded.rules)
        self._loaded, self._rule_evaluator = loaded, evaluator

    def recall(self, events: Sequence[ErrorEvent]) -> None:
        """Nothing: agents send their events again to a hub that has restarted."""

    async def wait(self) -> None:
        """Return when it is time for the next tick: early when a device says what shall not wait."""
        pause = min(self._interval_s, max(LEAST_PAUSE_S, _SHARE * self._duration_s))
        await asyncio.sleep(pause)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._interval_s - pause):
                await self._urgent.wait()
        self._urgent.clear()

    async def evaluate(self) -> list[VerdictChange]:
        """What has changed since the tick before."""
        evaluator, started = self._rule_evaluator, thread_time()
        changes = await evaluator.tick(LongWork())
        self._duration_s = thread_time() - started
        # Other rules may have come meanwhile.
        return changes if evaluator is self._rule_evaluator else []

    def facts(self, entity: Entity) -> Facts:
        """What is known of an entity now; nothing of one that has gone."""
        facts = facts_of(self._fleet, entity)
        if entity.node and not (facts.jobs and facts.users):
            return with_scheduled(self._fleet, entity, facts, self.scheduled(entity.node))
        return facts

    def suspects(self, incident: Incident) -> Sequence[str]:
        """Nodes that may be to blame for what has befallen a job."""
        return self._rule_evaluator.suspects(incident)

    def ceiling_of(self, node: str) -> str:
        """How far the first profile that fits a node lets rules go; `resume` where there are none.

        Where it is unknown whether one fits, nothing but observing is sure to be allowed.
        """
        evaluator, profiles = self._rule_evaluator, self._loaded.profiles
        row = evaluator.row_of(Entity(scope=Scope.NODE, node=node)) if profiles else None
        for profile in profiles:
            if profile.when is None:
                return profile.ceiling
            if row is None or row >= evaluator.columns.size:
                break
            truth = profile.when.evaluate(RowEnvironment(evaluator.columns, row))
            if truth is UNKNOWN:
                break
            if truth:
                return profile.ceiling
        return "observe" if profiles else "resume"

    def explain(self, rule: str, entity: str) -> Explanation:
        """A rule on an entity (`n12/nvidia3`, `n12`, `job:4711`, `rack:r7`) now. Raises UnmetError."""
        return explained_on(self._rule_evaluator, rule, entity_named(entity, self._rule_evaluator))

    def close(self) -> None:
        """Let go of the windows."""
        self._rule_evaluator.close()
