"""What a verdict rests on, in lines for people: the parts of a condition that hold, and their values."""

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from accelwatch.display import duration, quantity
from accelwatch.expr.codegen import generate_rule
from accelwatch.expr.environment import Environment
from accelwatch.expr.kleene import MISSING, Raw
from accelwatch.expr.rule import RuleExpression
from accelwatch.expr.tree import (
    Arithmetic,
    Comparison,
    Constant,
    Event,
    EventPattern,
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
    walk,
)
from accelwatch.expr.windows import WindowKind
from accelwatch.rules.rule import Rule
from accelwatch.rules.verdict import Evidence
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.metrics import by_key
from accelwatch.schema.series import path_of

MOST = 8
_UNITLESS = frozenset({WindowKind.CHANGED, WindowKind.SHARE})


@runtime_checkable
class EventTexts(Protocol):
    """What an environment may know of events besides their times."""

    def latest(self, pattern: EventPattern) -> ErrorEvent | None:
        """The last event that matches."""
        ...


def evidence_of(rule: Rule, environment: Environment) -> tuple[Evidence, ...]:
    """Lines of evidence, what the rule shows first; else the parts of its condition that hold."""
    lines = [_shown(expression, environment) for expression in rule.show]
    for expression in (rule.when, rule.confirm):
        if expression is not None:
            lines += _holding(expression.text, expression.tree, environment)
    by_text = {one.text: one for one in lines}
    return tuple(by_text.values())[:MOST]


def _shown(expression: RuleExpression, environment: Environment) -> Evidence:
    value = expression.value(environment)
    text = f"{expression.text} is {_words(expression.tree, None if value is MISSING else value)}"
    return Evidence(
        signal=_signal(expression.tree, expression.text), text=text, value=_plain(value)
    )


def _holding(text: str, node: Node, environment: Environment) -> Iterator[Evidence]:
    """Evidence of the smallest parts of a condition that are True and make it so."""
    match node:
        case Logic(operands=operands):
            for operand in operands:
                if _raw(operand, environment):
                    yield from _holding(text, operand, environment)
        case Comparison(operators=(operator,), operands=(left, right)):
            yield _compared(text, operator, left, right, environment)
        case Truthy(operand=operand):
            words = text[operand.span[0] : operand.span[1]]
            yield Evidence(signal=_signal(operand, words), text=f"{words} is set", value=1.0)
        case Event(pattern=pattern):
            yield _happened(text, node, pattern, environment)
        case Fold(kind="any", operand=Event() as operand):
            yield from _holding(text, operand, _first(operand, node.by, environment))
        case Not() | Fold() | Invoke() | Comparison():
            words = text[node.span[0] : node.span[1]]
            yield Evidence(signal=_signal(node, words), text=words)


def _first(operand: Node, by: str, environment: Environment) -> Environment:
    """The first member of a group for which a condition is True."""
    group = environment.group(by)
    members = () if group is None else group.members
    return next((one for one in members if _raw(operand, one) is True), environment)


def _compared(
    text: str, operator: str, left: Node, right: Node, environment: Environment
) -> Evidence:
    words = text[left.span[0] : left.span[1]]
    value = _raw(left, environment)
    written = text[right.span[0] : right.span[1]]
    expected = None if isinstance(right, Items) else _raw(right, environment)
    limit = written
    if not isinstance(right, Items):
        limit = _words(_measured(left, right), expected)
        if not isinstance(right, Constant):
            limit = f"{written}, which is {limit}"
    told = f"{words} is {_words(left, value)}, {operator} {limit}"
    if operator in ("==", "in") and isinstance(value, str):
        told = f"{words} is {value}"
    return Evidence(
        signal=_signal(left, words), text=told, value=_plain(value), expected=_plain(expected)
    )


def _happened(text: str, node: Node, pattern: EventPattern, environment: Environment) -> Evidence:
    event = environment.latest(pattern) if isinstance(environment, EventTexts) else None
    if event is None:
        return Evidence(signal=pattern.kind, text=text[node.span[0] : node.span[1]])
    return Evidence(
        signal=event.code,
        text=f"{event.code}: {event.text}",
        since=event.time,
        source=event.source,
        trusted=event.trusted,
    )


def _raw(node: Node, environment: Environment) -> Raw:
    return generate_rule(node)(environment)


def _plain(value: object) -> float | str | None:
    if isinstance(value, str):
        return value
    return float(value) if isinstance(value, int | float) else None


def _signal(node: Node, words: str) -> str:
    """The first series that a part asks about; else the part itself."""
    for part in walk(node):
        if isinstance(part, Reading) and isinstance(part.keys[0], tuple):
            return path_of(part.keys[0])
    return words


def _measured(left: Node, right: Node) -> Node:
    """The side of a comparison that has a unit."""
    return left if isinstance(right, Constant) else right


def _words(node: Node, value: Raw) -> str:
    """A value as people see it, in the unit of what it was made from."""
    if value is None:
        return "not known"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(node, Window) and node.kind == WindowKind.AGE:
        return duration(value)
    key, per_second = _unit_of(node)
    if key is None:
        return f"{value:.4g}" if isinstance(value, float) else str(value)
    return quantity(key, value) + per_second


def _unit_of(node: Node) -> tuple[str | None, str]:
    """The key whose unit a part has, and what is behind the unit; None where it has none."""
    match node:
        case Reading(keys=(tuple() as series, *_)):
            return series[0], ""
        case Window(kind=WindowKind.RATE, reading=Reading(keys=(tuple() as series, *_))):
            seconds = by_key()[series[0]].unit == "seconds"
            return (None, "") if seconds else (series[0], "/s")
        case Window(kind=kind, reading=Reading(keys=(tuple() as series, *_))):
            return (None, "") if kind in _UNITLESS else (series[0], "")
        case Peers(kind="median", operand=operand):
            return _unit_of(operand)
        case Arithmetic(operator="*" | "+" | "-", left=left, right=right):
            return _unit_of(left if isinstance(right, Constant) else right)
    return None, ""
