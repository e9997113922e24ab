"""The vector generator: a typed tree to closures over columns, one call for all devices.

The meaning is that of `accelwatch.expr.codegen`: a test draws rules and fleets in which both agree. A
number that is missing is NaN, of which every comparison is neither true nor false.
"""

import numpy as np

from accelwatch.expr.checking.boot import SLACK_S, UPTIME, UPTIME_AGE
from accelwatch.expr.checking.tree import (
    Affected,
    Arithmetic,
    Boot,
    Comparison,
    Constant,
    Event,
    Fold,
    Invoke,
    Items,
    Logic,
    Node,
    Not,
    Peers,
    Reading,
    Truthy,
    Window,
)
from accelwatch.expr.vocabulary.events import LONGEST_S, WITHIN_S, EventUse
from accelwatch.expr.vocabulary.kleene import Key
from accelwatch.expr.vocabulary.names import Type
from accelwatch.fleet.rules.vectors.numbers import ARITHMETIC, finite, function
from accelwatch.fleet.rules.vectors.static import Static, of_text
from accelwatch.fleet.rules.vectors.tick import Condition, Number, Tick, by_row
from accelwatch.fleet.rules.vectors.truths import Truths, as_number, compared, every, opposite, some
from accelwatch.fleet.table.belief import Bools, Floats


class Generator:
    """Closures for the trees of a set of rules; what several need is computed once a tick."""

    def __init__(self) -> None:
        self._slots: dict[Node, int] = {}

    def number(self, node: Node) -> Number:
        """A number by row; of a condition 1, 0 or missing."""
        match node:
            case Constant(value=value):
                constant = np.float64(value) if not isinstance(value, str) else np.float64("nan")
                return lambda _tick: constant  # type: ignore[return-value]  # it stands for all rows
            case Reading() | Window() | Event() | Boot() | Peers() | Affected() | Fold() if (
                node.type is not Type.BOOL
            ):
                return self._number_once(node)
            case Arithmetic(operator=operator, left=left, right=right):
                return _computed(operator, self.number(left), self.number(right))
            case Invoke() if node.type is not Type.BOOL:
                return function(node, [self.number(argument) for argument in node.arguments])
        condition = self.condition(node)
        return lambda tick: as_number(condition(tick))

    def condition(self, node: Node) -> Condition:
        """Where a condition is true and where it is false."""
        if of_text(node):
            return self._of_text(node)
        match node:
            case Truthy(operand=operand):
                flag = self.number(operand)
                return lambda tick: compared("!=", flag(tick), _ZERO)
            case Not(operand=operand):
                inner = self.condition(operand)
                return lambda tick: opposite(inner(tick))
            case Logic(operator=operator, operands=operands):
                conditions = [self.condition(child) for child in operands]
                join = every if operator == "and" else some
                return lambda tick: join([evaluate(tick) for evaluate in conditions])
            case Comparison():
                return self._comparison(node)
            case Invoke():
                return self._presence(node)
            case Event():
                return self._since_boot(node) if node.until_boot else _happened(node)
            case Boot(reading=reading, seconds=seconds):
                uptime, most = self.number(reading), self.number(Constant(seconds, Type.NUMBER))
                return lambda tick: compared("<=", uptime(tick), most(tick))
            case Fold(operand=over) if over is not None:
                return self._truths_once(node, self._folded(node, over))
        raise AssertionError("no other node is a condition")

    def _since_boot(self, node: Event) -> Condition:
        uptime_of, age_of = self._number_once(UPTIME), self._number_once(UPTIME_AGE)

        def since_boot(tick: Tick) -> Truths:
            ago = tick.columns.now - tick.columns.last(node.pattern)
            uptime, never = uptime_of(tick), np.isnan(age_of(tick))
            reported, recent = ~np.isnan(uptime), ago <= WITHIN_S
            true = np.where(reported, ago < uptime + SLACK_S, recent) & (ago <= LONGEST_S)
            over = np.where(reported, ago >= uptime + SLACK_S, never & (ago > WITHIN_S))
            return Truths(true, over | (ago > LONGEST_S))

        return since_boot

    def _boot_number(self, node: Boot) -> Number:
        uptime = self._number_once(node.reading)
        if node.kind == EventUse.LAST:
            return lambda tick: finite(tick.columns.now - uptime(tick))
        return uptime

    def _slot_of(self, node: Node) -> int:
        return self._slots.setdefault(node, len(self._slots))

    def _number_once(self, node: Node) -> Number:
        slot, work = self._slot_of(node), self._query(node)

        def once(tick: Tick) -> Floats:
            values = tick.numbers.get(slot)
            if values is None:
                values = tick.numbers[slot] = work(tick)
            return values

        return once

    def _truths_once(self, node: Node, work: Condition) -> Condition:
        slot = self._slot_of(node)

        def once(tick: Tick) -> Truths:
            truths = tick.truths.get(slot)
            if truths is None:
                truths = tick.truths[slot] = work(tick)
            return truths

        return once

    def _of_text(self, node: Node) -> Condition:
        static = Static(node)
        return self._truths_once(node, lambda tick: static(tick.columns))

    def _query(self, node: Node) -> Number:
        """A value from the columns."""
        match node:
            case Reading(keys=keys):
                return _first([_column(key) for key in keys])
            case Window(reading=reading):
                return _first(
                    [_windowed(node, key) for key in reading.keys if isinstance(key, tuple)]
                )
            case Event():
                return _event_number(node)
            case Boot():
                return self._boot_number(node)
            case Peers(kind=kind, operand=operand, by=by):
                return _peered(kind, self.number(operand), by)
            case Affected(rule=rule, by=by):
                return _affected(rule, by)
            case Fold(kind=kind, operand=over, by=by):
                return _tallied(kind, None if over is None else self.condition(over), by)
        raise AssertionError("columns are asked for no other node")

    def _comparison(self, node: Comparison) -> Condition:
        pairs = zip(node.operators, node.operands, node.operands[1:], strict=False)
        conditions = [self._pair(*pair) for pair in pairs]
        if len(conditions) == 1:
            return conditions[0]
        return lambda tick: every([evaluate(tick) for evaluate in conditions])

    def _pair(self, operator: str, left: Node, right: Node) -> Condition:
        if isinstance(right, Items):
            equal = [self._pair("==", left, element) for element in right.elements]
            if operator == "in":
                return lambda tick: some([evaluate(tick) for evaluate in equal])
            return lambda tick: opposite(some([evaluate(tick) for evaluate in equal]))
        if Type.STRING in (left.type, right.type):
            return self._of_text(Comparison((operator,), (left, right)))
        first, second = self.number(left), self.number(right)
        return lambda tick: compared(operator, first(tick), second(tick))

    def _presence(self, node: Invoke) -> Condition:
        """`missing` and `present`, the only conditions on numbers that are functions."""
        (argument,) = node.arguments
        if argument.type is Type.STRING:
            return self._of_text(node)
        value = self.number(argument)

        def missing(tick: Tick) -> Truths:
            absent: Bools = np.isnan(value(tick))
            return Truths(absent, ~absent)

        return missing if node.name == "missing" else lambda tick: opposite(missing(tick))

    def _folded(self, node: Fold, over: Node) -> Condition:
        inner = self.condition(over)

        def folded(tick: Tick) -> Truths:
            groups = tick.columns.groups(node.by)
            if groups is None:
                return tick.rows(_UNKNOWN)
            return Truths(*groups.folded(node.kind, *tick.rows(inner(tick))))

        return folded


