"""From a PPU of ppu-smi's document to a device and its reading, as tables. Pure.

Numbers need their unit: the table cuts cells off at the edge of a column.
"""

from collections.abc import Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from accelwatch.backend_kit import recovery_action
from accelwatch.backend_kit.quantity_text import BYTES, HERTZ, Units, quantity
from accelwatch.backend_kit.smi.blocks import Path, parse_integer, plain
from accelwatch.backend_kit.smi.keywords import flag, lanes, performance_state
from accelwatch.backend_kit.smi.listing import Gpu
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected, Reading
from accelwatch_thead.icn import NO_LINKS, Links, record_links

VENDOR = "thead"
_CELSIUS: Units = MappingProxyType({"c": 1.0, "°c": 1.0})
_WATTS: Units = MappingProxyType({"w": 1.0, "mw": 1e-3})
_PERCENT: Units = MappingProxyType({"%": 0.01})
_COUNT: Units = MappingProxyType({"": 1.0})


class Row(NamedTuple):
    """A field by the end of its path, and the series that it is."""

    end: Path
    series: Series
    units: Units


ROWS = (
    Row(("utilization", "ppu"), ("utilization_ratio",), _PERCENT),
    Row(("utilization", "encoder"), ("engine_utilization_ratio", "encoder"), _PERCENT),
    Row(("utilization", "decoder"), ("engine_utilization_ratio", "decoder"), _PERCENT),
    Row(("fan speed",), ("fan_speed_ratio", "0"), _PERCENT),
    Row(("temperature", "ppu current temp"), ("temperature_celsius", "gpu"), _CELSIUS),
    Row(("temperature", "memory current temp"), ("temperature_celsius", "memory"), _CELSIUS),
    *(
        Row(
            ("temperature", f"{heading} temp"),
            ("temperature_limit_celsius", sensor, limit),
            _CELSIUS,
        )
        for heading, sensor, limit in (
            ("ppu shutdown", "gpu", "shutdown"),
            ("ppu slowdown", "gpu", "slowdown"),
            ("ppu max operating", "gpu", "max_operating"),
            ("memory max operating", "memory", "max_operating"),
        )
    ),
    Row(("power readings", "power draw"), ("power_watts",), _WATTS),
    *(
        Row(("power readings", f"{heading}power limit"), ("power_limit_watts", limit), _WATTS)
        for heading, limit in (
            ("enforced ", "enforced"),
            ("", "requested"),
            ("default ", "default"),
            ("min ", "min"),
            ("max ", "max"),
        )
    ),
    *(
        Row((block, heading), (key, domain, *kind), HERTZ)
        for block, key, kind in (
            ("clocks", "clock_hertz", ()),
            ("max clocks", "clock_limit_hertz", ("max",)),
        )
        for heading, domain in (("cu", "sm"), ("memory", "memory"), ("video", "video"))
    ),
)
_INTEGERS = (
    Row(("memory usage", "total"), ("memory_size_bytes",), BYTES),
    Row(("memory usage", "used"), ("memory_used_bytes",), BYTES),
    Row(("pcie generation", "current"), ("pcie_link_generation", "current"), _COUNT),
    Row(("pcie generation", "max"), ("pcie_link_generation", "max"), _COUNT),
    Row(("replays since reset",), ("pcie_errors_total", "replay"), _COUNT),
    Row(("retired pages", "single bit ecc"), ("memory_retired_pages", "single_bit"), _COUNT),
    Row(("retired pages", "double bit ecc"), ("memory_retired_pages", "double_bit"), _COUNT),
    Row(("remapped rows", "correctable error"), ("memory_remapped_rows", "corrected"), _COUNT),
    Row(("remapped rows", "uncorrectable error"), ("memory_remapped_rows", "uncorrected"), _COUNT),
)
"""Whole numbers."""
_FLAGS: tuple[tuple[Path, Series], ...] = (
    (("persistence mode",), ("persistence_enabled",)),
    (("mig mode", "current"), ("partitioning_enabled",)),
    (("mig mode", "pending"), ("partitioning_enabled_pending",)),
    (("ecc mode", "current"), ("ecc_enabled",)),
    (("ecc mode", "pending"), ("ecc_enabled_pending",)),
    (("remapped rows", "remapping failure occurred"), ("memory_repair_failed",)),
    *(
        ((heading,), ("throttle_active", reason))
        for heading, reason in (
            ("applications clocks setting", "clock_setting"),
            ("sw power cap", "power"),
            ("sync boost", "sync_boost"),
            ("sw thermal slowdown", "thermal_software"),
            ("hw thermal slowdown", "thermal_hardware"),
            ("hw power brake slowdown", "power_brake"),
        )
    ),
    (("clocks throttle reasons", "idle"), ("clocks_idle",)),
)
_PENDING: tuple[Path, ...] = (
    ("retired pages", "pending page blacklist"),
    ("remapped rows", "pending"),
)
_MEMORIES = ("sram", "dram")
_ERRORS = (
    (("ecc_errors_total", "corrected"), "volatile", "correctable"),
    (("ecc_errors_total", "uncorrected"), "volatile", "uncorrectable"),
    (("ecc_lifetime_errors", "corrected"), "aggregate", "correctable"),
    (("ecc_lifetime_errors", "uncorrected"), "aggregate", "uncorrectable"),
)
_XIDS = ("ppu reset correctable", "os reboot correctable", "cold reboot correctable")
"""Of releases before HGML 12: the code of an error that needs this, or N/A."""


