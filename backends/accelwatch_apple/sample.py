"""One sample of powermetrics or macmon, in base units. Pure."""

from types import MappingProxyType

import msgspec

from accelwatch.backend.kit.text.quantity import Units, quantity
from accelwatch.base.absence import Absence

Measurement = float | Absence
MEGA, MILLI = 1e6, 1e-3
MAX_HERTZ = 20e9
# A clock from here on was given in Hz, below in MHz: no GPU has a million MHz.
_HERTZ_FROM = 1e6
_NO_UNITS: Units = MappingProxyType({})


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One moment; what a source has no word for is `unsupported`."""

    # Share of the time in which the GPU was active, whatever its clock.
    busy: Measurement = Absence.UNSUPPORTED
    hertz: Measurement = Absence.UNSUPPORTED
    # The highest of its frequencies.
    max_hertz: Measurement = Absence.UNSUPPORTED
    watts: Measurement = Absence.UNSUPPORTED
    sram_watts: Measurement = Absence.UNSUPPORTED
    ane_watts: Measurement = Absence.UNSUPPORTED
    celsius: Measurement = Absence.UNSUPPORTED
    memory_bytes: Measurement = Absence.UNSUPPORTED
    used_bytes: Measurement = Absence.UNSUPPORTED
    # Of the machine, in its order.
    fans_rpm: tuple[Measurement, ...] = ()
    # The word for thermal pressure, in lower case.
    pressure: str | None = None


def number(raw: object, factor: float = 1.0, most: float = float("inf")) -> Measurement:
    """A number from 0 to `most` in base units; text is none, but may say that there is none."""
    units = _NO_UNITS if isinstance(raw, str) else {"": factor}
    return within(quantity(raw, units), most)


def clock(raw: object) -> Measurement:
    """A clock given in MHz or Hz, in Hz."""
    value = number(raw)
    if isinstance(value, Absence):
        return value
    return within(value if value >= _HERTZ_FROM else value * MEGA, MAX_HERTZ)


def first_available(*values: Measurement) -> Measurement:
    """The first that is a number; else the first absence that says more than `unsupported`."""
    for value in values:
        if not isinstance(value, Absence):
            return value
    return next((why for why in values if why is not Absence.UNSUPPORTED), Absence.UNSUPPORTED)


def within(value: Measurement, most: float = float("inf")) -> Measurement:
    """The value where it is from 0 to `most`, else `error`."""
    if isinstance(value, Absence):
        return value
    return value if 0 <= value <= most else Absence.ERROR


def pressure_level(raw: object) -> str | None:
    """One word in lower case; None for what is none."""
    level = raw.strip().lower() if isinstance(raw, str) else ""
    return level if level.isascii() and level.isalpha() and len(level) <= 32 else None


def block(document: object, key: str) -> dict[str, object]:
    """The mapping at a key; empty for whatever else stands there."""
    value = document.get(key) if isinstance(document, dict) else None
    return value if isinstance(value, dict) else {}
