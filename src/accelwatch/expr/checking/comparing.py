"""What can be compared with what, and vendors under their names of today."""

from collections.abc import Sequence
from dataclasses import replace

from accelwatch.expr.checking.tree import (
    Constant,
    Items,
    Node,
    Reading,
)
from accelwatch.expr.vocabulary.names import Type
from accelwatch.schema.renamed import current_vendor

NUMBERS = frozenset({Type.NUMBER, Type.FLAG})

_CONDITIONS = frozenset({Type.BOOL, Type.FLAG})


def comparable(left: Type, right: Type) -> bool:
    """Whether values of two types can be compared: flags with numbers and conditions too."""
    if left is right:
        return left is not Type.LIST
    return {left, right} <= NUMBERS or {left, right} == _CONDITIONS


def plural(items: Items) -> str:
    """What the elements of a list are, as errors say it."""
    return {"a number": "numbers", "a flag": "flags", "a condition": "conditions"}.get(
        items.element_type, "text"
    )


def with_current_vendors(operands: Sequence[Node]) -> tuple[Node, ...]:
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
