"""Numbers with units as vendors' tools print them: `38C`, `43.9 W`, `2.4GiB`, `98.7%`, `N/A`.

Pure, and never raises: what is no number of the expected unit is an absence with its reason.
"""

import math
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from accelwatch.base.absence import Absence

# Factor to the base unit by unit in lower case; `""` where a bare number is meant.
Units = Mapping[str, float]

CELSIUS: Units = MappingProxyType({"": 1.0, "c": 1.0, "°c": 1.0, "mc": 1e-3})
WATTS: Units = MappingProxyType({"": 1.0, "w": 1.0, "mw": 1e-3, "uw": 1e-6, "kw": 1e3})
# To a ratio.
PERCENT: Units = MappingProxyType({"": 0.01, "%": 0.01})
HERTZ: Units = MappingProxyType({"hz": 1.0, "khz": 1e3, "mhz": 1e6, "ghz": 1e9})
VOLTS: Units = MappingProxyType({"v": 1.0, "mv": 1e-3, "uv": 1e-6})
COUNT: Units = MappingProxyType({"": 1.0})
AMPERES: Units = MappingProxyType({"a": 1.0, "ma": 1e-3})
# As the units are defined; a vendor that writes MB and means MiB has a table of its own.
BYTES: Units = MappingProxyType(
    {
        "b": 1.0,
        **{f"{letter}b": 1000.0**power for power, letter in enumerate("kmgt", 1)},
        **{f"{letter}ib": 1024.0**power for power, letter in enumerate("kmgt", 1)},
    }
)

# A comma before one digit or two is that of a locale with decimal commas; before three it could part
# thousands, and nobody knows which.
_NUMBER = re.compile(
    r"([+-]?\d{1,20}(?:\.\d{1,20}|,\d{1,2}(?!\d))?(?:[eE][+-]?\d{1,3})?)\s*([^\d\s]\S*)?"
)
_UNSUPPORTED = frozenset(
    {"", "-", "--", "n/a", "na", "none", "null", "unknown", "not supported", "unsupported"}
)


def quantity(value: object, units: Units) -> float | Absence:
    """The number in base units; `unsupported` where nothing is given, `error` where it is no number."""
    if value is None:
        return Absence.UNSUPPORTED
    if isinstance(value, str):
        return _of_text(value, units)
    if isinstance(value, bool) or not isinstance(value, int | float) or "" not in units:
        return Absence.ERROR
    return _finite(value, units[""])


def integer(value: object, units: Units) -> int | Absence:
    """The same as a whole number, such as one of bytes or of errors."""
    number = quantity(value, units)
    return number if isinstance(number, Absence) else round(number)


def first_quantity(values: Iterable[object], units: Units) -> float | Absence:
    """The first that is a number, of those that are given; else why the first of them is none."""
    answers = [quantity(value, units) for value in values if value is not None]
    numbers = (answer for answer in answers if not isinstance(answer, Absence))
    return next(numbers, answers[0] if answers else Absence.UNSUPPORTED)


def _of_text(text: str, units: Units) -> float | Absence:
    plain = text.strip().strip("[]").strip()
    if plain.lower() in _UNSUPPORTED:
        return Absence.UNSUPPORTED
    match = _NUMBER.fullmatch(plain)
    if match is None:
        return Absence.ERROR
    factor = units.get((match[2] or "").lower())
    return Absence.ERROR if factor is None else _finite(float(match[1].replace(",", ".")), factor)


def _finite(number: float, factor: float) -> float | Absence:
    try:
        value = float(number) * factor
    except OverflowError:
        return Absence.ERROR
    return value if math.isfinite(value) else Absence.ERROR
