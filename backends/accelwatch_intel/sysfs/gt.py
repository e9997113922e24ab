"""A graphics engine group (GT) as the kernel shows it, whichever driver, and what is read from it."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch.system.kernel import sysfs
from accelwatch_intel.rates import Rates

# Above any clock of any GPU; xe has been seen to write 627200 for a clock of an Arc A380.
_MAX_MEGAHERTZ = 20_000

# Kernel word to our vocabulary: drivers/gpu/drm/xe/xe_gt_throttle.c and i915's intel_gt_sysfs_pm.c.
#
# PL1, PL2 and PL4 are sustained, burst and peak power; RATL is the running average thermal limit; VR
# is the voltage regulator.
_THROTTLE_REASONS: dict[str, str] = {
    "pl1": "power",
    "pl2": "power",
    "pl4": "power",
    "psys_pl1": "power",
    "psys_pl2": "power",
    "psys_crit": "power_brake",
    "vr_tdc": "power",
    "iccmax": "power",
    "fast_vmode": "voltage",
    "fastvmode": "voltage",
    "thermal": "thermal_hardware",
    "prochot": "thermal_hardware",
    "ratl": "thermal_hardware",
    "vr_thermalert": "thermal_hardware",
    "soc_thermal": "thermal_hardware",
    "soc_avg_thermal": "thermal_hardware",
    "mem_thermal": "memory_thermal",
    "memory_thermal": "memory_thermal",
    "p0_freq": "clock_setting",
}


class Gt(msgspec.Struct, frozen=True, kw_only=True):
    """Where the files of one GT are. `clocks` maps `actual`, `min` and `max` to files in MHz."""

    name: str
    tile: int
    # `graphics` or `media`.
    domain: str
    clocks: Mapping[str, Path] = {}
    # Counter of milliseconds spent in the render idle state.
    idle: Path | None = None
    # Kernel word of a reason to its 0/1 file.
    throttle: Mapping[str, Path] = {}
    # File with all active reasons as words, or `none`.
    throttle_list: Path | None = None


def reason_of(kernel_reason: str) -> str:
    """Our word for a kernel throttle reason; `other` for one that is not known."""
    return _THROTTLE_REASONS.get(kernel_reason, "other")


def read_clocks(gts: Iterable[Gt], out: Collected) -> None:
    """Actual clocks by domain; of several GTs of a domain the fastest counts.

    0 is real: the GT is in RC6.
    """
    for gt in gts:
        if "actual" in gt.clocks:
            _record_largest(out, ("clock_hertz", gt.domain), _megahertz(gt.clocks["actual"]))


def read_clock_limits(gts: Iterable[Gt], out: Collected) -> None:
    """Bounds in force by domain."""
    for gt in gts:
        for limit in ("min", "max"):
            if limit in gt.clocks:
                series = ("clock_limit_hertz", gt.domain, limit)
                _record_largest(out, series, _megahertz(gt.clocks[limit]))


def _megahertz(path: Path) -> int | Absence:
    value = sysfs.read_int(path)
    if isinstance(value, int) and not 0 <= value <= _MAX_MEGAHERTZ:
        return Absence.ERROR
    return value


def _record_largest(out: Collected, series: tuple[str, ...], value: int | Absence) -> None:
    if isinstance(value, Absence):
        out.miss(series[0], value, *series[1:])
        return
    hertz = value * 1_000_000
    out.put(series[0], max(hertz, out.values.get(series, 0)), *series[1:])


def read_throttle(gts: Iterable[Gt], out: Collected) -> None:
    """Which clock-limiting reasons are active, over all GTs; only reasons the kernel offers.

    Several kernel words may mean one reason: one that is active settles it, one that cannot be read
    leaves it open.
    """
    states: dict[str, list[int | Absence]] = {}
    for gt in gts:
        for kernel_reason, path in gt.throttle.items():
            states.setdefault(reason_of(kernel_reason), []).append(_flag(path))
        for kernel_reason in _listed(gt.throttle_list):
            states.setdefault(reason_of(kernel_reason), []).append(1)
    for reason, answers in states.items():
        why = next((state for state in answers if isinstance(state, Absence)), None)
        if 1 in answers or why is None:
            out.put("throttle_active", int(1 in answers), reason)
        else:
            out.miss("throttle_active", why, reason)


def _flag(path: Path) -> int | Absence:
    """0 or 1; any other number is no answer."""
    value = sysfs.read_int(path)
    return value if isinstance(value, Absence) or value in (0, 1) else Absence.ERROR


def _listed(path: Path | None) -> list[str]:
    text = sysfs.read_text(path) if path else ""
    if isinstance(text, Absence):
        return []
    return [name for name in text.split() if name in _THROTTLE_REASONS]


def busy_bound(gt: Gt, rates: Rates, now: float) -> float | Absence:
    """Share of time since the last reading in which the GT was not idle: an upper bound of work.

    `not_collected` the first time, since it needs two readings of the residency counter. A counter
    that stands still while the clock says that the GT sleeps is an error.
    """
    if gt.idle is None:
        return Absence.UNSUPPORTED
    idle_ms = sysfs.read_int(gt.idle)
    if isinstance(idle_ms, Absence):
        return idle_ms
    rate = rates.per_second(str(gt.idle), idle_ms, now)
    if rate is None:
        return Absence.NOT_COLLECTED
    if rate == 0 and "actual" in gt.clocks and sysfs.read_int(gt.clocks["actual"]) == 0:
        return rates.still
    return min(max(1.0 - rate / 1000.0, 0.0), 1.0)
