"""Rules over entities, tick by tick: which verdicts have changed. Pure; time is given.

A rule that reads whether another one fires gets the state of the tick before, whatever the order of the
files.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from accelwatch.alerting.rules.alert_states import AlertStates
from accelwatch.alerting.rules.budget import Budgets
from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.provenance import justification_of
from accelwatch.alerting.rules.rule import Rule, enabled_rules, needs_of
from accelwatch.alerting.rules.timing import Truths
from accelwatch.alerting.rules.verdict import Entity, VerdictChange
from accelwatch.expr.environment import Environment
from accelwatch.expr.vocabulary.kleene import UNKNOWN, Truth


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
        # Whom a selection means at this tick, in the order of subjects: many rules have the same one.
        self._selections: dict[tuple[Scope, str], list[Truth]] = {}
        # Rules whose firing other rules read.
        self._queried_rules = needs_of(rules.values()).rules

    def is_firing(self, rule: str, entity: Entity) -> bool | None:
        """Whether a rule fired on an entity when the tick began; None where there is no such rule."""
        if rule not in self.rules:
            return None
        return entity in self._fired.get(rule, ())

    def set_rules(self, rules: Mapping[str, Rule]) -> None:
        """Replace the rules; alert states of rules with the same digest go on."""
        self.budgets.forgive(self.rules, rules)
        self.rules = dict(rules)
        self._on = enabled_rules(rules)
        self.alert_states.set_rules(rules)
        self._queried_rules = needs_of(rules.values()).rules

    def step(
        self,
        subjects: Subjects,
        now: float,
        wall: float,
        awake: Mapping[str, bool] | None = None,
    ) -> list[VerdictChange]:
        """What has changed at a tick; `now` in monotonic seconds, `wall` in Unix seconds.

        A rule that is not `awake` (`Dormancy`) and has no alert states is skipped, and the result is
        the same.
        """
        self._fired = {id_: frozenset(self.alert_states.firing(id_)) for id_ in self._queried_rules}
        self._selections.clear()
        changes: list[VerdictChange] = []
        started: int | None = None
        for id_, rule in self._on.items():
            sleeps = awake is not None and not awake[id_] and not self.alert_states.of(id_)
            if sleeps or id_ in self.budgets.switched_off:
                continue
            there = subjects.get(rule.scope, ())
            if not there and not self.alert_states.of(id_):
                continue
            # Reading a thread's clock costs as much as a small rule: each reading serves twice.
            started = self._nanoseconds() if started is None else started
            changes += self._evaluate(rule, there, now, wall)
            finished = self._nanoseconds()
            self._account(rule, finished - started, len(there))
            started = finished
        return changes

    def _evaluate(
        self, rule: Rule, there: Sequence[Subject], now: float, wall: float
    ) -> list[VerdictChange]:
        active = self.alert_states.of(rule.id)
        evaluated: dict[Entity, Truths] = {}
        environments: dict[Entity, Environment] = {}
        for (entity, environment), meant in zip(there, self._meant(rule, there), strict=True):
            truths = truths_of(rule, environment, meant, is_active=entity in active)
            if truths.when is True or entity in active:
                evaluated[entity] = truths
                environments[entity] = environment
        if not evaluated and not active:
            return []
        return self.alert_states.advance(
            rule, evaluated, now, wall, lambda entity: justification_of(rule, environments[entity])
        )

    def _meant(self, rule: Rule, there: Sequence[Subject]) -> Sequence[Truth]:
        """Whether each is selected by a rule."""
        key = rule.scope, "" if rule.select is None else rule.select.text
        if key not in self._selections:
            self._selections[key] = [is_meant(rule, subject.environment) for subject in there]
        return self._selections[key]

    def _account(self, rule: Rule, ns: int, evaluations: int) -> None:
        rule.when.cost.add(ns, max(evaluations, 1))
        self.budgets.spent(rule.id, ns)


# Of somebody who is not selected.
NOT_MEANT = Truths(when=False, clear=True)


def is_meant(rule: Rule, environment: Environment) -> Truth:
    """Whether a rule selects an entity."""
    return True if rule.select is None else rule.select.evaluate(environment)


def truths_of(
    rule: Rule, environment: Environment, meant: Truth, *, is_active: bool = True
) -> Truths:
    """A rule's truths on an entity now; parts that cannot matter yet are not evaluated."""
    when = rule.when.evaluate(environment) if meant is True else UNKNOWN
    if not is_active and when is not True:
        return Truths(when=when)
    return full_truths(rule, environment, meant, when)


def full_truths(rule: Rule, environment: Environment, meant: Truth, when: Truth) -> Truths:
    """The same where it is known already what the condition says."""
    if meant is False:
        # An entity that is no longer selected is over; if its selection is unknown, so is the rest.
        return NOT_MEANT
    return Truths(
        when=when if meant is True else UNKNOWN,
        confirm=True if rule.confirm is None else rule.confirm.evaluate(environment),
        clear=None if rule.clear is None else rule.clear.evaluate(environment),
    )
