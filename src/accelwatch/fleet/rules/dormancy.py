"""Which rules cannot hold now: of another vendor, about series that nobody tells or events of long ago.

Most rules sleep most of the time. What they would come to is worked out when something wakes one of
them, not in every tick; that they sleep changes no verdict.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import replace

from accelwatch.alerting.rules.rule import Rule
from accelwatch.expr.checking.tree import Event, walk
from accelwatch.expr.outcomes import Facts, outcomes, pruned
from accelwatch.expr.rule import RuleExpression
from accelwatch.expr.vocabulary.events import EventUse
from accelwatch.fleet.rules.ground import Moments
from accelwatch.schema.metrics import Series

_WORDS = ("vendor",)
"""Fields of which a fleet has few words."""
_SLACK_S = 1.0
"""A rule is awake for so much longer: what rounding makes of a sum of times must not put it to sleep."""
_Stamp = tuple[tuple[tuple[str, ...], ...], tuple[bool, ...]]


class Dormancy:
    """Of a set of rules, which may hold; `absent` are series that are never told."""

    def __init__(self, rules: Mapping[str, Rule], absent: Collection[Series]) -> None:
        self._rules = dict(rules)
        self._absent = frozenset(absent)
        told: dict[Event, None] = {}
        self._events: dict[str, frozenset[Event]] = {}
        for id_, rule in rules.items():
            parts = [one for one in (rule.select, rule.when) if one is not None]
            asked = [node for one in parts for node in walk(one.tree) if isinstance(node, Event)]
            self._events[id_] = frozenset(asked)
            told.update(dict.fromkeys(asked))
        self._told = tuple(told)
        self._patterns = tuple(dict.fromkeys(one.pattern for one in told))
        self._heard: list[float] = []
        """When each pattern was matched last, when it was looked at."""
        self._quiet: tuple[bool, ...] = ()
        self._until = -math.inf
        """From then on events are over that were not, though nothing is heard."""
        self._stamp: _Stamp | None = None
        self.version = 0
        """Grows when other rules may hold."""
        self._awake: dict[str, bool] = {}

    def awake(self, columns: Moments) -> Mapping[str, bool]:
        """Whether each rule may hold now."""
        quiet = self._over(columns)
        words = tuple([columns.text(key).words for key in _WORDS])
        before, self._stamp = self._stamp, (words, quiet)
        if before == self._stamp:
            return self._awake
        self.version += 1
        anew = before is None or before[0] != words
        was = quiet if before is None else before[1]
        pairs = zip(self._told, was, quiet, strict=True)
        changed = [event for event, once, now in pairs if once != now]
        facts = self._facts(columns, dict(zip(self._told, quiet, strict=True)))
        for id_, rule in self._rules.items():
            if anew or not self._events[id_].isdisjoint(changed):
                self._awake[id_] = may_hold(rule, facts)
        return self._awake

    def _over(self, columns: Moments) -> tuple[bool, ...]:
        """Of each event that rules ask for, whether it is too long ago."""
        heard = [columns.newest(one) for one in self._patterns]
        if heard != self._heard or columns.now > self._until:
            ends = [_end(one, columns) for one in self._told]
            self._quiet = tuple([end < columns.now for end in ends])
            self._heard = heard
            self._until = min((end for end in ends if end >= columns.now), default=math.inf)
        return self._quiet

    def _facts(self, columns: Moments, quiet: Mapping[Event, bool]) -> Facts:
        words = {key: columns.text(key).words for key in _WORDS}
        return Facts(self._absent, lambda one: quiet.get(one, False), words)


def _end(event: Event, columns: Moments) -> float:
    """Until when an event counts that was heard last; Unix seconds."""
    newest = columns.newest(event.pattern)
    if newest == -math.inf:
        return newest
    limited = event.kind in (EventUse.HAPPENED, EventUse.COUNT)
    return newest + event.seconds + _SLACK_S if limited else math.inf


def may_hold(rule: Rule, facts: Facts) -> bool:
    """Whether a rule can be true of anybody."""
    parts = [one for one in (rule.select, rule.when) if one is not None]
    return all(True in outcomes(one.tree, facts) for one in parts)


def never_told(absent: Collection[Series]) -> Facts:
    """What is known of a fleet in which some series are never told, and nothing else."""
    return Facts(frozenset(absent), lambda _: False, {})


def without(expression: RuleExpression, absent: Collection[Series]) -> RuleExpression:
    """The same condition where some series are never told, without parts that change nothing."""
    return replace(expression, tree=pruned(expression.tree, never_told(absent)))
