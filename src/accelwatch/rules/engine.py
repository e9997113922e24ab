"""Rules over entities, tick by tick: which verdicts have changed. Pure; time is given.

A rule that asks whether another one fires gets the answer of the tick before, whatever the order of the
files.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from accelwatch.expr.environment import Environment
from accelwatch.expr.kleene import UNKNOWN
from accelwatch.rules.document import Mode, Scope
from accelwatch.rules.evidence import evidence_of
from accelwatch.rules.rule import Rule
from accelwatch.rules.spells import Spells
from accelwatch.rules.timing import Truths
from accelwatch.rules.verdict import Entity, VerdictChange

MOST_OVERRUNS = 30
"""After so many ticks in a row above its budget a rule is switched off."""


class Subject(NamedTuple):
    """Whom rules are judged for at a tick, and what they see of it."""

    entity: Entity
    environment: Environment


Subjects = Mapping[Scope, Sequence[Subject]]
"""Everybody who is there at a tick."""


class Engine:
    """The verdicts of a set of rules."""

    def __init__(
        self, rules: Mapping[str, Rule], nanoseconds: Callable[[], int] = lambda: 0
    ) -> None:
        """`nanoseconds` is a clock that what rules cost is measured with."""
        self._nanoseconds = nanoseconds
        self.rules = dict(rules)
        self.spells = Spells(rules)
        self.switched_off: dict[str, str] = {}
        """Rules that are no longer judged, and why."""
        self._fired: dict[str, frozenset[Entity]] = {}

    def is_firing(self, rule: str, entity: Entity) -> bool | None:
        """Whether a rule fired on an entity when the tick began; None where there is no such rule."""
        if rule not in self.rules:
            return None
        return entity in self._fired.get(rule, ())

    def set_rules(self, rules: Mapping[str, Rule]) -> None:
        """Other rules from now on; what has begun by a rule that says the same still goes on."""
        self.switched_off = {
            id_: why
            for id_, why in self.switched_off.items()
            if id_ in rules and rules[id_].digest == self.rules[id_].digest
        }
        self.rules = dict(rules)
        self.spells.set_rules(rules)

    def step(self, subjects: Subjects, now: float, wall: float) -> list[VerdictChange]:
        """What has changed at a tick; `now` in monotonic seconds, `wall` in Unix seconds."""
        self._fired = {id_: frozenset(self.spells.firing(id_)) for id_ in self.rules}
        changes: list[VerdictChange] = []
        for id_, rule in self.rules.items():
            if rule.mode is Mode.OFF or id_ in self.switched_off:
                continue
            begun = self._nanoseconds()
            concerned = subjects.get(rule.scope, ())
            changes += self._judge(rule, dict(concerned), now, wall)
            self._account(rule, self._nanoseconds() - begun, len(concerned))
        return changes

    def _judge(
        self, rule: Rule, there: Mapping[Entity, Environment], now: float, wall: float
    ) -> list[VerdictChange]:
        begun = self.spells.of(rule.id)
        judged: dict[Entity, Truths] = {}
        for entity, environment in there.items():
            truths = truths_of(rule, environment, begun=entity in begun)
            if truths.when is True or entity in begun:
                judged[entity] = truths
        return self.spells.advance(
            rule, judged, now, wall, lambda entity: evidence_of(rule, there[entity])
        )

    def _account(self, rule: Rule, ns: int, evaluations: int) -> None:
        cost = rule.when.cost
        cost.add(ns, max(evaluations, 1))
        if cost.overruns >= MOST_OVERRUNS:
            self.switched_off[rule.id] = (
                f"it takes {cost.mean_ns / 1000:.1f} us an entity, and may take "
                f"{cost.budget_ns / 1000:.1f}"
            )


def truths_of(rule: Rule, environment: Environment, *, begun: bool) -> Truths:
    """What a rule says of an entity now; parts that cannot matter yet are not asked for."""
    meant = True if rule.select is None else rule.select.evaluate(environment)
    if meant is False:
        # Who is no longer meant is over; whether one is meant that cannot be told is unknown.
        return Truths(when=False, clear=True)
    when = rule.when.evaluate(environment) if meant is True else UNKNOWN
    if not begun and when is not True:
        return Truths(when=when)
    return Truths(
        when=when,
        confirm=True if rule.confirm is None else rule.confirm.evaluate(environment),
        clear=None if rule.clear is None else rule.clear.evaluate(environment),
    )
