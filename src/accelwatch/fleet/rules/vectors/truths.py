"""Three-valued truth over rows: where a condition is true and where it is false; else it is unknown."""

from functools import reduce
from operator import and_, or_
from typing import NamedTuple

import numpy as np

from accelwatch.fleet.table.belief import Bools, Floats


class Truths(NamedTuple):
    """Two masks; nowhere are both set. Either may be one bool that holds for all rows."""

    true: Bools
    false: Bools


def opposite(truths: Truths) -> Truths:
    """Kleene's not."""
    return Truths(truths.false, truths.true)


def every(operands: list[Truths]) -> Truths:
    """Kleene's and."""
    return Truths(
        reduce(and_, [operand.true for operand in operands]),
        reduce(or_, [operand.false for operand in operands]),
    )


def some(operands: list[Truths]) -> Truths:
    """Kleene's or."""
    return Truths(
        reduce(or_, [operand.true for operand in operands]),
        reduce(and_, [operand.false for operand in operands]),
    )


def compared(operator: str, left: Floats, right: Floats) -> Truths:
    """Two numbers; of a missing one nothing is known, because NaN is neither less nor more."""
    match operator:
        case "<":
            return Truths(left < right, left >= right)
        case "<=":
            return Truths(left <= right, left > right)
        case ">":
            return Truths(left > right, left <= right)
        case ">=":
            return Truths(left >= right, left < right)
    differs = (left < right) | (left > right)
    return Truths(left == right, differs) if operator == "==" else Truths(differs, left == right)


def as_number(truths: Truths) -> Floats:
    """1 where it is true, 0 where false, else missing."""
    return np.where(truths.true, 1.0, np.where(truths.false, 0.0, np.nan))
