"""From a card as listed to a device and its reading, as tables. Pure."""

import re
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from accelwatch.backend.kit.text.quantity import (
    BYTES,
    CELSIUS,
    HERTZ,
    PERCENT,
    WATTS,
    Units,
    quantity,
)
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected
from accelwatch_gaudi.document import Card
from accelwatch_gaudi.driver import Node, firmware_in

SOURCE = "hl-smi"
VENDOR = "habana"
PREFIX = "hl"

COUNT: Units = MappingProxyType({"": 1.0})
# The vendor's utilization goes above 100 % at times; what is far above is no measurement.
_MOST_RATIO = 1.5
_ARCHITECTURES = (
    (r"HL-1", "goya"),
    (r"HL-20", "gaudi"),
    (r"HL-2[2-9]", "gaudi2"),
    (r"HL-3", "gaudi3"),
)


class MappedField(NamedTuple):
    """A name of hl-smi's query, the series that it is, and its units."""

    name: str
    series: Series
    units: Units


ROWS = (
    MappedField("utilization.aip", ("utilization_ratio",), PERCENT),
    MappedField("temperature.aip", ("temperature_celsius", "gpu"), CELSIUS),
    MappedField("power.draw", ("power_watts",), WATTS),
    MappedField("power.max", ("power_limit_watts", "enforced"), WATTS),
    MappedField("memory.total", ("memory_size_bytes",), BYTES),
    MappedField("memory.used", ("memory_used_bytes",), BYTES),
    MappedField("clocks.current.soc", ("clock_hertz", "soc"), HERTZ),
    MappedField("clocks.max.soc", ("clock_limit_hertz", "soc", "max"), HERTZ),
    MappedField("ecc.errors.corrected.volatile.total", ("ecc_errors_total", "corrected"), COUNT),
    MappedField(
        "ecc.errors.uncorrected.volatile.total", ("ecc_errors_total", "uncorrected"), COUNT
    ),
    MappedField(
        "ecc.errors.corrected.aggregate.total", ("ecc_lifetime_errors", "corrected"), COUNT
    ),
    MappedField(
        "ecc.errors.uncorrected.aggregate.total", ("ecc_lifetime_errors", "uncorrected"), COUNT
    ),
    MappedField(
        "ecc.errors.dram-corrected.volatile.total",
        ("ecc_location_errors_total", "corrected", "dram"),
        COUNT,
    ),
    MappedField(
        "ecc.errors.dram.volatile.total",
        ("ecc_location_errors_total", "uncorrected", "dram"),
        COUNT,
    ),
)
# What only libhlml reports.
HLML_ROWS = (
    MappedField("temperature.board", ("temperature_celsius", "board"), CELSIUS),
    MappedField("temperature.hbm", ("temperature_celsius", "memory"), CELSIUS),
    MappedField("temperature.vrm", ("temperature_celsius", "vr"), CELSIUS),
    MappedField("temperature.slowdown", ("temperature_limit_celsius", "gpu", "slowdown"), CELSIUS),
    MappedField("temperature.shutdown", ("temperature_limit_celsius", "gpu", "shutdown"), CELSIUS),
    MappedField("power.default", ("power_limit_watts", "default"), WATTS),
    MappedField("energy", ("energy_joules_total", "hardware"), MappingProxyType({"mj": 1e-3})),
    MappedField(
        "ecc.errors.sram-corrected.volatile.total",
        ("ecc_location_errors_total", "corrected", "sram"),
        COUNT,
    ),
    MappedField(
        "ecc.errors.sram.volatile.total",
        ("ecc_location_errors_total", "uncorrected", "sram"),
        COUNT,
    ),
    MappedField("rows.corrected", ("memory_remapped_rows", "corrected"), COUNT),
    MappedField("rows.uncorrected", ("memory_remapped_rows", "uncorrected"), COUNT),
    MappedField("rows.pending", ("memory_repair_pending",), COUNT),
    MappedField("pcie.replay", ("pcie_errors_total", "replay"), COUNT),
)
_LINK = (
    ("pcie.link.gen", "pcie_link_generation", re.compile(r"(?:gen)?\s*([1-7])", re.IGNORECASE)),
    ("pcie.link.width", "pcie_link_width_lanes", re.compile(r"x?\s*(1|2|4|8|16|32)")),
)
_MODES = (("current", "ecc_enabled"), ("pending", "ecc_enabled_pending"))
_SWITCHED = MappingProxyType(
    {"enabled": 1, "on": 1, "1": 1, "yes": 1, "disabled": 0, "off": 0, "0": 0, "no": 0}
)
_INTEGER_KEYS = frozenset({"memory_size_bytes", "memory_used_bytes"})
_NEVER_ZERO = frozenset(
    {"memory_size_bytes", "power_limit_watts", "temperature_limit_celsius", "clock_limit_hertz"}
)
_PSTATE = re.compile(r"[Pp](\d{1,2})")


