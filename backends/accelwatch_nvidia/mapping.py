"""Pure conversions from NVML's numbers and words to catalogue values in base units."""

from collections.abc import Callable, Mapping
from typing import Any

from accelwatch.base.absence import Absence
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected, Number
from accelwatch.schema.recovery_action import ACTIONS

Outcome = Number | Absence

MHZ = 1_000_000
MIB = 1 << 20

# nvmlDeviceArchitecture_t (nvml.h), in nvidia-smi's words.
ARCHITECTURES = {
    2: "Kepler",
    3: "Maxwell",
    4: "Pascal",
    5: "Volta",
    6: "Turing",
    7: "Ampere",
    8: "Ada Lovelace",
    9: "Hopper",
    10: "Blackwell",
    13: "Rubin",
}

# nvmlClocksEventReasons (nvml.h); 1 is idle and limits nothing.
_THROTTLE_BITS = (
    ("clock_setting", 0x002 | 0x100),
    ("power", 0x004),
    ("sync_boost", 0x010),
    ("thermal_software", 0x020),
    ("thermal_hardware", 0x040),
    ("power_brake", 0x080),
)
_IDLE = 0x001
_HW_SLOWDOWN = 0x008
_HW_SLOWDOWN_CAUSES = 0x040 | 0x080
ALL_THROTTLE_BITS = 0x1FF


def percent(raw: float) -> Outcome:
    """Ratio of a 0-100 percentage; anything else cannot be true."""
    return raw / 100 if 0 <= raw <= 100 else Absence.ERROR


def free_percent(raw: float) -> Outcome:
    """Ratio of a percentage that may exceed 100 (fans)."""
    return raw / 100 if 0 <= raw <= 1000 else Absence.ERROR


def scale(factor: float) -> Callable[[Number], Outcome]:
    """A conversion that multiplies a non-negative number."""

    def convert(raw: Number) -> Outcome:
        return raw * factor if raw >= 0 else Absence.ERROR

    return convert


def divide(divisor: int) -> Callable[[Number], Outcome]:
    """A conversion that divides a non-negative number, exact where multiplying would not be."""

    def convert(raw: Number) -> Outcome:
        return raw / divisor if raw >= 0 else Absence.ERROR

    return convert


def milliwatts(raw: Number) -> Outcome:
    """Watts; more than 100 kW, such as 32 bits that are all ones, cannot be true."""
    return raw / 1000 if 0 <= raw <= 100_000_000 else Absence.ERROR


def plain(raw: Number) -> Outcome:
    """The number as it is."""
    return raw


def celsius(raw: Number) -> Outcome:
    """A temperature a GPU can have; what lies outside -60..200 is a broken reading."""
    return raw if -60 <= raw <= 200 else Absence.ERROR


def flag(raw: Number) -> Outcome:
    """0 or 1."""
    return int(raw != 0)


def performance_state(raw: int) -> Outcome:
    """0..15; 32 is NVML_PSTATE_UNKNOWN."""
    return raw if 0 <= raw <= 15 else Absence.ERROR if raw != 32 else Absence.UNSUPPORTED


def rates(raw: Any) -> tuple[Outcome, ...]:
    """Busy ratio and memory controller ratio of nvmlUtilization_t."""
    return percent(raw.gpu), percent(raw.memory)


def sampled_percent(raw: Any) -> tuple[Outcome, ...]:
    """Ratio of a [percent, sampling period in us] pair."""
    return (percent(raw[0]),)


def power_range(raw: Any) -> tuple[Outcome, ...]:
    """Least and greatest limit in watts, of a pair in milliwatts."""
    return raw[0] / 1000, raw[1] / 1000


def bar1(raw: Any) -> tuple[Outcome, ...]:
    """Size and used bytes of nvmlBAR1Memory_t."""
    return raw.bar1Total, raw.bar1Used


def mode_and_pending(raw: Any) -> tuple[Outcome, ...]:
    """Whether a mode is on, and whether it will be after the next reset, of [current, pending]."""
    return flag(raw[0]), flag(raw[1])


# Members of nvmlRowRemapperHistogramValues_t (nvml.h): spare rows that a bank has left.
REMAP_AVAILABILITY = ("max", "high", "partial", "low", "none")


def remap_histogram(raw: Any) -> tuple[Outcome, ...]:
    """Number of banks for each availability."""
    return tuple(getattr(raw, availability) for availability in REMAP_AVAILABILITY)


def remapped_rows(raw: Any) -> tuple[Outcome, ...]:
    """Corrected, uncorrected, pending and failed of nvmlDeviceGetRemappedRows."""
    return raw[0], raw[1], flag(raw[2]), flag(raw[3])


def throttle(mask: int, supported: int) -> dict[str, int]:
    """State of each clock-limiting reason the device can report; idle is not one of them."""
    supported |= mask
    states = {reason: int(mask & bits != 0) for reason, bits in _THROTTLE_BITS if supported & bits}
    unnamed = mask & ~ALL_THROTTLE_BITS
    if supported & _HW_SLOWDOWN or unnamed:
        alone = mask & _HW_SLOWDOWN and not mask & _HW_SLOWDOWN_CAUSES
        states["other"] = int(bool(alone or unnamed))
    return states


def idle(mask: int, supported: int) -> Outcome:
    """Whether the clocks are low for want of work, where the device reports it."""
    return int(mask & _IDLE != 0) if (supported | mask) & _IDLE else Absence.UNSUPPORTED


def recovery_action(raw: int) -> str:
    """Name of a recovery action; a number of a newer driver stays a number."""
    return ACTIONS.get(raw, str(raw))


def record_first(collected: Collected, series: Series, outcome: Outcome) -> None:
    """Record a value unless a better source gave one; among absences the more specific one stays."""
    if series in collected.values:
        return
    if not isinstance(outcome, Absence):
        collected.put(series[0], outcome, *series[1:])
    elif collected.absent.get(series, Absence.UNSUPPORTED) is Absence.UNSUPPORTED:
        collected.miss(series[0], outcome, *series[1:])


def settle(
    absent: Mapping[Series, Absence], values: Mapping[Series, Number]
) -> dict[Series, Absence]:
    """Absences as a reader wants them: one for a quantity without any value, else one a series.

    A series that the device merely does not have is left out when the quantity has others.
    """
    present = {series[0] for series in values}
    settled: dict[Series, Absence] = {}
    of_quantity: dict[str, Absence] = {}
    for series, reason in absent.items():
        key = series[0]
        if series in values:
            continue
        if key in present:
            if reason is not Absence.UNSUPPORTED:
                settled[series] = reason
        elif of_quantity.get(key, Absence.UNSUPPORTED) is Absence.UNSUPPORTED:
            of_quantity[key] = reason
    settled.update({(key,): reason for key, reason in of_quantity.items()})
    return settled
