"""A figure that a person writes with its unit, in the base unit by which it is compared."""

import re

import msgspec

BYTES_PER_SECOND = "bytes_per_second"
# Factors to bytes a second.
_RATES = {
    "kB/s": 1e3,
    "MB/s": 1e6,
    "GB/s": 1e9,
    "TB/s": 1e12,
    "Mbit/s": 1e6 / 8,
    "Gbit/s": 1e9 / 8,
}
_NUMBER = r"\d{1,15}(?:\.\d{1,9})?(?:[eE]\+?\d{1,2})?"
_FIGURE = re.compile(rf"({_NUMBER}) ?([A-Za-z][A-Za-z_/]*|)", re.ASCII)
# As a test prints it; longer ones a test cannot print either.
_BASE_UNIT = re.compile(r"[a-z][a-z_]{2,39}", re.ASCII)


class Figure(msgspec.Struct, frozen=True):
    """How much, and of what."""

    value: float
    # A base unit, such as `bytes_per_second`.
    unit: str


def figure(text: str) -> Figure:
    """`46.8 GB/s`, `400Gbit/s` or `1800 tokens_per_second`. Raises ValueError with the mend."""
    match = _FIGURE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a valid figure")
    value, unit = float(match[1]), match[2]
    if not unit:
        meant = f"{value / 1e9:g} GB/s" if value >= 1e6 else f"{match[1]} {BYTES_PER_SECOND}"
        raise ValueError(f"{text!r} has no unit; if it is bytes a second, write {meant}")
    if unit in _RATES:
        return Figure(value * _RATES[unit], BYTES_PER_SECOND)
    if _BASE_UNIT.fullmatch(unit) is None:
        raise ValueError(f"{text!r} is not a valid figure: {unit!r} is not a unit")
    return Figure(value, unit)
