"""What a condition can come to, while it is known that some things are not there.

A fleet of one vendor is judged by the rules of all: most of them read series that nobody reports and
events that nobody has sent. What they cannot be is worked out once, not in every tick.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import reduce

from accelwatch.expr.checking.tree import (
    Affected,
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
from accelwatch.expr.vocabulary.events import EventUse
from accelwatch.expr.vocabulary.kleene import UNKNOWN, Truth
from accelwatch.expr.vocabulary.names import Type
from accelwatch.schema.metrics import Series

Outcomes = frozenset[Truth]
ANY: Outcomes = frozenset({True, False, UNKNOWN})
_NEVER_TRUE: Outcomes = frozenset({False, UNKNOWN})
_TRUE: Outcomes = frozenset({True})
_FALSE: Outcomes = frozenset({False})
_UNKNOWN: Outcomes = frozenset({UNKNOWN})


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known beforehand."""

    # Series of which nobody has a value.
    absent: Collection[Series]
    # Whether no event that a part matches lies in its time.
    has_no_event: Callable[[Event], bool]
    # All that some fields can be.
    values: Mapping[str, Collection[str]]
    # By what nobody is in a group.
    no_groups: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class _Range:
    """What a number can be; `may_miss` where it can be missing as well."""

    least: float = -math.inf
    most: float = math.inf
    may_miss: bool = True


def outcomes(node: Node, facts: Facts) -> Outcomes:
    """What a condition can come to; never less than it can, perhaps more."""
    match node:
        case Constant(value=bool() as value):
            return frozenset({value})
        case Truthy(operand=operand) | Boot(reading=operand):
            return _UNKNOWN if _range(operand, facts) is None else ANY
        case Not(operand=operand):
            inner = outcomes(operand, facts)
            return frozenset(truth if truth is UNKNOWN else not truth for truth in inner)
        case Logic(operator=operator, operands=operands):
            every = [outcomes(term, facts) for term in operands]
            return reduce(_and if operator == "and" else _or, every)
        case Comparison(operators=operators, operands=operands):
            pairs = zip(operators, operands, operands[1:], strict=False)
            return reduce(_and, [_pair(*pair, facts) for pair in pairs])
        case Invoke(name="missing" | "present", arguments=(argument,)):
            if argument.type is not Type.STRING and _range(argument, facts) is None:
                return _TRUE if node.name == "missing" else _FALSE
        case Event(kind=EventUse.HAPPENED):
            return _FALSE if facts.has_no_event(node) else ANY
        case Fold(by=by, operand=over) if over is not None:
            return _fold_outcomes(by, over, facts)
    return ANY


def _fold_outcomes(by: str, over: Node, facts: Facts) -> Outcomes:
    if by in facts.no_groups:
        return _UNKNOWN
    return ANY if True in outcomes(over, facts) else _NEVER_TRUE


def _and(left: Outcomes, right: Outcomes) -> Outcomes:
    if _FALSE in (left, right):
        return _FALSE
    possible: set[Truth] = set()
    if True in left and True in right:
        possible.add(True)
    if False in left or False in right:
        possible.add(False)
    if UNKNOWN in left or UNKNOWN in right:
        possible.add(UNKNOWN)
    return frozenset(possible)


def _or(left: Outcomes, right: Outcomes) -> Outcomes:
    return _opposite(_and(_opposite(left), _opposite(right)))


def _opposite(of: Outcomes) -> Outcomes:
    return frozenset(truth if truth is UNKNOWN else not truth for truth in of)


def _pair(operator: str, left: Node, right: Node, facts: Facts) -> Outcomes:
    if isinstance(right, Items):
        same = reduce(_or, [_pair("==", left, element, facts) for element in right.elements])
        return same if operator == "in" else _opposite(same)
    if Type.STRING in (left.type, right.type):
        return _text_outcomes(operator, left, right, facts)
    first, second = _range(left, facts), _range(right, facts)
    if first is None or second is None:
        return _UNKNOWN
    return _ordered(operator, first, second)


def _text_outcomes(operator: str, left: Node, right: Node, facts: Facts) -> Outcomes:
    if isinstance(left, Reading) and isinstance(right, Constant) and len(left.keys) == 1:
        values = facts.values.get(str(left.keys[0]))
        if values is not None and right.value not in values:
            return _NEVER_TRUE if operator == "==" else _opposite(_NEVER_TRUE)
    return ANY


def _ordered(operator: str, left: _Range, right: _Range) -> Outcomes:
    if operator in (">", ">="):
        turned = "<" if operator == ">" else "<="
        return _ordered(turned, right, left)
    possible: set[Truth] = {UNKNOWN} if left.may_miss or right.may_miss else set()
    match operator:
        case "<":
            can, cannot = left.least < right.most, left.most >= right.least
        case "<=":
            can, cannot = left.least <= right.most, left.most > right.least
        case _:
            can = cannot = True
    return frozenset(possible | ({True} if can else set()) | ({False} if cannot else set()))


def _range(node: Node, facts: Facts) -> _Range | None:
    """What a number can be; None where it is always missing."""
    match node:
        case Constant(value=value) if not isinstance(value, str):
            return _Range(float(value), float(value), False)
        case Window(reading=reading) | Boot(reading=reading):
            return _range(reading, facts)
        case Reading(keys=keys):
            series = [key for key in keys if isinstance(key, tuple)]
            absent = len(series) == len(keys) and all(key in facts.absent for key in series)
            return None if absent else _Range()
        case Event(kind=kind) if facts.has_no_event(node):
            return _Range(0.0, 0.0, False) if kind == EventUse.COUNT else None
        case Peers(by=by) | Affected(by=by) | Fold(by=by) if by in facts.no_groups:
            return None
        case Peers(operand=operand):
            return None if _range(operand, facts) is None else _Range()
        case Fold(kind="share" | "count", operand=over) if over is not None:
            return _Range(0.0, math.inf if True in outcomes(over, facts) else 0.0)
    return _Range()


def pruned(node: Node, facts: Facts) -> Node:
    """The same condition without the parts that change nothing."""
    if not isinstance(node, Logic):
        return node
    nothing = _TRUE if node.operator == "and" else _FALSE
    possible = {operand: outcomes(operand, facts) for operand in node.operands}
    kept = tuple(
        pruned(operand, facts) for operand in node.operands if possible[operand] != nothing
    )
    if not kept:
        return node
    return kept[0] if len(kept) == 1 else replace(node, operands=kept)
