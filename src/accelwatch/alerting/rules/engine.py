"""Rules over entities, tick by tick: which verdicts have changed. Pure; time is given.

A rule that asks whether another one fires gets the answer of the tick before, whatever the order of the
files.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from accelwatch.alerting.rules.alert_states import AlertStates
from accelwatch.alerting.rules.attention import Attention, ChangeSet, may_change_by_itself
from accelwatch.alerting.rules.budget import Budgets
from accelwatch.alerting.rules.document import Mode, Scope
from accelwatch.alerting.rules.provenance import justification_of
from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.timing import Truths
from accelwatch.alerting.rules.verdict import Entity, VerdictChange
from accelwatch.expr.environment import Environment
from accelwatch.expr.vocabulary.kleene import UNKNOWN


class Subject(NamedTuple):
    """Whom rules are judged for at a tick, and what they see of it."""

    entity: Entity
    environment: Environment


# Everybody who is there at a tick.
Subjects = Mapping[Scope, Sequence[Subject]]


class Engine:
    """The verdicts of a set of rules."""

    def __init__(
        self,
        rules: Mapping[str, Rule],
        nanoseconds: Callable[[], int] = lambda: 0,
        budgets: Budgets | None = None,
    ) -> None:
        """`nanoseconds` is a clock that what rules cost is measured with."""
        # What they may cost.
        self.budgets = budgets or Budgets()
        self._nanoseconds = nanoseconds
        self.rules = dict(rules)
        self._on = enabled_rules(rules)
        self.alert_states = AlertStates(rules)
        self._fired: dict[str, frozenset[Entity]] = {}
        self.attention = Attention(rules)
        self._queried_rules = queried_rules(rules)
        # Who is asked again only when something has changed; True: only when it is about him.
        self._idle: dict[str, dict[Entity, bool]] = {id_: {} for id_ in rules}

    def is_firing(self, rule: str, entity: Entity) -> bool | None:
        """Whether a rule fired on an entity when the tick began; None where there is no such rule."""
        if rule not in self.rules:
            return None
        return entity in self._fired.get(rule, ())

    def set_rules(self, rules: Mapping[str, Rule]) -> None:
        """Other rules from now on; what has begun by a rule that says the same still goes on."""
        self.budgets.forgive(self.rules, rules)
        self.rules = dict(rules)
        self._on = enabled_rules(rules)
        self.alert_states.set_rules(rules)
        self.attention = Attention(rules)
        self._queried_rules = queried_rules(rules)
        self._idle = {id_: {} for id_ in rules}

    def step(
        self, subjects: Subjects, now: float, wall: float, changed: ChangeSet | None = None
    ) -> list[VerdictChange]:
        """What has changed at a tick; `now` in monotonic seconds, `wall` in Unix seconds.

        With what has stirred since the tick before, nobody else is asked, and the answer is the same.
        """
        self._fired = {id_: frozenset(self.alert_states.firing(id_)) for id_ in self._queried_rules}
        self._wake(changed)
        changes: list[VerdictChange] = []
        started: int | None = None
        for id_, rule in self._on.items():
            there = subjects.get(rule.scope, ())
            if self._rests(id_, len(there), changed) or id_ in self.budgets.switched_off:
                continue
            due = there if changed is None else self._due(id_, there, changed)
            if not due and not self.alert_states.of(id_):
                continue
            # Reading the clock of a thread takes as long as a small rule: each reading serves twice.
            started = self._nanoseconds() if started is None else started
            changes += self._evaluate(rule, dict(due), now, wall)
            finished = self._nanoseconds()
            self._account(rule, finished - started, len(due))
            started = finished
        return changes

    def _wake(self, changed: ChangeSet | None) -> None:
        """Who is another is asked by all rules."""
        if changed is None or changed.is_full:
            for idle in self._idle.values():
                idle.clear()
            return
        for entity in changed.moved:
            for idle in self._idle.values():
                idle.pop(entity, None)

    def _rests(self, rule: str, count: int, changed: ChangeSet | None) -> bool:
        """Whether nobody is asked, and nothing goes on: most rules at most ticks."""
        return (
            changed is not None
            and len(self._idle[rule]) == count
            and rule not in changed.everyone
            and rule not in changed.whom
            and not self.alert_states.of(rule)
        )

    def _due(self, rule: str, there: Sequence[Subject], changed: ChangeSet) -> Sequence[Subject]:
        idle = self._idle[rule]
        if rule in changed.everyone:
            return [subject for subject in there if not idle.get(subject.entity, False)]
        whom = changed.whom.get(rule)
        if whom is None:
            return [subject for subject in there if subject.entity not in idle]
        return [
            subject
            for subject in there
            if (unmeant := idle.get(subject.entity)) is None
            or (not unmeant and subject.entity in whom)
        ]

    def _evaluate(
        self, rule: Rule, there: Mapping[Entity, Environment], now: float, wall: float
    ) -> list[VerdictChange]:
        active = self.alert_states.of(rule.id)
        idle, reads = self._idle[rule.id], self.attention.reads[rule.id]
        evaluated: dict[Entity, Truths] = {}
        for entity, environment in there.items():
            truths = truths_of(rule, environment, is_active=entity in active)
            if truths.when is True or entity in active:
                evaluated[entity] = truths
                idle.pop(entity, None)
            elif truths is NOT_MEANT and reads.by_identity:
                idle[entity] = True
            elif not may_change_by_itself(reads, environment):
                idle[entity] = False
            else:
                idle.pop(entity, None)
        return self.alert_states.advance(
            rule, evaluated, now, wall, lambda entity: justification_of(rule, there[entity])
        )

    def _account(self, rule: Rule, ns: int, evaluations: int) -> None:
        rule.when.cost.add(ns, max(evaluations, 1))
        self.budgets.spent(rule.id, ns)


# Of somebody who is not selected.
NOT_MEANT = Truths(when=False, clear=True)


def enabled_rules(rules: Mapping[str, Rule]) -> dict[str, Rule]:
    """Those of the rules that are not off."""
    return {id_: rule for id_, rule in rules.items() if rule.mode is not Mode.OFF}


def queried_rules(rules: Mapping[str, Rule]) -> frozenset[str]:
    """Rules whose firing others ask for."""
    expressions = (expression for rule in rules.values() for expression in rule.expressions)
    return frozenset(id_ for expression in expressions for id_ in expression.needs.rules)


def truths_of(rule: Rule, environment: Environment, *, is_active: bool) -> Truths:
    """What a rule says of an entity now; parts that cannot matter yet are not asked for."""
    meant = True if rule.select is None else rule.select.evaluate(environment)
    if meant is False:
        # Who is no longer meant is over; whether one is meant that cannot be told is unknown.
        return NOT_MEANT
    when = rule.when.evaluate(environment) if meant is True else UNKNOWN
    if not is_active and when is not True:
        return Truths(when=when)
    return Truths(
        when=when,
        confirm=True if rule.confirm is None else rule.confirm.evaluate(environment),
        clear=None if rule.clear is None else rule.clear.evaluate(environment),
    )
