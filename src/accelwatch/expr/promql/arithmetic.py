"""Numbers reckoned with numbers; what would not be finite is missing, as in the language."""

import operator
from collections.abc import Callable, Mapping
from functools import reduce

from accelwatch.expr.codegen import finite
from accelwatch.expr.promql.query import PromqlError, Query, called, constant, joined

_FACTORS = {
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
    "MHz": 10**6,
    "GHz": 10**9,
}


_OF_CONSTANTS: Mapping[str, Callable[..., float]] = {"abs": abs, "min": min, "max": max}


def arithmetic(symbol: str, left: Query, right: Query) -> Query:
    """`left word right`, of constants their value. Raises PromqlError."""
    if left.scalar is not None and right.scalar is not None:
        return _computed(symbol, left.scalar, right.scalar)
    if symbol in ("+", "-", "*"):
        return joined(left, symbol, right)
    if right.scalar == 0:
        raise PromqlError("a division by zero")
    divisor = right if right.scalar is not None else joined(right, "!=", constant(0))
    quotient = joined(left, "/", divisor)
    if symbol == "/":
        return quotient
    floored = called("floor", quotient.text)
    # Python's remainder has the sign of the divisor, that of PromQL the sign of the dividend.
    return floored if symbol == "//" else joined(left, "-", joined(floored, "*", right))


def _computed(symbol: str, left: float, right: float) -> Query:
    table: Mapping[str, Callable[..., float]] = {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": operator.truediv,
        "//": operator.floordiv,
        "%": operator.mod,
    }
    if symbol in ("/", "//", "%") and right == 0:
        raise PromqlError("a division by zero")
    value = finite(table[symbol](left, right))
    if value is None:
        raise PromqlError("a number that is not finite")
    return constant(value)


def invoked(name: str, values: list[Query]) -> Query:
    """A function of the language over numbers. Raises PromqlError."""
    if name in _FACTORS:
        return arithmetic("*", values[0], constant(_FACTORS[name]))
    scalars = [query.scalar for query in values if query.scalar is not None]
    if name in _OF_CONSTANTS and len(scalars) == len(values):
        return constant(_OF_CONSTANTS[name](*scalars))
    if name == "abs":
        return called("abs", values[0].text)
    if name in ("min", "max"):
        return reduce(lambda first, other: _extreme(name, first, other), values)
    raise PromqlError(f"{name} cannot be expressed in PromQL")


def _extreme(name: str, left: Query, right: Query) -> Query:
    """The lesser or greater of two, where both are there."""
    if left.scalar is not None:
        left, right = right, left
    if right.scalar is not None:
        return called(f"clamp_{'max' if name == 'min' else 'min'}", left.text, right.text)
    symbol = "<=" if name == "min" else ">="
    return joined(joined(left, symbol, right), "or", joined(right, symbol, left))