_ZERO: Floats = np.zeros(())
_UNKNOWN = Truths(np.zeros((), dtype=np.bool_), np.zeros((), dtype=np.bool_))


def _computed(operator: str, left: Number, right: Number) -> Number:
    how = ARITHMETIC[operator]
    return lambda tick: finite(how(left(tick), right(tick)))


def _first(candidates: list[Number]) -> Number:
    """The first that has a value."""
    if len(candidates) == 1:
        return candidates[0]

    def first(tick: Tick) -> Floats:
        values = candidates[0](tick)
        for candidate in candidates[1:]:
            values = np.where(np.isnan(values), candidate(tick), values)
        return values

    return first


def _column(key: Key) -> Number:
    return lambda tick: tick.columns.number(key)


def _windowed(node: Window, key: tuple[str, ...]) -> Number:
    arguments = node.kind, key, node.seconds, node.quantile
    return lambda tick: tick.columns.window(*arguments, of_job=node.of_job)


def _event_number(node: Event) -> Number:
    if node.kind == EventUse.COUNT:
        return lambda tick: tick.columns.occurrences(node.pattern, node.seconds)
    if node.kind == EventUse.LAST:
        return lambda tick: finite(tick.columns.last(node.pattern))
    return lambda tick: finite(tick.columns.now - tick.columns.last(node.pattern))


def _happened(node: Event) -> Condition:
    def happened(tick: Tick) -> Truths:
        ago = tick.columns.now - tick.columns.last(node.pattern)
        return Truths(ago <= node.seconds, ago > node.seconds)

    return happened


def _nothing(tick: Tick) -> Floats:
    return np.full(tick.columns.size, np.nan)


def _peered(kind: str, inner: Number, by: str) -> Number:
    def peered(tick: Tick) -> Floats:
        groups = tick.columns.groups(by)
        if groups is None:
            return _nothing(tick)
        values = by_row(inner(tick), tick.columns.size)
        return groups.median(values) if kind == "median" else groups.z(values)

    return peered


def _affected(rule: str, by: str) -> Number:
    def affected(tick: Tick) -> Floats:
        groups, firing = tick.columns.groups(by), tick.columns.firing(rule)
        return _nothing(tick) if groups is None or firing is None else groups.set_in(firing)

    return affected


def _tallied(kind: str, inner: Condition | None, by: str) -> Number:
    def tallied(tick: Tick) -> Floats:
        groups = tick.columns.groups(by)
        if groups is None:
            return _nothing(tick)
        if inner is None:
            return groups.set_in(groups.has_group)
        return groups.tallied(kind, *tick.rows(inner(tick)))

    return tallied
