"""What powermetrics or macmon said of one moment, in base units. Pure."""

from types import MappingProxyType

import msgspec

from accelwatch.backend_kit.quantity_text import Units, quantity
from accelwatch.base.absence import Absence

Told = float | Absence
MEGA, MILLI = 1e6, 1e-3
MAX_HERTZ = 20e9
_HERTZ_FROM = 1e6
"""A clock from here on was told in Hz, below in MHz: no GPU has a million MHz."""
_NO_UNITS: Units = MappingProxyType({})


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One moment; what a source has no word for is `unsupported`."""

    busy: Told = Absence.UNSUPPORTED
    """Share of the time in which the GPU was active, whatever its clock."""
    hertz: Told = Absence.UNSUPPORTED
    max_hertz: Told = Absence.UNSUPPORTED
    """The highest of its frequencies."""
    watts: Told = Absence.UNSUPPORTED
    sram_watts: Told = Absence.UNSUPPORTED
    ane_watts: Told = Absence.UNSUPPORTED
    celsius: Told = Absence.UNSUPPORTED
    memory_bytes: Told = Absence.UNSUPPORTED
    used_bytes: Told = Absence.UNSUPPORTED
    fans_rpm: tuple[Told, ...] = ()
    """Of the machine, in its order."""
    pressure: str | None = None
    """The word for thermal pressure, in lower case."""


def number(told: object, factor: float = 1.0, most: float = float("inf")) -> Told:
    """A number from 0 to `most` in base units; text is none, but may say that there is none."""
    units = _NO_UNITS if isinstance(told, str) else {"": factor}
    return within(quantity(told, units), most)


def clock(told: object) -> Told:
    """A clock told in MHz, or in Hz, in Hz."""
    value = number(told)
    if isinstance(value, Absence):
        return value
    return within(value if value >= _HERTZ_FROM else value * MEGA, MAX_HERTZ)


def first_known(*told: Told) -> Told:
    """The first that is a number; else the first absence that says more than `unsupported`."""
    for value in told:
        if not isinstance(value, Absence):
            return value
    return next((why for why in told if why is not Absence.UNSUPPORTED), Absence.UNSUPPORTED)


def within(value: Told, most: float = float("inf")) -> Told:
    """The value where it is from 0 to `most`, else `error`."""
    if isinstance(value, Absence):
        return value
    return value if 0 <= value <= most else Absence.ERROR


def pressure_word(told: object) -> str | None:
    """One word in lower case; None for what is none."""
    word = told.strip().lower() if isinstance(told, str) else ""
    return word if word.isascii() and word.isalpha() and len(word) <= 32 else None


def block(document: object, key: str) -> dict[str, object]:
    """The mapping at a key; empty for whatever else stands there."""
    told = document.get(key) if isinstance(document, dict) else None
    return told if isinstance(told, dict) else {}
