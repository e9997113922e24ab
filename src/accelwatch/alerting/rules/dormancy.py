"""Which rules cannot hold now: of another vendor, of series that nobody reports, of events long ago.

Most rules sleep most of the time, on a node as in a hub. What they would come to is worked out when
something wakes one of them, not in every tick; that they sleep changes no verdict.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

from accelwatch.alerting.rules.rule import Rule
from accelwatch.expr.checking.tree import Event, EventPattern, walk
from accelwatch.expr.outcomes import Facts, outcomes, pruned
from accelwatch.expr.rule import RuleExpression
from accelwatch.expr.vocabulary.events import EventUse
from accelwatch.schema.metrics import Series

# A rule is awake for so much longer: what rounding makes of a sum of times must not put it to sleep.
_SLACK_S = 1.0


class Observed(NamedTuple):
    """What is known at a tick of all that rules are evaluated for."""

    # Unix seconds.
    now: float
    # Series of which nobody has ever had a value.
    absent: frozenset[Series]
    # All vendors of devices.
    vendors: tuple[str, ...]
    # When a pattern was matched last by anybody, Unix seconds; minus infinity: never.
    newest: Callable[[EventPattern], float]


# What the answer follows from: the absent series, the vendors, and which events are over.
_Stamp = tuple[frozenset[Series], tuple[str, ...], tuple[bool, ...]]


class Dormancy:
    """Of a set of rules, which may hold."""

    def __init__(self, rules: Mapping[str, Rule], no_groups: Collection[str] = ()) -> None:
        """`no_groups` are those of which nothing is known here (`GROUPS`)."""
        self._rules = dict(rules)
        self._no_groups = no_groups
        # The events that each rule reads.
        self._events = {id_: _events_of(rule) for id_, rule in rules.items()}
        self._all_events = tuple(dict.fromkeys(e for some in self._events.values() for e in some))
        self._patterns = tuple(dict.fromkeys(event.pattern for event in self._all_events))
        # When each pattern was last matched, as of the last evaluation.
        self._last_matched: list[float] = []
        self._over: tuple[bool, ...] = ()
        # From then on events expire that had not, even if none is received.
        self._until = -math.inf
        self._stamp: _Stamp | None = None
        # Grows when other rules may hold.
        self.version = 0
        self._awake: dict[str, bool] = {}

    def awake(self, observed: Observed) -> Mapping[str, bool]:
        """Whether each rule may hold now."""
        over = self._events_over(observed)
        before, self._stamp = self._stamp, (observed.absent, observed.vendors, over)
        if before == self._stamp:
            return self._awake
        self.version += 1
        all_changed = before is None or before[:2] != self._stamp[:2]
        pairs = zip(self._all_events, over if before is None else before[2], over, strict=True)
        changed = [event for event, once, now in pairs if once != now]
        is_over = dict(zip(self._all_events, over, strict=True))
        values = {"vendor": observed.vendors}
        facts = Facts(
            observed.absent, lambda event: is_over.get(event, False), values, self._no_groups
        )
        for id_, rule in self._rules.items():
            if all_changed or not self._events[id_].isdisjoint(changed):
                self._awake[id_] = can_fire(rule, facts)
        return self._awake

    def _events_over(self, observed: Observed) -> tuple[bool, ...]:
        """Of each event that rules read, whether it is too long ago."""
        matched = [observed.newest(pattern) for pattern in self._patterns]
        if matched != self._last_matched or observed.now > self._until:
            last = dict(zip(self._patterns, matched, strict=True))
            ends = [_expiry(event, last[event.pattern]) for event in self._all_events]
            self._over = tuple([end < observed.now for end in ends])
            self._last_matched = matched
            self._until = min((end for end in ends if end >= observed.now), default=math.inf)
        return self._over


def _events_of(rule: Rule) -> frozenset[Event]:
    trees = [expression.tree for expression in (rule.select, rule.when) if expression is not None]
    return frozenset(node for tree in trees for node in walk(tree) if isinstance(node, Event))


def _expiry(event: Event, newest: float) -> float:
    """Until when an event counts whose pattern was matched last at `newest`; Unix seconds."""
    if newest == -math.inf:
        return newest
    limited = event.kind in (EventUse.HAPPENED, EventUse.COUNT)
    return newest + event.seconds + _SLACK_S if limited else math.inf


def can_fire(rule: Rule, facts: Facts) -> bool:
    """Whether a rule can be true of anybody."""
    expressions = [expression for expression in (rule.select, rule.when) if expression is not None]
    return all(True in outcomes(expression.tree, facts) for expression in expressions)


def never_reported(absent: Collection[Series]) -> Facts:
    """What is known of a fleet in which some series are never reported, and nothing else."""
    return Facts(frozenset(absent), lambda _: False, {})


def without(expression: RuleExpression, absent: Collection[Series]) -> RuleExpression:
    """The same condition where some series are never reported, without parts that change nothing."""
    return replace(expression, tree=pruned(expression.tree, never_reported(absent)))