def identified(device: Device, ppu: Gpu, driver_version: str | None) -> Device:
    """The device with what the document says of who it is."""
    uuid, serial = ppu.text(("ppu uuid",)), ppu.text(("serial number",))
    identifier = (
        uuid or ppu.pci_bus_id or device.pci_bus_id or f"{serial or 'unknown'}-{ppu.number}"
    )
    return msgspec.structs.replace(
        device,
        id=f"{VENDOR}:{identifier}",
        index=ppu.number,
        name=f"ppu{ppu.number}",
        kind=DeviceKind.GPU,
        model=ppu.text(("product name",)),
        architecture=ppu.text(("product architecture",)),
        uuid=uuid,
        serial=serial,
        vbios_version=ppu.text(("vbios version",)),
        driver_version=driver_version or device.driver_version,
        pci_bus_id=ppu.pci_bus_id or device.pci_bus_id,
    )


def read(device_id: str, ppu: Gpu, links: Links = NO_LINKS) -> Reading:
    """Everything but processes. Raises DeviceLost when the command says so."""
    ppu.must_answer(f"ppu{ppu.number}")
    out = Collected(device_id)
    for row in ROWS:
        _record(out, row.series, quantity(ppu.value_of(row.end), row.units))
    for row in _INTEGERS:
        value = quantity(ppu.value_of(row.end), row.units)
        _record(out, row.series, value if isinstance(value, Absence) else round(value))
    for end, series in _FLAGS:
        _record(out, series, flag(ppu.text(end)))
    for width in ("current", "max"):
        _record(out, ("pcie_link_width_lanes", width), lanes(ppu.text(("link width", width))))
    _record(out, ("performance_state",), performance_state(ppu.text(("performance state",))))
    pending = [flag(ppu.text(end)) for end in _PENDING]
    _record(out, ("memory_repair_pending",), _any(pending))
    for series, counter, label in _ERRORS:
        _record(out, series, _errors(ppu, counter, label))
    _record_action(out, ppu)
    record_links(out, ppu.number, links)
    return out.reading(sources={"*": "ppu-smi"})


def _record(out: Collected, series: Series, value: float | bool | Absence) -> None:
    key, *labels = series
    out.put_or_miss(key, value, *labels)


def _any(states: Sequence[bool | Absence]) -> bool | Absence:
    """Whether one is so. A part that is not there says nothing; one that is no word spoils a no."""
    if True in states:
        return True
    reasons = [state for state in states if isinstance(state, Absence)]
    faults = [reason for reason in reasons if reason is not Absence.UNSUPPORTED]
    if faults:
        return faults[0]
    return Absence.UNSUPPORTED if len(reasons) == len(states) else False


def _errors(ppu: Gpu, counter: str, error_kind: str) -> int | Absence:
    """Of SRAM and DRAM together; of the table, which has the sum of the uncorrectable ones."""
    counts = [
        quantity(ppu.value_of((counter, f"{memory} {error_kind}")), _COUNT) for memory in _MEMORIES
    ]
    numbers = [count for count in counts if not isinstance(count, Absence)]
    faults = [count for count in counts if isinstance(count, Absence)]
    if Absence.ERROR in faults:
        return Absence.ERROR
    if numbers:
        return round(sum(numbers))
    total = quantity(ppu.value_of((counter, error_kind)), _COUNT)
    return total if isinstance(total, Absence) else round(total)


def _record_action(out: Collected, ppu: Gpu) -> None:
    """What the driver asks for, in the words of each release."""
    action = ppu.text(("ppu recovery action",))
    is_requested = any(
        parse_integer(ppu.value_of(("xid errors", key))) is not None for key in _XIDS
    )
    status = ppu.value_of(("ppu recovery action",))
    if action is not None:
        name = plain(action).replace(" ", "_")
        out.put("recovery_action_info", 1, recovery_action.name_of(name))
    elif status is not None and str(status).strip().lower() == "none":
        out.put("recovery_action_info", 1, "none")
    else:
        out.miss("recovery_action_info", Absence.UNSUPPORTED)
    if is_requested or action is not None:
        out.put("reset_required", 1)
    elif out.values.get(("recovery_action_info", "none")):
        out.put("reset_required", 0)
    else:
        out.miss("reset_required", Absence.UNSUPPORTED)
