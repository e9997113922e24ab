"""Rules over the whole fleet at once: columns say where a condition holds, and only there time is kept.

The condition and the selection of every rule are worked out for all devices in arrays; `confirm`,
`clear` and the evidence only for those few on which a rule is active, one by one by the scalar code.
Whether the fleet is a live one or that of an archive, only its ground knows.
"""

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from time import thread_time_ns
from typing import NamedTuple

import numpy as np

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.alert_states import AlertStates
from accelwatch.alerting.rules.budget import Budgets
from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.dormancy import (
    Dormancy,
    Observed,
    can_fire,
    never_reported,
    without,
)
from accelwatch.alerting.rules.engine import NOT_MEANT, full_truths
from accelwatch.alerting.rules.provenance import justification_of
from accelwatch.alerting.rules.rule import Rule, enabled_rules, needs_of
from accelwatch.alerting.rules.timing import Truths
from accelwatch.alerting.rules.verdict import Entity, Justification, VerdictChange
from accelwatch.base.slices import LongWork
from accelwatch.expr.needs import Needs, window_bytes
from accelwatch.expr.vocabulary.kleene import UNKNOWN, Truth
from accelwatch.fleet.rules.columns.rule_context import RuleContext, RunsDetector
from accelwatch.fleet.rules.row import RowEnvironment
from accelwatch.fleet.rules.suspects import suspects
from accelwatch.fleet.rules.vectors.program import Program
from accelwatch.fleet.rules.vectors.truths import Truths as Columns
from accelwatch.fleet.table.belief import Bools
from accelwatch.fleet.table.windows import WindowsError
from accelwatch.schema.metrics import Series

_SHOWN = 3
# Entities of a rule that are evaluated before control is yielded.
_AT_ONCE = 8


class _Condition(NamedTuple):
    """A condition of the program."""

    rule: str
    selects: bool


