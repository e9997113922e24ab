"""The values of the language and its third truth value.

Inside compiled code `None` stands for both absence and Unknown; the names here are what callers see.
"""

from collections.abc import Callable
from enum import Enum
from typing import Final, NoReturn

from accelwatch.schema.metrics import Series

Key = str | Series
"""What a lookup is asked for: the name of an identity field, or a series (key, *label values)."""

Value = float | int | str | bool
"""What a device can say."""

Raw = Value | None
"""A value inside compiled code, where None is absence and Unknown."""


class Missing(Enum):
    """Type of `MISSING`, so that a type checker can tell it from a value."""

    MISSING = "missing"


class Unknown(Enum):
    """Type of `UNKNOWN`. It has no truth value: compare with `is True`, `is False`, `is UNKNOWN`."""

    UNKNOWN = "unknown"

    def __bool__(self) -> NoReturn:
        raise TypeError("UNKNOWN is neither true nor false: compare with `is True` or `is False`")


MISSING: Final = Missing.MISSING
"""A lookup answers this for a quantity or field that is absent or stale."""

UNKNOWN: Final = Unknown.UNKNOWN
"""A condition is this when a reading that could decide it is missing."""

Truth = bool | Unknown

Lookup = Callable[[Key], Value | Missing]
"""Gives the current value of a key; must not raise for a key that the device does not have."""

INTEGER_LIMIT: Final = 2**64
"""Integers of this magnitude and above are no reading: counters of drivers have at most 64 bits."""

_INFINITY = float("inf")


def number(value: object) -> float | int | None:
    """The value if it is a finite number of at most 64 bits, else None."""
    if isinstance(value, int):
        return int(value) if -INTEGER_LIMIT < value < INTEGER_LIMIT else None
    if isinstance(value, float):
        return value if -_INFINITY < value < _INFINITY else None
    return None


def text(value: object) -> str | None:
    """The value if it is a string, else None."""
    return value if isinstance(value, str) else None


def first_number(lookup: Lookup, keys: tuple[Key, ...]) -> float | int | None:
    """The value of the first of `keys` that has one."""
    for key in keys:
        value = number(lookup(key))
        if value is not None:
            return value
    return None
