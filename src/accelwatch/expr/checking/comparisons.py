"""Checks comparisons: what can be compared with what, and words that a field can never be.

Vendors are compared under their names of today.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace

from accelwatch.expr.checking.tree import Comparison, Constant, Items, Node, Reading
from accelwatch.expr.checking.typing_pass import Typing
from accelwatch.expr.vocabulary.names import Type
from accelwatch.schema.renamed import current_vendor

NUMBERS = frozenset({Type.NUMBER, Type.FLAG})

_CONDITIONS = frozenset({Type.BOOL, Type.FLAG})

_COMPARISON: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}


def comparison(typing: Typing, node: ast.Compare) -> Node:
    """The typed comparison; raises ExpressionError."""
    sources = (node.left, *node.comparators)
    operands = _with_current_vendors([typing.typed(source) for source in sources])
    operators = tuple(_COMPARISON[type(op)] for op in node.ops)
    for index, operator in enumerate(operators):
        left, right = operands[index], operands[index + 1]
        if left.type is Type.LIST:
            raise typing.refusal(sources[index], "a list is only allowed after in")
        if operator in ("in", "not in"):
            _check_membership(typing, sources[index + 1], left, right)
        else:
            _check_pair(typing, sources[index + 1], operator, left, right)
        _check_texts(typing, sources[index + 1], left, right)
        if operator in ("==", "!="):
            _check_texts(typing, sources[index], right, left)
    return Comparison(operators, operands)


def _check_membership(typing: Typing, source: ast.expr, left: Node, right: Node) -> None:
    if isinstance(right, Items):
        if not comparable(left.type, right.element_type):
            message = f"{left.type} cannot be in a list whose elements are {_plural(right)}"
            raise typing.refusal(source, message)
    elif not (left.type is Type.STRING and right.type is Type.STRING):
        message = f"after in stands a list or text, but this is {right.type}"
        raise typing.refusal(source, message, 'write for example vendor in ("amd", "intel")')


def _check_pair(typing: Typing, source: ast.expr, operator: str, left: Node, right: Node) -> None:
    if not comparable(left.type, right.type):
        raise typing.refusal(source, f"{left.type} cannot be compared with {right.type}")
    if operator not in ("==", "!=") and not {left.type, right.type} <= NUMBERS:
        hint = "write version_lt(a, b) to compare versions" if left.type is Type.STRING else ""
        raise typing.refusal(source, f"{operator} compares numbers, but this is {right.type}", hint)


def _check_texts(typing: Typing, source: ast.expr, named: Node, compared: Node) -> None:
    """Refuse a word that the named field can never be, as in state == "okay"."""
    if not (isinstance(named, Reading) and isinstance(named.keys[0], str)):
        return
    elements = compared.elements if isinstance(compared, Items) else (compared,)
    sources = source.elts if isinstance(source, ast.List | ast.Tuple) else [source]
    for element, item_source in zip(elements, sources, strict=True):
        if isinstance(element, Constant) and isinstance(element.value, str):
            fault = typing.names.invalid_value(named.keys[0], element.value)
            if fault is not None:
                raise typing.refusal(item_source, fault.message, fault.hint)


def comparable(left: Type, right: Type) -> bool:
    """Whether values of two types can be compared: flags with numbers and conditions too."""
    if left is right:
        return left is not Type.LIST
    return {left, right} <= NUMBERS or {left, right} == _CONDITIONS


def _plural(items: Items) -> str:
    """What the elements of a list are, as errors say it."""
    return {"a number": "numbers", "a flag": "flags", "a condition": "conditions"}.get(
        items.element_type, "text"
    )


def _with_current_vendors(operands: Sequence[Node]) -> tuple[Node, ...]:
    """What the vendor is compared with under its name of today: rules of people live long."""
    if not any(
        isinstance(operand, Reading) and operand.keys[0] == "vendor" for operand in operands
    ):
        return tuple(operands)
    return tuple(map(_under_current_name, operands))


def _under_current_name(operand: Node) -> Node:
    match operand:
        case Constant(value=str(vendor)):
            return replace(operand, value=current_vendor(vendor))
        case Items(elements=elements):
            return replace(operand, elements=tuple(map(_under_current_name, elements)))
    return operand
