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
from accelwatch.fleet.rules.columns.rule_context import TableViews
from accelwatch.schema.metrics import Series

# Fields of which a fleet has few words.
_FIELDS = ("vendor",)
# A rule is awake for so much longer: what rounding makes of a sum of times must not put it to sleep.
_SLACK_S = 1.0
_Stamp = tuple[tuple[tuple[str, ...], ...], tuple[bool, ...]]


class Dormancy:
    """Of a set of rules, which may hold; `absent` are series that are never told."""

    def __init__(self, rules: Mapping[str, Rule], absent: Collection[Series]) -> None:
        self._rules = dict(rules)
        self._absent = frozenset(absent)
        events: dict[Event, None] = {}
        self._events: dict[str, frozenset[Event]] = {}
        for id_, rule in rules.items():
            expressions = [
                expression for expression in (rule.select, rule.when) if expression is not None
            ]
            requested = [
                node
                for expression in expressions
                for node in walk(expression.tree)
                if isinstance(node, Event)
            ]
            self._events[id_] = frozenset(requested)
            events.update(dict.fromkeys(requested))
        self._all_events = tuple(events)
        self._patterns = tuple(dict.fromkeys(event.pattern for event in events))
        # When each pattern was matched last, when it was looked at.
        self._last_matched: list[float] = []
        self._idle: tuple[bool, ...] = ()
        # From then on events are over that were not, though nothing is heard.
        self._until = -math.inf
        self._stamp: _Stamp | None = None
        # Grows when other rules may hold.
        self.version = 0
        self._awake: dict[str, bool] = {}

    def awake(self, columns: TableViews) -> Mapping[str, bool]:
        """Whether each rule may hold now."""
        idle = self._over(columns)
        values = tuple([columns.text(key).values for key in _FIELDS])
        before, self._stamp = self._stamp, (values, idle)
        if before == self._stamp:
            return self._awake
        self.version += 1
        all_changed = before is None or before[0] != values
        was = idle if before is None else before[1]
        pairs = zip(self._all_events, was, idle, strict=True)
        changed = [event for event, once, now in pairs if once != now]
        facts = self._facts(columns, dict(zip(self._all_events, idle, strict=True)))
        for id_, rule in self._rules.items():
            if all_changed or not self._events[id_].isdisjoint(changed):
                self._awake[id_] = can_fire(rule, facts)
        return self._awake

    def _over(self, columns: TableViews) -> tuple[bool, ...]:
        """Of each event that rules ask for, whether it is too long ago."""
        matched = [columns.newest(pattern) for pattern in self._patterns]
        if matched != self._last_matched or columns.now > self._until:
            deadlines = [_expiry(event, columns) for event in self._all_events]
            self._idle = tuple([end < columns.now for end in deadlines])
            self._last_matched = matched
            self._until = min((end for end in deadlines if end >= columns.now), default=math.inf)
        return self._idle

    def _facts(self, columns: TableViews, idle: Mapping[Event, bool]) -> Facts:
        values = {key: columns.text(key).values for key in _FIELDS}
        return Facts(self._absent, lambda event: idle.get(event, False), values)


def _expiry(event: Event, columns: TableViews) -> float:
    """Until when an event counts that was heard last; Unix seconds."""
    newest = columns.newest(event.pattern)
    if newest == -math.inf:
        return newest
    limited = event.kind in (EventUse.HAPPENED, EventUse.COUNT)
    return newest + event.seconds + _SLACK_S if limited else math.inf


def can_fire(rule: Rule, facts: Facts) -> bool:
    """Whether a rule can be true of anybody."""
    expressions = [expression for expression in (rule.select, rule.when) if expression is not None]
    return all(True in outcomes(expression.tree, facts) for expression in expressions)


def never_reported(absent: Collection[Series]) -> Facts:
    """What is known of a fleet in which some series are never told, and nothing else."""
    return Facts(frozenset(absent), lambda _: False, {})


def without(expression: RuleExpression, absent: Collection[Series]) -> RuleExpression:
    """The same condition where some series are never told, without parts that change nothing."""
    return replace(expression, tree=pruned(expression.tree, never_reported(absent)))
