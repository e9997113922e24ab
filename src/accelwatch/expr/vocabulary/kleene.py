"""The values of the language and its third truth value.

Inside compiled code `None` stands for both absence and Unknown; the names here are what callers see.
"""

from collections.abc import Callable
from enum import Enum
from typing import Final, NoReturn

from accelwatch.schema.metrics import Series

# The key of a lookup: the name of an identity field, or a series (key, *label values).
Key = str | Series

# What a device can say.
Value = float | int | str | bool

# A value inside compiled code, where None is absence and Unknown.
Raw = Value | None


class Missing(Enum):
    """Type of `MISSING`, so that a type checker can distinguish it from a value."""

    MISSING = "missing"


class Unknown(Enum):
    """Type of `UNKNOWN`. It has no truth value: compare with `is True`, `is False`, `is UNKNOWN`."""

    UNKNOWN = "unknown"

    def __bool__(self) -> NoReturn:
        raise TypeError("UNKNOWN is neither true nor false: compare with `is True` or `is False`")


# A lookup answers this for a quantity or field that is absent or stale.
MISSING: Final = Missing.MISSING

# A condition is this when a reading that could decide it is missing.
UNKNOWN: Final = Unknown.UNKNOWN

Truth = bool | Unknown

# Gives the current value of a key; must not raise for a key that the device does not have.
Lookup = Callable[[Key], Value | Missing]

# Integers of this magnitude and above are no reading: counters of drivers have at most 64 bits.
INTEGER_LIMIT: Final = 2**64

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
