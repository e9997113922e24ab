"""What a verdict rests on, in lines for people: the parts of a condition that hold, and their values."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Protocol, runtime_checkable

import msgspec

from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.verdict import Evidence
from accelwatch.expr.checking.tree import (
    Arithmetic,
    Boot,
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
from accelwatch.expr.codegen import generate_rule
from accelwatch.expr.environment import Environment
from accelwatch.expr.rule import RuleExpression
from accelwatch.expr.vocabulary.detector_names import DETECTOR, DETECTOR_FIELDS
from accelwatch.expr.vocabulary.events import EventUse
from accelwatch.expr.vocabulary.kleene import MISSING, Raw
from accelwatch.expr.vocabulary.windows import WindowKind
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.display import duration, quantity
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.series import path_of

MOST = 8
_UNITLESS = frozenset({WindowKind.CHANGED, WindowKind.SHARE})


@runtime_checkable
class EventTexts(Protocol):
    """What an environment may know of events besides their times."""

    def latest(self, pattern: EventPattern) -> ErrorEvent | None:
        """The last event that matches."""
        ...


@runtime_checkable
class Detected(Protocol):
    """What an environment may know besides: what a detector has found."""

    def detector_evidence(self, subject: str) -> tuple[Evidence, ...]:
        """What a finding about a `subject` (`device`, ...; empty: the narrowest) rests on."""
        ...


def evidence_of(rule: Rule, environment: Environment) -> tuple[Evidence, ...]:
    """Lines of evidence: the detail, what the rule shows, the parts of its condition that hold."""
    shown = [_shown(expression, environment) for expression in rule.show]
    shown += _detected(rule, environment)
    detailed = False
    if rule.detail is not None and isinstance(detail := rule.detail.value(environment), str):
        shown.insert(0, Evidence(signal=rule.detail.text, text=detail, value=detail))
        detailed = True
    satisfied: list[Evidence] = []
    for expression in (rule.when, rule.confirm):
        if expression is not None:
            satisfied += _satisfied(expression.text, expression.tree, environment)
    # That there is a finding says nothing beside what it rests on.
    satisfied = [line for line in satisfied if not line.signal.startswith(f"{DETECTOR}.")]
    # What is not there says little beside what is.
    telling = [line for line in satisfied if line.value is not None or line.since is not None]
    if not telling and not detailed:
        telling = satisfied
    by_text = {line.text: line for line in (*shown, *telling)}
    return tuple(by_text.values())[:MOST]


def _detected(rule: Rule, environment: Environment) -> Iterator[Evidence]:
    """The evidence of the findings that a condition reads."""
    if not isinstance(environment, Detected):
        return
    names = dict.fromkeys(
        key
        for node in walk(rule.when.tree)
        if isinstance(node, Reading)
        for key in node.keys
        if isinstance(key, str) and key in DETECTOR_FIELDS
    )
    for subject in dict.fromkeys(DETECTOR_FIELDS[name].subject for name in names):
        yield from environment.detector_evidence(subject)


def _shown(expression: RuleExpression, environment: Environment) -> Evidence:
    value = expression.value(environment)
    text = f"{expression.text} is {worded(expression.tree, None if value is MISSING else value)}"
    return Evidence(
        signal=_signal(expression.tree, expression.text), text=text, value=_plain(value)
    )


def _satisfied(text: str, node: Node, environment: Environment) -> Iterator[Evidence]:
    """Evidence of the smallest parts of a condition that are True and make it so."""
    match node:
        case Logic(operands=operands):
            for operand in operands:
                if _raw(operand, environment):
                    yield from _satisfied(text, operand, environment)
        case Comparison(operators=(operator,), operands=(left, right)):
            if isinstance(left, Event) and left.kind == EventUse.SINCE:
                yield _happened(text, node, left.pattern, environment)
            else:
                yield _compared(text, operator, left, right, environment)
                yield from _of_member(text, left, environment)
        case Truthy(operand=operand):
            fragment = text[operand.span[0] : operand.span[1]]
            yield Evidence(signal=_signal(operand, fragment), text=f"{fragment} is set", value=1.0)
        case Event(pattern=pattern):
            yield _happened(text, node, pattern, environment)
        case Fold(kind="any"):
            yield from _of_member(text, node, environment)
        case Not() | Fold() | Invoke() | Comparison() | Boot():
            fragment = text[node.span[0] : node.span[1]]
            yield Evidence(signal=_signal(node, fragment), text=fragment)


def _of_member(text: str, fold: Node, environment: Environment) -> Iterator[Evidence]:
    """What holds for one of those for whom the condition of a fold is True."""
    if not isinstance(fold, Fold) or fold.operand is None:
        return
    group = environment.group(fold.by)
    if group is None:
        return
    for member in group.members:
        if _raw(fold.operand, member) is True:
            name = _name(member, fold.by)
            for line in _satisfied(text, fold.operand, member):
                # An event says itself whom it is about.
                named = f"{name}: {line.text}" if name and line.since is None else line.text
                yield msgspec.structs.replace(line, text=named)
            return


def _name(member: Environment, by: str) -> str:
    """Of a member among those of its group: `nvidia3` of a node, `n12 nvidia3` of anything wider."""
    keys = ("name",) if by == "node" else ("node", "name")
    return " ".join(text for key in keys if isinstance(text := member.lookup(key), str))


def _compared(
    text: str, operator: str, left: Node, right: Node, environment: Environment
) -> Evidence:
    fragment = text[left.span[0] : left.span[1]]
    value = _raw(left, environment)
    written = text[right.span[0] : right.span[1]]
    expected = None if isinstance(right, Items) else _raw(right, environment)
    limit = written
    if not isinstance(right, Items):
        limit = worded(_measured(left, right), expected)
        if not isinstance(right, Constant):
            limit = f"{limit} ({written})"
    line = f"{fragment} is {worded(left, value)}, {operator} {limit}"
    if isinstance(left, Fold):
        line = f"{worded(left, value)} of the devices of the {left.by}, {operator} {limit}"
    if operator in ("==", "in") and isinstance(value, str):
        line = f"{fragment} is {value}"
    return Evidence(
        signal=_signal(left, fragment), text=line, value=_plain(value), expected=_plain(expected)
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
        event=event,
    )


# A storm compiles the same parts of a rule ten thousand times.
_compiled = lru_cache(maxsize=4096)(generate_rule)


def _raw(node: Node, environment: Environment) -> Raw:
    return _compiled(node)(environment)


def _plain(value: object) -> float | str | None:
    if isinstance(value, str):
        return value
    return float(value) if isinstance(value, int | float) else None


def _signal(node: Node, fragment: str) -> str:
    """The first series that a part reads; else the part itself."""
    for subnode in walk(node):
        if isinstance(subnode, Reading) and isinstance(subnode.keys[0], tuple):
            return path_of(subnode.keys[0])
    return fragment


def _measured(left: Node, right: Node) -> Node:
    """The side of a comparison that has a unit."""
    return left if isinstance(right, Constant) else right


def worded(node: Node, value: Raw) -> str:
    """A value as people see it, in the unit of what it was made from."""
    if value is None:
        return "not known"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    match node:
        case Window(kind=WindowKind.AGE) | Event(kind=EventUse.SINCE) | Boot(kind=EventUse.SINCE):
            return duration(value)
        case Window(kind=WindowKind.SHARE) | Fold(kind="share"):
            return f"{value:.0%}"
    key, per_second = _unit_of(node)
    shown = None if key is None else quantity(key, value)
    if shown is None or shown == f"{value:g}":
        shown = _rounded(value)
    return shown + per_second


def _rounded(value: float) -> str:
    """A number without a unit: whole, or with four digits that count."""
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:.0f}"


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