def identified(
    device: Device, card: Card | None, node: Node | None, driver_version: str | None
) -> Device:
    """The device with what hl-smi and the driver say of who it is."""
    uuid, serial, model = (
        None if card is None else card.text(name) for name in ("uuid", "serial", "name")
    )
    identifier = uuid or device.pci_bus_id or serial or device.index
    number = device.index if card is None else card.number
    return msgspec.structs.replace(
        device,
        id=f"{VENDOR}:{identifier}",
        vendor=VENDOR,
        index=number,
        name=f"{PREFIX}{number}" if node is None else node.name,
        kind=DeviceKind.NPU,
        model=model or (None if node is None else node.text("device_type")),
        architecture=_architecture(model, node),
        uuid=uuid,
        serial=serial,
        firmware_version=_firmware(card, node),
        driver_version=driver_version,
        device_nodes=() if node is None else (node.device_node,),
    )


def _firmware(card: Card | None, node: Node | None) -> str | None:
    version = None if node is None else node.firmware_version
    return version or firmware_in(("" if card is None else card.text("firmware")) or "")


def _architecture(model: str | None, node: Node | None) -> str | None:
    from_driver = None if node is None else node.architecture
    matches = (name for prefix, name in _ARCHITECTURES if re.match(prefix, model or ""))
    return from_driver or next(matches, None)


def collect_card(out: Collected, card: Card) -> None:
    """Record all values of a card but its processes; a PCIe link that is known stays."""
    beyond = [row for row in HLML_ROWS if row.name in card.fields]
    for row in (*ROWS, *beyond):
        value = quantity(card.fields.get(row.name), row.units)
        if isinstance(value, float):
            value = _checked(row.series[0], value, row.units)
        out.record(row.series, value)
    _collect_link(out, card)
    _collect_state(out, card)


def _checked(key: str, value: float, units: Units) -> float | Absence:
    """The number as it can be: whole where it is a count, a ratio of one at most, never below zero."""
    if value < 0 or (key in _NEVER_ZERO and not value):
        return Absence.ERROR
    if key == "utilization_ratio":
        return min(value, 1.0) if value <= _MOST_RATIO else Absence.ERROR
    if units is COUNT or key in _INTEGER_KEYS:
        return round(value) if value == round(value) else Absence.ERROR
    return value


def _collect_link(out: Collected, card: Card) -> None:
    for name, key, pattern in _LINK:
        for state in ("current", "max"):
            text = card.text(f"{name}.{state}")
            if text is None or (key, state) in out.values:
                continue
            match = pattern.fullmatch(text)
            if match is not None:
                out.put(key, int(match[1]), state)
            else:
                out.miss(key, Absence.ERROR, state)


def _collect_state(out: Collected, card: Card) -> None:
    for mode, key in _MODES:
        text = card.text(f"ecc.mode.{mode}")
        switched = _SWITCHED.get((text or "").lower())
        why = Absence.UNSUPPORTED if text is None else Absence.ERROR
        out.put_or_miss(key, why if switched is None else switched)
    pstate = _PSTATE.fullmatch(card.text("pstate") or "")
    if pstate is not None and int(pstate[1]) <= 15:
        out.put("performance_state", int(pstate[1]))
    else:
        out.miss("performance_state", Absence.UNSUPPORTED)
    module = card.text("module_id")
    if module is not None and module.isascii() and module.isdecimal() and len(module) < 4:
        out.put("platform_module_info", 1, str(int(module)))