class FleetRuleEvaluator:
    """The verdicts of a set of rules on a fleet; the loop's thread only."""

    def __init__(
        self,
        context: RuleContext,
        rules: Mapping[str, Rule],
        alert_states: AlertStates | None = None,
        budgets: Budgets | None = None,
        clock_ns: Callable[[], int] = thread_time_ns,
        *,
        others: Needs | None = None,
        detector: RunsDetector | None = None,
    ) -> None:
        """`clock_ns` counts the costs of rules, `others` are columns that are needed besides rules.

        A `detector` runs as long as a rule needs its findings.

        Raises WindowsError when the windows of the rules need too much memory.
        """
        self._context, self._clock_ns = context, clock_ns
        self.rules = enabled_rules(rules)
        self.alert_states = AlertStates(self.rules) if alert_states is None else alert_states
        self.alert_states.set_rules(self.rules)
        # What they may cost.
        self.budgets = budgets or Budgets()
        needs = needs_of(self.rules.values())
        self._absent = context.absent(needs.series)
        # Rules that read what will never be reported.
        self.unjudged = never_true(self.rules, self._absent)
        evaluated = [rule for id_, rule in self.rules.items() if id_ not in self.unjudged]
        needed_here = any(rule.needs_detector for rule in evaluated)
        self._detector = detector if needed_here else None
        try:
            needed = needs_of(evaluated) if others is None else needs_of(evaluated) | others
            if self._detector is not None:
                needed |= self._detector.needs
            self.columns = context.columns(needed, self._fires)
        except WindowsError as error:
            raise WindowsError(f"{error}; those who ask for most: {_dearest(evaluated)}") from error
        if self._detector is not None:
            self.columns.detector_facts = self._detector.facts
        elif detector is not None:
            detector.pause()
        # Rules whose firing other rules read.
        self._queried_rules = sorted(needs_of(evaluated).rules)
        self._dormancy = Dormancy({rule.id: rule for rule in evaluated})
        # Monotonic and Unix seconds of this tick.
        self._now = self._wall = 0.0
        self._fired: dict[str, Bools] = {}
        self._off: frozenset[str] = frozenset()
        self._conditions: list[_Condition] = []
        # Of what they follow from.
        self._stamp: object = None
        self._program = self._compiled()

    def _compiled(self) -> Program[_Condition]:
        conditions = {}
        self._off = frozenset(self.budgets.switched_off)
        for id_, rule in self.rules.items():
            if id_ not in self._off and id_ not in self.unjudged:
                if rule.select is not None:
                    conditions[_Condition(id_, True)] = without(rule.select, self._absent)
                conditions[_Condition(id_, False)] = without(rule.when, self._absent)
        return Program(conditions, self._clock_ns)

    def close(self) -> None:
        """Let go of the windows."""
        self.columns.close()

    async def tick(self, work: LongWork) -> list[VerdictChange]:
        """What has changed since the tick before."""
        if self._off != self.budgets.switched_off.keys():
            self._program, self._stamp = self._compiled(), None
        await self.columns.refresh(work)
        if self._detector is not None:
            await self._detector.detect(self.columns, work)
        self._now, self._wall = self._context.monotonic(), self._context.wall()
        self._fired = {id_: self._rows_of(id_) for id_ in self._queried_rules}
        changes: list[VerdictChange] = []
        selected: Columns | None = None
        conditions = self._active_conditions()

        def among(condition: _Condition) -> Bools | None:
            """Of an inactive rule it is enough to know where it is true."""
            if self.alert_states.of(condition.rule):
                return None
            return self.columns.here if selected is None else self.columns.here & selected.true

        spent_ns, started_ns = 0, self._clock_ns()
        for condition, truths in self._program.run(self.columns, conditions, among):
            spent_ns += self._clock_ns() - started_ns
            if condition.selects:
                selected, started_ns = truths, self._clock_ns()
                continue
            # Reporting the entities on which it fires is no cost of the rule.
            self.budgets.spent(condition.rule, spent_ns)
            if np.count_nonzero(truths.true) or self.alert_states.of(condition.rule):
                changes += await self._evaluate(self.rules[condition.rule], selected, truths, work)
            selected = None
            await work.yield_control()
            spent_ns, started_ns = 0, self._clock_ns()
        return changes

    def _active_conditions(self) -> list[_Condition]:
        """Conditions of rules that may hold, or are active on an entity."""
        columns = self.columns
        vendors = columns.text("vendor").values
        observed = Observed(columns.now, self._absent, vendors, columns.newest)
        awake, active = self._dormancy.awake(observed), self.alert_states.active_rules
        stamp = self._dormancy.version, active
        if stamp != self._stamp:
            conditions = self._program.names
            self._conditions = [
                condition
                for condition in conditions
                if awake[condition.rule] or condition.rule in active
            ]
            self._stamp = stamp
        return self._conditions

    async def _evaluate(
        self, rule: Rule, selected: Columns | None, when: Columns, work: LongWork
    ) -> list[VerdictChange]:
        """The changes of one rule; where it is active on many, others have their turn between them."""
        meant = when.true if selected is None else when.true & selected.true
        rows = np.flatnonzero(meant & self.columns.here)
        evaluated: dict[Entity, Truths] = {}
        row_by_entity: dict[Entity, int] = {}
        concerned = itertools.chain(
            self._started_entities(rule), self._context.entities(rule.scope, rows)
        )
        for count, (entity, row) in enumerate(concerned):
            if entity not in row_by_entity:
                row_by_entity[entity] = row
                evaluated[entity] = self._truths(rule, selected, when, row)
            await self._pause(count, work)
        evaluated.update(dict.fromkeys(self._finished_jobs(rule), NOT_MEANT))

        def witness(entity: Entity) -> Justification:
            return justification_of(rule, RowEnvironment(self.columns, row_by_entity[entity]))

        changes: list[VerdictChange] = []
        steps = self.alert_states.steps(rule, evaluated, self._now, self._wall, witness)
        for count, change in enumerate(steps):
            if change is not None:
                changes.append(change)
            await self._pause(count, work)
        return changes

    @staticmethod
    async def _pause(count: int, work: LongWork) -> None:
        if count % _AT_ONCE == _AT_ONCE - 1:
            await work.yield_control()

    def _truths(self, rule: Rule, selected: Columns | None, when: Columns, row: int) -> Truths:
        meant = True if selected is None else _at(selected, row)
        return full_truths(rule, RowEnvironment(self.columns, row), meant, _at(when, row))

    def _started_entities(self, rule: Rule) -> Iterator[tuple[Entity, int]]:
        """Entities on which a rule is active and that are there, each with a row."""
        for entity in tuple(self.alert_states.of(rule.id)):
            row = self.row_of(entity)
            if row is not None and row < self.columns.size and self.columns.here[row]:
                yield entity, row

    def _finished_jobs(self, rule: Rule) -> Iterator[Entity]:
        """Jobs that are known to be over: nothing of them goes on."""
        if rule.scope is Scope.JOB:
            yield from (
                entity
                for entity in self.alert_states.of(rule.id)
                if self._context.has_job_ended(entity.job)
            )

    def row_of(self, entity: Entity) -> int | None:
        """The row that answers for an entity: of several the first."""
        return self._context.row_of(entity, self.columns.here)

    def suspects(self, incident: Incident) -> Sequence[str]:
        """Nodes that may be to blame for what has befallen a job."""
        rule = self.rules.get(incident.rule)
        finding = self.columns.detector_facts.of_job(incident.entity.job)
        if rule is not None and rule.needs_detector and finding is not None:
            return (finding.node,) if finding.node else ()
        return suspects(self._context, self.columns, incident)

    def device_id(self, node: str, name: str) -> str | None:
        """The id of a device by its name or id; None where there is none."""
        return self._context.device_id(node, name)

    def _rows_of(self, rule: str) -> Bools:
        rows = np.zeros(self.columns.size, dtype=np.bool_)
        for entity in self.alert_states.firing(rule):
            row = self.row_of(entity)
            if row is not None and row < len(rows):
                rows[row] = True
        return rows

    def _fires(self, rule: str) -> Bools | None:
        """Where a rule fired when the tick began; None where there is no such rule."""
        if rule not in self.rules:
            return None
        fired = self._fired.get(rule)
        return np.zeros(self.columns.size, dtype=np.bool_) if fired is None else fired


def _dearest(rules: Iterable[Rule]) -> str:
    """The rules whose windows need most, with their origins."""
    sizes = {rule.id: window_bytes(needs_of([rule]).windows, 1, 1) for rule in rules}
    most = sorted(rules, key=lambda rule: (-sizes[rule.id], rule.id))[:_SHOWN]
    return ", ".join(f"{rule.id} ({rule.origin})" for rule in most)


def never_true(rules: Mapping[str, Rule], absent: Collection[Series]) -> tuple[str, ...]:
    """Those of the rules that read what will never be reported."""
    facts = never_reported(absent)
    return tuple(id_ for id_, rule in rules.items() if not can_fire(rule, facts))


def _at(truths: Columns, row: int) -> Truth:
    if truths.true[row]:
        return True
    return False if truths.false[row] else UNKNOWN
