"""A filter over many rows at once: the typed tree over columns, with the third truth value.

A condition is a pair of masks, true and false; where neither is set it is unknown. A number that is
missing is NaN and a text that is missing None, so that every comparison with it is neither. What is not
known here (functions, patterns, order of texts) is left to the expression itself, row by row.
"""

from collections.abc import Callable
from operator import and_, eq, ge, gt, le, lt, ne, or_
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from accelwatch.expr import Key, Type
from accelwatch.expr.checking.tree import (
    Comparison,
    Constant,
    Items,
    Logic,
    Node,
    Not,
    Reading,
    Truthy,
)
from accelwatch.fleet.table.belief import Bools, Floats

Texts = npt.NDArray[np.object_]


class UnfitError(Exception):
    """Nothing for columns."""


class Truths(NamedTuple):
    """Where a condition is true and where it is false."""

    true: Bools
    false: Bools


class Rows(Protocol):
    """The columns that may be read; each is as long as there are rows."""

    def number(self, key: Key) -> Floats:
        """A quantity or a numeric field; NaN where there is none."""
        ...

    def text(self, key: str) -> Texts:
        """A field that is text; None where there is none."""
        ...


_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
    "==": eq,
    "!=": ne,
}


def truths(node: Node, rows: Rows) -> Truths:
    """A condition over all rows. Raises UnfitError."""
    match node:
        case Not(operand=operand):
            inner = truths(operand, rows)
            return Truths(inner.false, inner.true)
        case Truthy(operand=operand):
            value = _number(operand, rows)
            return Truths((value != 0) & ~np.isnan(value), value == 0)
        case Logic(operator=operator, operands=operands):
            return _joined(operator, [truths(term, rows) for term in operands])
        case Comparison(operators=operators, operands=operands):
            pairs = zip(operators, operands, operands[1:], strict=False)
            return _joined("and", [_compared(*pair, rows) for pair in pairs])
    raise UnfitError


def _joined(operator: str, terms: list[Truths]) -> Truths:
    """Kleene's and/or."""
    true, false = terms[0]
    with_true, with_false = (and_, or_) if operator == "and" else (or_, and_)
    for term in terms[1:]:
        true, false = with_true(true, term.true), with_false(false, term.false)
    return Truths(true, false)


def _compared(operator: str, left: Node, right: Node, rows: Rows) -> Truths:
    if isinstance(right, Items):
        return _among(operator, left, right, rows)
    if Type.STRING in (left.type, right.type):
        return _texts_compared(operator, left, right, rows)
    first, second = _number(left, rows), _number(right, rows)
    is_recognised = ~(np.isnan(first) | np.isnan(second))
    true = _ORDER[operator](first, second) & is_recognised
    return Truths(true, is_recognised & ~true)


def _texts_compared(operator: str, left: Node, right: Node, rows: Rows) -> Truths:
    if operator not in ("==", "!=") or not isinstance(right, Constant):
        raise UnfitError
    return _among("in" if operator == "==" else "not in", left, Items((right,), right.type), rows)


def _among(operator: str, left: Node, right: Items, rows: Rows) -> Truths:
    constants = [element.value for element in right.elements if isinstance(element, Constant)]
    if len(constants) != len(right.elements) or not isinstance(left, Reading):
        raise UnfitError
    if left.type is Type.STRING:
        if len(left.keys) != 1 or not isinstance(left.keys[0], str):
            raise UnfitError
        texts = rows.text(left.keys[0])
        is_recognised = texts != None  # noqa: E711 - element by element
        among = np.isin(texts.astype(str), [str(constant) for constant in constants])
    else:
        value = _number(left, rows)
        is_recognised = ~np.isnan(value)
        among = np.isin(value, np.array(constants, dtype=np.float64))
    true = is_recognised & among
    inside = Truths(true, is_recognised & ~true)
    return inside if operator == "in" else Truths(inside.false, inside.true)


def _number(node: Node, rows: Rows) -> Floats:
    match node:
        case Constant(value=value) if isinstance(value, int | float):
            return np.array(float(value))
        case Reading(keys=keys, type=kind) if kind is not Type.STRING:
            numbers = rows.number(keys[0])
            for key in keys[1:]:
                numbers = np.where(np.isnan(numbers), rows.number(key), numbers)
            return numbers
    raise UnfitError
