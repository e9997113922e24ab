"""From the typed tree to PromQL: numbers are vectors, conditions are two (`Truth`)."""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

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
from accelwatch.expr.promql import events, groups, quantities, texts
from accelwatch.expr.promql.arithmetic import arithmetic, invoked
from accelwatch.expr.promql.conditions_on_text import of_text, text_condition
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
from accelwatch.expr.promql.query_context import DEVICE, NODE, Assumed, QueryContext
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
    # What differs from what the rule says, and what it needs.
    notes: tuple[str, ...]


def condition(
    scope: str, select: Node | None, clauses: Sequence[tuple[str, Node]], assumed: Assumed
) -> Generated:
    """Those whom `select` means and of whom all parts are true, each given with its text.

    Raises PromqlError.
    """
    context = QueryContext(scope, assumed)
    matchers, remaining = _matchers(select, context)
    context = QueryContext(scope, assumed, matchers, context.remarks)
    queries: list[Query] = []
    for text, clause in [*clauses, *(("", node) for node in remaining)]:
        context.remarks.text = text
        true = truth(clause, context).true
        if true is None:
            why = "; ".join(context.remarks.lefts)
            raise PromqlError(why or "the condition is never true")
        queries.append(true)
    combined = reduce(lambda first, other: joined(first, "and", other), queries)
    return Generated(combined.text, tuple(context.remarks.notes))


def _matchers(select: Node | None, context: QueryContext) -> tuple[tuple[str, ...], list[Node]]:
    """Of a selection what labels of all series can say, and the rest of it."""
    if select is None:
        return (), []
    clauses = (
        select.operands if isinstance(select, Logic) and select.operator == "and" else (select,)
    )
    matchers: list[str] = []
    remaining: list[Node] = []
    for clause in clauses:
        matched = text_condition(clause)
        label = texts.direct_label(matched[0], context) if matched else ""
        if matched and matched[2] and label and context.scope in (DEVICE, NODE):
            matchers.append(matched[1].matcher(label, fits=True))
        else:
            remaining.append(clause)
    return tuple(matchers), remaining


def truth(node: Node, context: QueryContext) -> Truth:
    """A condition. Raises PromqlError."""
    match node:
        case Constant(value=value):
            return Truth(context.everybody, None) if value else Truth(None, context.everybody)
        case Logic(operator=symbol, operands=operands):
            truths_of = _either if symbol == "or" else _all
            return _logic(symbol, truths_of(operands, context))
        case Not(operand=inner):
            return truth(inner, context).opposite
        case Truthy(operand=inner):
            return _set(inner, context)
        case Comparison():
            return _comparison(node, context)
        case Event():
            return events.happened(node, context)
        case Boot(seconds=seconds):
            return _test(
                quantities.reading(node.reading, context), "<=", constant(seconds), context
            )
        case Fold():
            return groups.condition_of(node, context, truth)
        case Invoke(type=Type.BOOL):
            return _predicate_truth(node, context)
    return _set(node, context)


def _predicate_truth(node: Invoke, context: QueryContext) -> Truth:
    if node.name not in ("missing", "present"):
        return of_text(node, context)
    there = _present(node.arguments[0], context)
    return there if node.name == "present" else there.opposite


def _all(operands: Sequence[Node], context: QueryContext) -> list[Truth]:
    return [truth(operand, context) for operand in operands]


def _either(operands: Sequence[Node], context: QueryContext) -> list[Truth]:
    """An operand that PromQL cannot express is unknown, so that it never makes anything fire."""
    truths: list[Truth] = []
    refused: list[tuple[Node, PromqlError]] = []
    for operand in operands:
        try:
            truths.append(truth(operand, context))
        except PromqlError as error:
            refused.append((operand, error))
            truths.append(Truth(None, None))
    if len(refused) == len(truths):
        raise refused[0][1]
    for operand, reason in refused:
        context.remarks.left_out(operand.span, reason)
    return truths


