"""The quantities of a relative of nvidia-smi as a table: which field is which series, in which unit.

A row names a field under its paths in all releases, `power readings/power draw`, by the end of the path.
Pure, and never raises: what a field does not say is an absence with its reason.
"""

from collections.abc import Callable, Iterable
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from accelwatch.backend.kit.smi import keywords
from accelwatch.backend.kit.smi.blocks import Path, meaningful_text
from accelwatch.backend.kit.smi.listing import Gpu
from accelwatch.backend.kit.text.quantity import Units, quantity
from accelwatch.backend.kit.text.quantity import integer as integer_of
from accelwatch.base.absence import Absence
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected

Value = float | bool | Absence

# Where a table cuts cells off at the edge of a column, a number counts with its unit only.
CELSIUS_WITH_UNIT: Units = MappingProxyType({"c": 1.0, "°c": 1.0})
WATTS_WITH_UNIT: Units = MappingProxyType({"w": 1.0, "mw": 1e-3})
PERCENT_WITH_UNIT: Units = MappingProxyType({"%": 0.01})


class SmiQuantity(NamedTuple):
    """A quantity: its series, the fields that may say it, and how their value is understood."""

    series: Series
    paths: tuple[Path, ...]
    parse: Callable[[object], Value]


def path(text: str) -> Path:
    """`power readings/power draw` as the end of a path."""
    return tuple(text.split("/"))


def paths(*texts: str) -> tuple[Path, ...]:
    """Several of them, the first that says something counts."""
    return tuple(map(path, texts))


def number(series: Series, units: Units, *fields: str) -> SmiQuantity:
    """A number with a unit."""
    return SmiQuantity(series, paths(*fields), partial(quantity, units=units))


def integer(series: Series, units: Units, *fields: str) -> SmiQuantity:
    """A whole number, such as one of bytes or of errors."""
    return SmiQuantity(series, paths(*fields), partial(integer_of, units=units))


def switch(series: Series, *fields: str) -> SmiQuantity:
    """`Enabled`, `No`."""
    return SmiQuantity(series, paths(*fields), lambda value: keywords.flag(meaningful_text(value)))


def link_width(end: str, *fields: str) -> SmiQuantity:
    """`16x`: how wide the PCIe link is (`current`) or may be (`max`)."""
    series = ("pcie_link_width_lanes", end)
    return SmiQuantity(series, paths(*fields), lambda value: keywords.lanes(meaningful_text(value)))


def performance_state(*fields: str) -> SmiQuantity:
    """`P0`."""
    return SmiQuantity(
        ("performance_state",),
        paths(*fields),
        lambda value: keywords.performance_state(meaningful_text(value)),
    )


def record_rows(out: Collected, gpu: Gpu, rows: Iterable[SmiQuantity]) -> None:
    """What the fields of a GPU say, row by row."""
    for row in rows:
        out.record(row.series, row.parse(gpu.value_of(*row.paths)))
