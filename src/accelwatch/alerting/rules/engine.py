"""Rules over entities, tick by tick: which verdicts have changed. Pure; time is given.

A rule that asks whether another one fires gets the answer of the tick before, whatever the order of the
files.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from accelwatch.alerting.rules.attention import Attention, Stir, may_change_by_itself
from accelwatch.alerting.rules.budget import Budgets
from accelwatch.alerting.rules.document import Mode, Scope
from accelwatch.alerting.rules.provenance import grounds_of
from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.spells import Spells
from accelwatch.alerting.rules.timing import Truths
from accelwatch.alerting.rules.verdict import Entity, VerdictChange
from accelwatch.expr.environment import Environment
from accelwatch.expr.vocabulary.kleene import UNKNOWN


class Subject(NamedTuple):
    """Whom rules are judged for at a tick, and what they see of it."""

    entity: Entity
    environment: Environment


Subjects = Mapping[Scope, Sequence[Subject]]
"""Everybody who is there at a tick."""


class Engine:
    """The verdicts of a set of rules."""

    def __init__(
        self,
        rules: Mapping[str, Rule],
        nanoseconds: Callable[[], int] = lambda: 0,
        budgets: Budgets | None = None,
    ) -> None:
        """`nanoseconds` is a clock that what rules cost is measured with."""
        self.budgets = budgets or Budgets()
        """What they may cost."""
        self._nanoseconds = nanoseconds
        self.rules = dict(rules)
        self._on = judged(rules)
        self.spells = Spells(rules)
        self._fired: dict[str, frozenset[Entity]] = {}
        self.attention = Attention(rules)
        self._asked_for = asked_for(rules)
        self._quiet: dict[str, dict[Entity, bool]] = {id_: {} for id_ in rules}
        """Who is asked again only when something has changed; True: only when it is about him."""

    def is_firing(self, rule: str, entity: Entity) -> bool | None:
        """Whether a rule fired on an entity when the tick began; None where there is no such rule."""
        if rule not in self.rules:
            return None
        return entity in self._fired.get(rule, ())

    def set_rules(self, rules: Mapping[str, Rule]) -> None:
        """Other rules from now on; what has begun by a rule that says the same still goes on."""
        self.budgets.forgive(self.rules, rules)
        self.rules = dict(rules)
        self._on = judged(rules)
        self.spells.set_rules(rules)
        self.attention = Attention(rules)
        self._asked_for = asked_for(rules)
        self._quiet = {id_: {} for id_ in rules}

    def step(
        self, subjects: Subjects, now: float, wall: float, stir: Stir | None = None
    ) -> list[VerdictChange]:
        """What has changed at a tick; `now` in monotonic seconds, `wall` in Unix seconds.

        With what has stirred since the tick before, nobody else is asked, and the answer is the same.
        """
        self._fired = {id_: frozenset(self.spells.firing(id_)) for id_ in self._asked_for}
        self._rouse(stir)
        changes: list[VerdictChange] = []
        begun: int | None = None
        for id_, rule in self._on.items():
            there = subjects.get(rule.scope, ())
            if self._rests(id_, len(there), stir) or id_ in self.budgets.switched_off:
                continue
            due = there if stir is None else self._due(id_, there, stir)
            if not due and not self.spells.of(id_):
                continue
            # Reading the clock of a thread takes as long as a small rule: each reading serves twice.
            begun = self._nanoseconds() if begun is None else begun
            changes += self._judge(rule, dict(due), now, wall)
            ended = self._nanoseconds()
            self._account(rule, ended - begun, len(due))
            begun = ended
        return changes

    def _rouse(self, stir: Stir | None) -> None:
        """Who is another is asked by all rules."""
        if stir is None or stir.anew:
            for quiet in self._quiet.values():
                quiet.clear()
            return
        for entity in stir.moved:
            for quiet in self._quiet.values():
                quiet.pop(entity, None)

    def _rests(self, rule: str, count: int, stir: Stir | None) -> bool:
        """Whether nobody is asked, and nothing goes on: most rules at most ticks."""
        return (
            stir is not None
            and len(self._quiet[rule]) == count
            and rule not in stir.everyone
            and rule not in stir.whom
            and not self.spells.of(rule)
        )

    def _due(self, rule: str, there: Sequence[Subject], stir: Stir) -> Sequence[Subject]:
        quiet = self._quiet[rule]
        if rule in stir.everyone:
            return [one for one in there if not quiet.get(one.entity, False)]
        whom = stir.whom.get(rule)
        if whom is None:
            return [one for one in there if one.entity not in quiet]
        return [
            one
            for one in there
            if (unmeant := quiet.get(one.entity)) is None or (not unmeant and one.entity in whom)
        ]

    def _judge(
        self, rule: Rule, there: Mapping[Entity, Environment], now: float, wall: float
    ) -> list[VerdictChange]:
        begun = self.spells.of(rule.id)
        quiet, reads = self._quiet[rule.id], self.attention.reads[rule.id]
        judged: dict[Entity, Truths] = {}
        for entity, environment in there.items():
            truths = truths_of(rule, environment, begun=entity in begun)
            if truths.when is True or entity in begun:
                judged[entity] = truths
                quiet.pop(entity, None)
            elif truths is NOT_MEANT and reads.by_identity:
                quiet[entity] = True
            elif not may_change_by_itself(reads, environment):
                quiet[entity] = False
            else:
                quiet.pop(entity, None)
        return self.spells.advance(
            rule, judged, now, wall, lambda entity: grounds_of(rule, there[entity])
        )

    def _account(self, rule: Rule, ns: int, evaluations: int) -> None:
        rule.when.cost.add(ns, max(evaluations, 1))
        self.budgets.spent(rule.id, ns)


NOT_MEANT = Truths(when=False, clear=True)
"""Of somebody who is not selected."""


def judged(rules: Mapping[str, Rule]) -> dict[str, Rule]:
    """Those of the rules that are not off."""
    return {id_: rule for id_, rule in rules.items() if rule.mode is not Mode.OFF}


def asked_for(rules: Mapping[str, Rule]) -> frozenset[str]:
    """Rules whose firing others ask for."""
    parts = (part for rule in rules.values() for part in rule.expressions)
    return frozenset(id_ for part in parts for id_ in part.needs.rules)


def truths_of(rule: Rule, environment: Environment, *, begun: bool) -> Truths:
    """What a rule says of an entity now; parts that cannot matter yet are not asked for."""
    meant = True if rule.select is None else rule.select.evaluate(environment)
    if meant is False:
        # Who is no longer meant is over; whether one is meant that cannot be told is unknown.
        return NOT_MEANT
    when = rule.when.evaluate(environment) if meant is True else UNKNOWN
    if not begun and when is not True:
        return Truths(when=when)
    return Truths(
        when=when,
        confirm=True if rule.confirm is None else rule.confirm.evaluate(environment),
        clear=None if rule.clear is None else rule.clear.evaluate(environment),
    )
