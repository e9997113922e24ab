"""Which numbers a quantity can have, in base units: what lies outside is a broken reading, never a fact.

A bound is generous: it refuses what no device can reach, and nothing that one has reached. Drivers that
could not read a sensor answer with the greatest number of the register's width (NVML_VALUE_NOT_AVAILABLE
in nvml.h, all ones in the kernel's kgd_pp_interface.h, DCGM_INT64_BLANK in dcgm_fields.h); after the
conversion to base units that is a large number like any other, so both are looked for here.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.metrics import Bounds, Kind, Series
from accelwatch.schema.reading import Number, Process

# The greatest double below 2^64, which is the most that MessagePack carries.
_U64 = 18446744073709549568.0
_CENTURY_S = 3.2e9
# 64 TiB: two hundred times the largest device of today, and less than 2^32 - 1 MiB.
_DEVICE_MEMORY = 2.0**46

_GAUGES: dict[str, Bounds] = {
    "ratio": (0.0, 1.01),  # a mean of rounded percents may end above 1
    "celsius": (-60.0, 200.0),  # 255 is an empty register; junctions stop at 125
    "watts": (0.0, 50_000.0),  # a wafer-scale engine draws 23 kW; 65,535 is an empty register
    "hertz": (0.0, 40e9),  # effective rates of memory reach 32 GHz; 65,535 MHz is an empty register
    "volts": (0.0, 64.0),  # accelerator modules are fed with up to 59.5 V (OCP OAM)
    "amperes": (0.0, 10_000.0),  # a core at 0.6 V with 5 kW would draw 8,333
    "rpm": (0.0, 60_000.0),
    "bytes": (0.0, _DEVICE_MEMORY),
    "bytes/s": (0.0, 1e14),
    "seconds": (0.0, _CENTURY_S),
    "unix seconds": (0.0, 4.2e9),
    "generation": (0.0, 10.0),
    "lanes": (0.0, 32.0),
}
_COUNTERS: dict[str, Bounds] = {
    "bytes": (0.0, _U64),  # a fabric of 1 TB/s reaches 2^64 within a year
    "joules": (0.0, 5e12),  # 15 kW over ten years
    "seconds": (0.0, _CENTURY_S),
    "events": (0.0, 1e15),  # a million a second over thirty years
}
_COUNT: Bounds = (0.0, 1e15)

_WIDTHS = (2**31 - 1, 2**32 - 1, *range(2**63 - 16, 2**63), 2**64 - 1)
# Of 32-bit integers and of doubles; those of 64-bit integers are among the widths.
_DCGM_BLANKS = (*range(2**31 - 16, 2**31 - 12), *range(2**47, 2**47 + 4))
_SCALES = (1, 1000, 10**6, 10**9, 1 << 10, 1 << 20, 1 << 30)
_DIVISORS = (100, 1000, 10**6, 10**9)


def _shapes() -> Iterator[Number]:
    for empty in (*_WIDTHS, *_DCGM_BLANKS):
        for scale in _SCALES:
            yield empty * scale
            yield float(empty * scale)
        for divisor in _DIVISORS:
            yield empty / divisor
            yield empty * (1.0 / divisor)


# What an empty register of 32 or 64 bits becomes in base units; a true reading that meets one of these
# numbers to the last digit is a sample lost. The bounds catch empty registers of 8 and 16 bits.
SENTINELS: frozenset[Number] = frozenset(_shapes())

# Parts that cannot be greater than their whole.
_WHOLES = {
    "memory_used_bytes": "memory_size_bytes",
    "memory_reserved_bytes": "memory_size_bytes",
    "memory_pool_used_bytes": "memory_pool_size_bytes",
    "host_memory_used_bytes": "host_memory_size_bytes",
    "host_memory_available_bytes": "host_memory_size_bytes",
    "host_swap_used_bytes": "host_swap_size_bytes",
    "host_filesystem_available_bytes": "host_filesystem_size_bytes",
}
# Part and whole are read one after the other, and some exporters round them apart.
_ROUNDING = 1.01

_PROCESS: dict[str, Bounds] = {
    "gpu_memory_bytes": (0.0, _DEVICE_MEMORY),
    "utilization_ratio": (0.0, 64.0),  # engines are added up
    "host_memory_bytes": (0.0, 2.0**50),
    "cpu_utilization_ratio": (0.0, 1e5),  # one a core
    "start_time": (0.0, 4.2e9),
}


class Limits(NamedTuple):
    """What one series may be."""

    low: float
    high: float
    # The series that it is a part of.
    total: Series | None


# The catalogue is constant, so the result is never invalid.
@cache
def bounds(key: str) -> Bounds:
    """Least and greatest number of a catalogue key that is believed."""
    row = by_key().get(key)
    if row is None:
        return _COUNT
    if row.bounds is not None:
        return row.bounds
    if row.kind in (Kind.INFO, Kind.STATE):
        return (0.0, 1.0)
    return (_COUNTERS if row.kind is Kind.COUNTER else _GAUGES).get(row.unit, _COUNT)


def limits(series: Series) -> Limits:
    """What a series may be, and the whole that it is a part of."""
    total = _WHOLES.get(series[0])
    return Limits(*bounds(series[0]), None if total is None else (total, *series[1:]))


def believed(series: Series, value: Number) -> bool:
    """Whether a quantity can have this value at all; none has NaN."""
    low, high = bounds(series[0])
    return low <= value <= high and value not in SENTINELS


def fits(value: Number, total: Series | None, values: Mapping[Series, Number]) -> bool:
    """Whether a part is not greater than its whole; a whole that is not believed says nothing."""
    if total is None or (size := values.get(total)) is None:
        return True
    return value <= size * _ROUNDING or not believed(total, size)


def oversized(values: Mapping[Series, Number]) -> list[Series]:
    """Parts that are greater than their whole, such as more memory in use than there is."""
    series = []
    for key, total in _UNLABELLED:
        if (used := values.get(key)) is not None and not fits(used, total, values):
            series.append(key)
    return series


_UNLABELLED: tuple[tuple[Series, Series], ...] = (
    (("memory_used_bytes",), ("memory_size_bytes",)),
    (("memory_reserved_bytes",), ("memory_size_bytes",)),
)


def refusal_text(series: Series, value: object) -> str:
    """The refused number and why, for people: what could be true, unless it lies within that."""
    row = by_key().get(series[0])
    low, high = bounds(series[0])
    unit = f" {row.unit}" if row is not None and row.unit else ""
    within = isinstance(value, int | float) and value is not True and low <= value <= high
    if within and value in SENTINELS:
        return f"{value} is not believed; an empty register reads like this"
    if within and value == 0:
        return "0 is not believed; the source writes 0 for what it could not read"
    if within and series[0] in _WHOLES:
        return f"{value} is not believed; it is more than {_WHOLES[series[0]]}"
    if within:
        return f"{value} is not believed; the source does not write such numbers"
    return f"{value!s:.40} is not believed; {low:g} to {high:g}{unit} can be true"


def believed_process(process: Process) -> Process:
    """The process without numbers that cannot be true; they become `error` absences."""
    bad = [name for name, limit in _PROCESS.items() if not _within(getattr(process, name), limit)]
    if not bad:
        return process
    absent = {**process.absent, **dict.fromkeys(bad, Absence.ERROR)}
    return msgspec.structs.replace(process, absent=absent, **dict.fromkeys(bad))


def _within(value: object, limit: Bounds) -> bool:
    if not isinstance(value, int | float):
        return True
    return limit[0] <= value <= limit[1] and value not in SENTINELS
