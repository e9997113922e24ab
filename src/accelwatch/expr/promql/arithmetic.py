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


def arithmetic(word: str, left: Query, right: Query) -> Query:
    """`left word right`, of constants their value. Raises PromqlError."""
    if left.scalar is not None and right.scalar is not None:
        return _reckoned(word, left.scalar, right.scalar)
    if word in ("+", "-", "*"):
        return joined(left, word, right)
    if right.scalar == 0:
        raise PromqlError("a division by zero")
    divisor = right if right.scalar is not None else joined(right, "!=", constant(0))
    quotient = joined(left, "/", divisor)
    if word == "/":
        return quotient
    whole = called("floor", quotient.text)
    # Python's remainder has the sign of the divisor, that of PromQL the sign of the dividend.
    return whole if word == "//" else joined(left, "-", joined(whole, "*", right))


def _reckoned(word: str, left: float, right: float) -> Query:
    table: Mapping[str, Callable[..., float]] = {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": operator.truediv,
        "//": operator.floordiv,
        "%": operator.mod,
    }
    if word in ("/", "//", "%") and right == 0:
        raise PromqlError("a division by zero")
    value = finite(table[word](left, right))
    if value is None:
        raise PromqlError("a number that is not finite")
    return constant(value)


def invoked(name: str, values: list[Query]) -> Query:
    """A function of the language over numbers. Raises PromqlError."""
    if name in _FACTORS:
        return arithmetic("*", values[0], constant(_FACTORS[name]))
    scalars = [one.scalar for one in values if one.scalar is not None]
    if name in _OF_CONSTANTS and len(scalars) == len(values):
        return constant(_OF_CONSTANTS[name](*scalars))
    if name == "abs":
        return called("abs", values[0].text)
    if name in ("min", "max"):
        return reduce(lambda one, other: _extreme(name, one, other), values)
    raise PromqlError(f"{name} cannot be said in PromQL")


def _extreme(name: str, left: Query, right: Query) -> Query:
    """The lesser or greater of two, where both are there."""
    if left.scalar is not None:
        left, right = right, left
    if right.scalar is not None:
        return called(f"clamp_{'max' if name == 'min' else 'min'}", left.text, right.text)
    word = "<=" if name == "min" else ">="
    return joined(joined(left, word, right), "or", joined(right, word, left))
