"""The typed tree: an expression after its names, types and calls have been checked."""

from dataclasses import dataclass

from accelwatch.expr.functions import Implementation
from accelwatch.expr.kleene import Key, Value
from accelwatch.expr.names import Type


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal, or a call of constants that was worked out already."""

    value: Value
    type: Type


@dataclass(frozen=True, slots=True)
class Reading:
    """A name: the first of `keys` that has a value."""

    keys: tuple[Key, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left operator right`, a number; missing if an operand is or the result is not finite."""

    operator: str
    left: "Node"
    right: "Node"
    type: Type = Type.NUMBER


@dataclass(frozen=True, slots=True)
class Comparison:
    """`operands[0] operators[0] operands[1] operators[1] ...`, of which the pairs are joined by and."""

    operators: tuple[str, ...]
    operands: tuple["Node", ...]
    type: Type = Type.BOOL


@dataclass(frozen=True, slots=True)
class Items:
    """The list at the right of `in`; its elements are of one type."""

    elements: tuple["Node", ...]
    element_type: Type
    type: Type = Type.LIST


@dataclass(frozen=True, slots=True)
class Logic:
    """`and` or `or` over conditions."""

    operator: str
    operands: tuple["Node", ...]
    type: Type = Type.BOOL


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of a condition."""

    operand: "Node"
    type: Type = Type.BOOL


@dataclass(frozen=True, slots=True)
class Truthy:
    """A flag used as a condition: whether it is other than 0."""

    operand: "Node"
    type: Type = Type.BOOL


@dataclass(frozen=True, slots=True)
class Invoke:
    """A call of a function of the table."""

    implementation: Implementation
    arguments: tuple["Node", ...]
    type: Type


Node = Constant | Reading | Arithmetic | Comparison | Items | Logic | Not | Truthy | Invoke
