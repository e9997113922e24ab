"""From a GPU of ixsmi's document to a device and its reading, as tables. Pure.

A row names a quantity under the tags of the XML and the words of the text, of all releases. Numbers need
their unit: the table cuts cells off at the edge of a column.
"""

from types import MappingProxyType
from typing import NamedTuple

import msgspec

from accelwatch.backend_kit.quantity_text import BYTES, HERTZ, Units, quantity
from accelwatch.backend_kit.smi.blocks import Path
from accelwatch.backend_kit.smi.keywords import flag, lanes, performance_state
from accelwatch.backend_kit.smi.listing import Gpu
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected, Reading

VENDOR = "iluvatar"
MEBIBYTES: Units = MappingProxyType({**BYTES, "": float(1 << 20)})
"""Of processes: the unit stands in the heading."""
_CELSIUS: Units = MappingProxyType({"c": 1.0, "°c": 1.0})
_WATTS: Units = MappingProxyType({"w": 1.0, "mw": 1e-3})
_PERCENT: Units = MappingProxyType({"%": 0.01})
_COUNT: Units = MappingProxyType({"": 1.0})
_ALL_ONES_W = 65_535.0
"""Power of a GPU whose registers read all ones; its temperature is 0 then."""


class Row(NamedTuple):
    """A field by the ends of its paths, and the series that it is."""

    suffixes: tuple[Path, ...]
    series: Series
    units: Units


_DRAW: tuple[Path, ...] = (
    ("power_readings", "gpu_power_draw"),
    ("power_readings", "power_draw"),
    ("power readings", "gpu power draw"),
    ("power readings", "power draw"),
)
ROWS = (
    Row(
        (("utilization", "gpu_util"), ("utilization", "gpu")),
        ("utilization_ratio",),
        _PERCENT,
    ),
    Row((("fan_speed",), ("fan speed",)), ("fan_speed_ratio", "0"), _PERCENT),
    Row(
        (("temperature", "gpu_temp"), ("temperature", "gpu current temp")),
        ("temperature_celsius", "gpu"),
        _CELSIUS,
    ),
    Row(
        (("temperature", "memory_temp"), ("temperature", "memory current temp")),
        ("temperature_celsius", "memory"),
        _CELSIUS,
    ),
    *(
        Row(
            (("temperature", f"gpu_temp_{tag}_threshold"), ("temperature", f"gpu {heading} temp")),
            ("temperature_limit_celsius", "gpu", limit),
            _CELSIUS,
        )
        for tag, heading, limit in (
            ("max", "shutdown", "shutdown"),
            ("slow", "slowdown", "slowdown"),
        )
    ),
    Row(_DRAW, ("power_watts",), _WATTS),
    *(
        Row(
            (
                *(
                    ("power_readings", f"{tag}{who}power_limit")
                    for tag in tags
                    for who in ("gpu_", "")
                ),
                *(
                    ("power readings", f"{tag}{who}power limit".replace("_", " "))
                    for tag in tags
                    for who in ("gpu_", "")
                ),
            ),
            ("power_limit_watts", limit),
            _WATTS,
        )
        for limit, tags in (
            ("enforced", ("current_", "enforced_", "")),
            ("default", ("default_",)),
            ("min", ("min_",)),
            ("max", ("max_",)),
        )
    ),
    *(
        Row(((block, tag), (section, label)), (key, domain, *kind), HERTZ)
        for block, section, key, kind in (
            ("clocks", "clocks", "clock_hertz", ()),
            ("max_clocks", "max clocks", "clock_limit_hertz", ("max",)),
        )
        for tag, label, domain in (("sm_clock", "sm", "sm"), ("mem_clock", "memory", "memory"))
    ),
)
_MEMORY = ("memory_usage", "fb_memory_usage", "fb memory usage", "memory usage")
_INTEGER_ROWS = (
    Row(tuple((block, "total") for block in _MEMORY), ("memory_size_bytes",), BYTES),
    Row(tuple((block, "used") for block in _MEMORY), ("memory_used_bytes",), BYTES),
    *(
        Row(
            (("pcie_gen", f"{tag}_link_gen"), ("pcie generation", tag)),
            ("pcie_link_generation", tag),
            _COUNT,
        )
        for tag in ("current", "max")
    ),
    *(
        Row(
            (("volatile", f"{bits}_bit", "total"), ("volatile", f"{bits} bit", "total")),
            ("ecc_errors_total", severity),
            _COUNT,
        )
        for bits, severity in (("single", "corrected"), ("double", "uncorrected"))
    ),
)
"""Whole numbers."""


def identified(device: Device, gpu: Gpu, driver_version: str | None, node: str | None) -> Device:
    """The device with what the document says of who it is."""
    uuid = gpu.text(("uuid",), ("gpu uuid",))
    serial = gpu.text(("serial",), ("serial number",))
    identifier = (
        uuid or gpu.pci_bus_id or device.pci_bus_id or f"{serial or 'unknown'}-{gpu.number}"
    )
    return msgspec.structs.replace(
        device,
        id=f"{VENDOR}:{identifier}",
        index=gpu.number,
        name=f"iluvatar{gpu.number}",
        kind=DeviceKind.GPU,
        model=gpu.text(("product_name",), ("product name",)),
        uuid=uuid,
        serial=serial,
        part_number=gpu.text(("board_part_number",), ("board part number",)),
        vbios_version=gpu.text(("vbios_version",), ("vbios version",)),
        driver_version=driver_version or device.driver_version,
        pci_bus_id=gpu.pci_bus_id or device.pci_bus_id,
        device_nodes=() if node is None else (node,),
    )


def read(device: Device, gpu: Gpu) -> Reading:
    """Everything but processes. Raises DeviceLost when nothing answers on the card."""
    if quantity(gpu.value_of(*_DRAW), _WATTS) == _ALL_ONES_W:
        raise DeviceLost(
            f"{device.name}: ixsmi reads all ones from it ({_ALL_ONES_W:g} W)", code="no_answer"
        )
    gpu.must_answer(device.name)
    out = Collected(device.id)
    for row in ROWS:
        _record(out, row.series, quantity(gpu.value_of(*row.suffixes), row.units))
    for row in _INTEGER_ROWS:
        value = quantity(gpu.value_of(*row.suffixes), row.units)
        _record(out, row.series, value if isinstance(value, Absence) else round(value))
    for end in ("current", "max"):
        width = gpu.text(("link_widths", f"{end}_link_width"), ("link width", end))
        _record(out, ("pcie_link_width_lanes", end), lanes(width))
    state = gpu.text(("performance_state",), ("performance state",))
    _record(out, ("performance_state",), performance_state(state))
    for series, tag, label in (
        (("ecc_enabled",), "current_ecc", "current"),
        (("ecc_enabled_pending",), "pending_ecc", "pending"),
    ):
        _record(out, series, flag(gpu.text(("ecc_mode", tag), ("ecc mode", label))))
    return out.reading(sources={"*": "ixsmi"})


def _record(out: Collected, series: Series, value: float | bool | Absence) -> None:
    key, *labels = series
    out.put_or_miss(key, value, *labels)