def _logic(symbol: str, truths: list[Truth]) -> Truth:
    join, other = (both, either) if symbol == "and" else (either, both)
    return Truth(
        reduce(join, [member.true for member in truths]),
        reduce(other, [member.false for member in truths]),
    )


def _set(node: Node, context: QueryContext) -> Truth:
    """Whether a flag is other than 0."""
    if isinstance(node, Window) and node.kind == WindowKind.CHANGED:
        grown = quantities.window(node, context)
        return _test(grown, ">", constant(0), context)
    return _test(number(node, context), "!=", constant(0), context)


def _test(left: Query, symbol: str, right: Query, context: QueryContext) -> Truth:
    if left.scalar is not None and right.scalar is not None:
        is_true = _PYTHON[symbol](left.scalar, right.scalar)
        return Truth(context.everybody, None) if is_true else Truth(None, context.everybody)
    return Truth(joined(left, symbol, right), joined(left, _NEGATED[symbol], right))


def _comparison(node: Comparison, context: QueryContext) -> Truth:
    pairs = [
        _pair(symbol, node.operands[at], node.operands[at + 1], context)
        for at, symbol in enumerate(node.operators)
    ]
    return _logic("and", pairs)


def _pair(symbol: str, left: Node, right: Node, context: QueryContext) -> Truth:
    kinds = {left.type, right.element_type if isinstance(right, Items) else right.type}
    if kinds == {Type.STRING}:
        return of_text(Comparison((symbol,), (left, right)), context)
    if Type.BOOL in kinds:
        return _alike(symbol, left, right, context)
    if not isinstance(right, Items):
        return _test(number(left, context), symbol, number(right, context), context)
    value = number(left, context)
    equal = [_test(value, "==", number(element, context), context) for element in right.elements]
    inside = _logic("or", equal)
    return inside if symbol == "in" else inside.opposite


def _alike(symbol: str, left: Node, right: Node, context: QueryContext) -> Truth:
    """Two conditions that are equal, or are not."""
    if isinstance(right, Items):
        raise PromqlError("a list of conditions")
    first, second = truth(left, context), truth(right, context)
    same = _logic(
        "or", [_logic("and", [first, second]), _logic("and", [first.opposite, second.opposite])]
    )
    return same if symbol == "==" else same.opposite


def _present(node: Node, context: QueryContext) -> Truth:
    match node:
        case Reading(keys=(str(name),), type=Type.STRING):
            return texts.present(name, context)
        case _ if node.type in (Type.NUMBER, Type.FLAG):
            query = number(node, context)
            if query.scalar is not None:
                return Truth(context.everybody, None)
        case _ if node.type is Type.BOOL:
            decided = context.remarks.require_complete(lambda: truth(node, context))
            sure = either(decided.true, decided.false)
            if sure is None:
                raise PromqlError("a condition that is never known")
            query = sure
        case _:
            raise PromqlError("whether there is a text that is no field")
    return Truth(query, without(context.everybody, query))


def number(node: Node, context: QueryContext) -> Query:
    """A number. Raises PromqlError."""
    match node:
        case Constant(value=value) if not isinstance(value, str):
            return constant(value)
        case Reading():
            return quantities.reading(node, context)
        case Arithmetic(operator=symbol, left=left, right=right):
            return arithmetic(symbol, number(left, context), number(right, context))
        case Window():
            query = quantities.window(node, context)
            return (
                joined(query, ">", constant(0), "bool")
                if node.kind == WindowKind.CHANGED
                else query
            )
        case Event() | Boot():
            return events.computed(node, context)
        case Peers():
            return groups.peers(node, context, number)
        case Fold():
            return groups.number_of(node, context, truth)
        case Invoke(name=name, arguments=arguments):
            return invoked(name, [number(argument, context) for argument in arguments])
        case Affected(rule=rule):
            raise PromqlError(f"whether the rule {rule} fires cannot be expressed in PromQL")
    raise PromqlError("this is not a number in PromQL")
