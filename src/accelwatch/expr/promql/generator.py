"""From the typed tree to PromQL: numbers are vectors, conditions are two (`Truth`)."""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from accelwatch.expr.checking.tree import (
    Affected,
    Arithmetic,
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
from accelwatch.expr.promql import events, groups, quantities, texts
from accelwatch.expr.promql.arithmetic import arithmetic, invoked
from accelwatch.expr.promql.conditions_on_text import asked_text, of_text
from accelwatch.expr.promql.place import DEVICE, NODE, Assumed, Place
from accelwatch.expr.promql.query import (
    PromqlError,
    Query,
    Truth,
    both,
    constant,
    either,
    joined,
    without,
)
from accelwatch.expr.vocabulary.names import Type
from accelwatch.expr.vocabulary.windows import WindowKind

_NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_PYTHON: Mapping[str, Callable[..., bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Generated:
    """A condition as PromQL: a series for each entity of which it is true."""

    text: str
    notes: tuple[str, ...]
    """What differs from what the rule says, and what it needs."""


def condition(
    scope: str, select: Node | None, parts: Sequence[tuple[str, Node]], assumed: Assumed
) -> Generated:
    """Those whom `select` means and of whom all parts are true, each given with its text.

    Raises PromqlError.
    """
    place = Place(scope, assumed)
    matchers, rest = _matchers(select, place)
    place = Place(scope, assumed, matchers, place.remarks)
    found: list[Query] = []
    for text, part in [*parts, *(("", one) for one in rest)]:
        place.remarks.text = text
        true = truth(part, place).true
        if true is None:
            why = "; ".join(place.remarks.lefts)
            raise PromqlError(why or "the condition is never true")
        found.append(true)
    whole = reduce(lambda one, other: joined(one, "and", other), found)
    return Generated(whole.text, tuple(place.remarks.notes))


def _matchers(select: Node | None, place: Place) -> tuple[tuple[str, ...], list[Node]]:
    """Of a selection what labels of all series can say, and the rest of it."""
    if select is None:
        return (), []
    parts = select.operands if isinstance(select, Logic) and select.operator == "and" else (select,)
    matchers: list[str] = []
    rest: list[Node] = []
    for part in parts:
        found = asked_text(part)
        label = texts.direct_label(found[0], place) if found else ""
        if found and found[2] and label and place.scope in (DEVICE, NODE):
            matchers.append(found[1].matcher(label, fits=True))
        else:
            rest.append(part)
    return tuple(matchers), rest


def truth(node: Node, place: Place) -> Truth:
    """A condition. Raises PromqlError."""
    match node:
        case Constant(value=value):
            return Truth(place.everybody, None) if value else Truth(None, place.everybody)
        case Logic(operator=word, operands=operands):
            said = _either if word == "or" else _all
            return _logic(word, said(operands, place))
        case Not(operand=inner):
            return truth(inner, place).opposite
        case Truthy(operand=inner):
            return _set(inner, place)
        case Comparison():
            return _comparison(node, place)
        case Event():
            return events.happened(node, place)
        case Fold():
            return groups.condition_of(node, place, truth)
        case Invoke(type=Type.BOOL):
            return _asked(node, place)
    return _set(node, place)


def _asked(node: Invoke, place: Place) -> Truth:
    if node.name not in ("missing", "present"):
        return of_text(node, place)
    there = _present(node.arguments[0], place)
    return there if node.name == "present" else there.opposite


def _all(operands: Sequence[Node], place: Place) -> list[Truth]:
    return [truth(one, place) for one in operands]


def _either(operands: Sequence[Node], place: Place) -> list[Truth]:
    """What cannot be said of several is not known, so that it never makes anything fire."""
    parts: list[Truth] = []
    refused: list[tuple[Node, PromqlError]] = []
    for one in operands:
        try:
            parts.append(truth(one, place))
        except PromqlError as error:
            refused.append((one, error))
            parts.append(Truth(None, None))
    if len(refused) == len(parts):
        raise refused[0][1]
    for one, reason in refused:
        place.remarks.left_out(one.span, reason)
    return parts


def _logic(word: str, parts: list[Truth]) -> Truth:
    join, other = (both, either) if word == "and" else (either, both)
    return Truth(
        reduce(join, [one.true for one in parts]), reduce(other, [one.false for one in parts])
    )


def _set(node: Node, place: Place) -> Truth:
    """Whether a flag is other than 0."""
    if isinstance(node, Window) and node.kind == WindowKind.CHANGED:
        grown = quantities.window(node, place)
        return _test(grown, ">", constant(0), place)
    return _test(number(node, place), "!=", constant(0), place)


def _test(left: Query, word: str, right: Query, place: Place) -> Truth:
    if left.scalar is not None and right.scalar is not None:
        holds = _PYTHON[word](left.scalar, right.scalar)
        return Truth(place.everybody, None) if holds else Truth(None, place.everybody)
    return Truth(joined(left, word, right), joined(left, _NEGATED[word], right))


def _comparison(node: Comparison, place: Place) -> Truth:
    pairs = [
        _pair(word, node.operands[at], node.operands[at + 1], place)
        for at, word in enumerate(node.operators)
    ]
    return _logic("and", pairs)


def _pair(word: str, left: Node, right: Node, place: Place) -> Truth:
    kinds = {left.type, right.element_type if isinstance(right, Items) else right.type}
    if kinds == {Type.STRING}:
        return of_text(Comparison((word,), (left, right)), place)
    if Type.BOOL in kinds:
        return _alike(word, left, right, place)
    if not isinstance(right, Items):
        return _test(number(left, place), word, number(right, place), place)
    value = number(left, place)
    equal = [_test(value, "==", number(one, place), place) for one in right.elements]
    inside = _logic("or", equal)
    return inside if word == "in" else inside.opposite


def _alike(word: str, left: Node, right: Node, place: Place) -> Truth:
    """Two conditions that are equal, or are not."""
    if isinstance(right, Items):
        raise PromqlError("a list of conditions")
    first, second = truth(left, place), truth(right, place)
    same = _logic(
        "or", [_logic("and", [first, second]), _logic("and", [first.opposite, second.opposite])]
    )
    return same if word == "==" else same.opposite


def _present(node: Node, place: Place) -> Truth:
    match node:
        case Reading(keys=(str(name),), type=Type.STRING):
            return texts.present(name, place)
        case _ if node.type in (Type.NUMBER, Type.FLAG):
            told = number(node, place)
            if told.scalar is not None:
                return Truth(place.everybody, None)
        case _ if node.type is Type.BOOL:
            both_ways = place.remarks.whole(lambda: truth(node, place))
            sure = either(both_ways.true, both_ways.false)
            if sure is None:
                raise PromqlError("a condition that is never known")
            told = sure
        case _:
            raise PromqlError("whether there is a text that is no field")
    return Truth(told, without(place.everybody, told))


def number(node: Node, place: Place) -> Query:
    """A number. Raises PromqlError."""
    match node:
        case Constant(value=value) if not isinstance(value, str):
            return constant(value)
        case Reading():
            return quantities.reading(node, place)
        case Arithmetic(operator=word, left=left, right=right):
            return arithmetic(word, number(left, place), number(right, place))
        case Window():
            found = quantities.window(node, place)
            return (
                joined(found, ">", constant(0), "bool")
                if node.kind == WindowKind.CHANGED
                else found
            )
        case Event():
            return events.reckoned(node, place)
        case Peers():
            return groups.peers(node, place, number)
        case Fold():
            return groups.number_of(node, place, truth)
        case Invoke(name=name, arguments=arguments):
            return invoked(name, [number(one, place) for one in arguments])
        case Affected(rule=rule):
            raise PromqlError(f"whether the rule {rule} fires cannot be expressed in PromQL")
    raise PromqlError("this is not a number in PromQL")
