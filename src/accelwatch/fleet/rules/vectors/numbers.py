"""Arithmetic and functions of numbers over rows; what is not finite is missing."""

from collections.abc import Callable
from operator import add, floordiv, mod, mul, sub, truediv
from typing import Any

import numpy as np

from accelwatch.expr.checking.tree import Invoke
from accelwatch.expr.vocabulary.kleene import number
from accelwatch.fleet.rules.vectors.tick import Number, Tick
from accelwatch.fleet.table.belief import Floats

ARITHMETIC: dict[str, Callable[[Any, Any], Floats]] = {
    "+": add,
    "-": sub,
    "*": mul,
    "/": truediv,
    "//": floordiv,
    "%": mod,
}

_UNITS = frozenset({"KiB", "MiB", "GiB", "TiB", "MHz", "GHz"})


def finite(values: Floats) -> Floats:
    """Missing where it is no finite number."""
    return np.where(np.isfinite(values), values, np.nan)


def function(node: Invoke, arguments: list[Number]) -> Number:
    """A function of numbers; one that is not known here is called row by row."""
    first = arguments[0]
    if node.name == "abs":
        return lambda tick: np.abs(first(tick))
    if node.name in ("min", "max"):
        least = np.minimum if node.name == "min" else np.maximum
        return lambda tick: _all_of(least, [argument(tick) for argument in arguments])
    if node.name in _UNITS:
        factor = float(node.implementation(1) or 0)
        return lambda tick: finite(first(tick) * factor)
    return lambda tick: _row_by_row(node, tick, [argument(tick) for argument in arguments])


def _all_of(how: np.ufunc, values: list[Floats]) -> Floats:
    result = values[0]
    for operand in values[1:]:
        result = how(result, operand)  # NaN of either is NaN
    return result


def _row_by_row(node: Invoke, tick: Tick, values: list[Floats]) -> Floats:
    size = tick.columns.size
    columns = [np.broadcast_to(value, size).tolist() for value in values]
    results = [
        number(node.implementation(*[number(cell) for cell in row]))
        for row in zip(*columns, strict=True)
    ]
    return np.array([np.nan if result is None else float(result) for result in results])
