"""The meaning of rules, written a second time as plainly as it can be: recursion over the typed tree.

Nothing is shared with the code that it judges but the tree, the functions of single values and the
figures of docs/expressions.md.
"""

import math
import operator
from collections.abc import Callable
from statistics import median
from typing import Any

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
from accelwatch.expr.vocabulary.kleene import MISSING
from support.rules.rule_worlds import Row

UPTIME = ("host_uptime_seconds",)
Answer = float | int | str | bool | None
_COMPUTE = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "in": lambda left, right: operator.contains(right, left),
    "not in": lambda left, right: not operator.contains(right, left),
}


def naive(node: Node, row: Row) -> Answer:
    """The value for one device; None is missing or unknown."""
    match node:
        case Constant(value=value):
            return value
        case Reading(keys=keys):
            return first([row.lookup(key) for key in keys])
        case Window(reading=reading, kind=kind, seconds=seconds, quantile=quantile):
            series = [key for key in reading.keys if isinstance(key, tuple)]
            return first([row.window(kind, key, seconds, quantile) for key in series])
        case Not(operand=operand):
            return opposite(naive(operand, row))
        case Truthy(operand=operand):
            flag = naive(operand, row)
            return None if flag is None else flag != 0
        case Logic(operator=joined, operands=operands):
            values = [naive(one, row) for one in operands]
            return all_of(values) if joined == "and" else any_of(values)
        case Comparison(operators=operators, operands=operands):
            pairs = zip(operators, operands, operands[1:], strict=False)
            return all_of([compared(name, left, right, row) for name, left, right in pairs])
        case Arithmetic(operator=name, left=left, right=right):
            return computed(name, naive(left, row), naive(right, row))
        case Invoke(implementation=implementation, arguments=arguments):
            return implementation(*[naive(one, row) for one in arguments])
    return of_rule(node, row)


def of_rule(node: Node, row: Row) -> Answer:
    match node:
        case Event(kind="count", pattern=pattern, seconds=seconds):
            return row.occurrences(pattern, seconds)
        case Event(until_boot=True, pattern=pattern):
            return since_boot(row, row.last(pattern))
        case Event(kind=kind, pattern=pattern, seconds=seconds):
            last = row.last(pattern)
            if last is None:
                return None
            ago = row.now - last
            if kind == "event":
                return ago <= seconds
            return None if math.isinf(ago) else ago if kind == "since" else last
        case Boot():
            return booted(node, row)
        case Affected(rule=rule, by=by):
            rows, _ = members(row, by)
            firing = [one.firing(rule) for one in rows]
            return None if not rows or None in firing else firing.count(True)
        case Fold(kind=kind, by=by, operand=operand):
            rows, _ = members(row, by)
            return folded(kind, [True if operand is None else naive(operand, one) for one in rows])
        case Peers(kind=kind, by=by, operand=operand):
            rows, own = members(row, by)
            values = [naive(operand, one) for one in rows]
            return peered(kind, values, own)
    raise AssertionError(node)


def booted(node: Boot, row: Row) -> Answer:
    uptime = row.lookup(UPTIME)
    if not isinstance(uptime, int | float):
        return None
    if node.kind == "event":
        return uptime <= node.seconds
    return uptime if node.kind == "since" else row.now - uptime


def since_boot(row: Row, last: float | None) -> Answer:
    if last is None:
        return None
    ago, uptime = row.now - last, row.lookup(UPTIME)
    if ago > 30 * 86400:
        return False
    if isinstance(uptime, int | float):
        return ago < uptime + 5
    if ago <= 600:
        return True
    return False if row.window("age", UPTIME, 0, None) is None else None


def first(found: list[object]) -> Answer:
    for one in found:
        if one is not MISSING and one is not None:
            assert isinstance(one, float | int | str)
            return one
    return None


def members(row: Row, by: str) -> tuple[list[Row], int]:
    groups = row.world.groups[by]
    mine = groups[row.at]
    if mine is None:
        return [], 0
    same = [at for at in range(row.world.size) if groups[at] == mine]
    return [Row(row.world, at) for at in same], same.index(row.at)


def folded(kind: str, truths: list[Answer]) -> Answer:
    if not truths:
        return None
    if kind == "any":
        return any_of(truths)
    if kind == "all":
        return all_of(truths)
    known = [one for one in truths if one is not None]
    if len(known) * 2 < len(truths):
        return None
    count = sum(bool(one) for one in known)
    return count if kind == "count" else count / len(known)


def peered(kind: str, values: list[Answer], own: int) -> Answer:
    numbers = [one if isinstance(one, float | int) else None for one in values]
    others = [one for at, one in enumerate(numbers) if at != own and one is not None]
    if len(others) < 3:
        return None
    mine = numbers[own]
    basis = others + ([mine] if len(values) >= 8 and mine is not None else [])
    level = median(basis)
    if kind == "median":
        return level
    if mine is None:
        return None
    if mine == level:
        return 0
    spread = max(1.4826 * median(abs(one - level) for one in basis), 0.005 * abs(level))
    return None if spread == 0 else (mine - level) / spread


def all_of(values: list[Answer]) -> Answer:
    if any(value is not None and not value for value in values):
        return False
    return None if None in values else True


def any_of(values: list[Answer]) -> Answer:
    return opposite(all_of([opposite(value) for value in values]))


def opposite(value: Answer) -> Answer:
    return None if value is None else not value


def computed(name: str, left: Answer, right: Answer) -> Answer:
    if left is None or right is None or (name in ("/", "//", "%") and right == 0):
        return None
    result: float = _COMPUTE[name](left, right)
    return result if math.isfinite(result) else None


def compared(name: str, left: Node, right: Node, row: Row) -> Answer:
    value = naive(left, row)
    if not isinstance(right, Items):
        other = naive(right, row)
        return None if value is None or other is None else bool(_COMPARE[name](value, other))
    found = any_of(
        [
            None if value is None or (element := naive(one, row)) is None else value == element
            for one in right.elements
        ]
    )
    return found if name == "in" else opposite(found)
