"""From a GPU of mthreads-gmi's document to a device and its reading, as tables. Pure."""

import re
from collections.abc import Iterable
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from accelwatch.backend_kit.quantity_text import (
    BYTES,
    CELSIUS,
    HERTZ,
    PERCENT,
    WATTS,
    Units,
    quantity,
)
from accelwatch.backend_kit.smi.blocks import Path
from accelwatch.backend_kit.smi.keywords import flag, lanes, performance_state
from accelwatch.backend_kit.smi.listing import Gpu
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected, Reading

VENDOR = "mthreads"
_COUNT: Units = MappingProxyType({"": 1.0})


class Row(NamedTuple):
    """A field by the end of its path, and the series that it is."""

    end: Path
    series: Series
    units: Units


ROWS = (
    Row(("utilization", "gpu"), ("utilization_ratio",), PERCENT),
    Row(("utilization", "encoder"), ("engine_utilization_ratio", "encoder"), PERCENT),
    Row(("utilization", "decoder"), ("engine_utilization_ratio", "decoder"), PERCENT),
    Row(("temperature", "gpu current temp"), ("temperature_celsius", "gpu"), CELSIUS),
    Row(("temperature", "memory current temp"), ("temperature_celsius", "memory"), CELSIUS),
    Row(
        ("temperature", "gpu shutdown temp"),
        ("temperature_limit_celsius", "gpu", "shutdown"),
        CELSIUS,
    ),
    Row(
        ("temperature", "gpu slowdown temp"),
        ("temperature_limit_celsius", "gpu", "slowdown"),
        CELSIUS,
    ),
    Row(("power readings", "power draw"), ("power_watts",), WATTS),
    *(
        Row((block, name), (key, domain, *kind), HERTZ)
        for block, key, kind in (
            ("clocks", "clock_hertz", ()),
            ("max clocks", "clock_limit_hertz", ("max",)),
        )
        for name, domain in (("graphics", "graphics"), ("memory", "memory"), ("video", "video"))
    ),
)
_INTEGER_ROWS = (
    Row(("fb memory usage", "total"), ("memory_size_bytes",), BYTES),
    Row(("fb memory usage", "used"), ("memory_used_bytes",), BYTES),
    Row(("pcie generation", "current"), ("pcie_link_generation", "current"), _COUNT),
    Row(("pcie generation", "max"), ("pcie_link_generation", "max"), _COUNT),
    Row(("retired pages", "single bit ecc"), ("memory_retired_pages", "single_bit"), _COUNT),
    Row(("retired pages", "double bit ecc"), ("memory_retired_pages", "double_bit"), _COUNT),
)
"""Whole numbers."""
_LIMITS = (
    ("enforced", ("current power limit",), ("power limit",)),
    ("default", ("default power limit",)),
    ("min", ("min power limit",)),
    ("max", ("max power limit",)),
)
"""Kind of power limit to the keys that releases have for it."""
_FAN = re.compile(r"fan ?(\d{1,2})")
_PROTECTIONS = frozenset({"on-die", "edc", "inline", "sideband"})
"""What `Ecc Mode` says in place of Enabled where memory protects itself: `On-die, EDC` of the S5000."""
_ARCHITECTURES = (
    (re.compile(r"MTT S(?:70|80|3000)\b"), "mp_21"),
    (re.compile(r"MTT S(?:90|4000)\b"), "mp_22"),
    (re.compile(r"MTT S5000\b"), "mp_31"),
)
"""Products to the architecture that the vendor's compiler knows them by."""


def identified(device: Device, gpu: Gpu, driver_version: str | None, node: str | None) -> Device:
    """The device with what the document says of who it is."""
    uuid, serial, model = (
        gpu.text(("gpu uuid",)),
        gpu.text(("serial number",)),
        gpu.text(("product name",)),
    )
    identifier = (
        uuid or gpu.pci_bus_id or device.pci_bus_id or f"{serial or 'unknown'}-{gpu.number}"
    )
    return msgspec.structs.replace(
        device,
        id=f"{VENDOR}:{identifier}",
        index=gpu.number,
        name=f"mtgpu{gpu.number}",
        kind=DeviceKind.GPU,
        model=model,
        architecture=_architecture(model or ""),
        uuid=uuid,
        serial=serial,
        vbios_version=gpu.text(("mtbios version",)),
        driver_version=driver_version or device.driver_version,
        pci_bus_id=gpu.pci_bus_id or device.pci_bus_id,
        device_nodes=() if node is None else (node,),
    )


def _architecture(model: str) -> str | None:
    return next((name for pattern, name in _ARCHITECTURES if pattern.match(model)), None)


def read(device_id: str, gpu: Gpu) -> Reading:
    """Everything but processes. Raises DeviceLost when the command says so."""
    gpu.must_answer(f"mtgpu{gpu.number}")
    out = Collected(device_id)
    for row in ROWS:
        _record(out, row.series, quantity(gpu.value_of(row.end), row.units))
    for row in _INTEGER_ROWS:
        value = quantity(gpu.value_of(row.end), row.units)
        _record(out, row.series, value if isinstance(value, Absence) else round(value))
    for kind, *suffixes in _LIMITS:
        _record(out, ("power_limit_watts", kind), _limit(gpu, suffixes))
    for end in ("current", "max"):
        _record(out, ("pcie_link_width_lanes", end), lanes(gpu.text(("link width", end))))
    _record(out, ("performance_state",), performance_state(gpu.text(("performance state",))))
    _record(out, ("ecc_enabled",), _ecc(gpu.text(("ecc mode", "current"))))
    _record(out, ("ecc_enabled_pending",), _ecc(gpu.text(("ecc mode", "pending"))))
    pending = gpu.text(("retired pages", "pending page blacklist"))
    _record(out, ("memory_repair_pending",), flag(pending))
    _collect_fans(out, gpu)
    return out.reading(sources={"*": "mthreads-gmi"}, notes=_refuse_overfull(out))


def _refuse_overfull(out: Collected) -> tuple[str, ...]:
    """More memory in use than there is cannot be true; the driver tells so with the IOMMU off."""
    used = out.values.get(("memory_used_bytes",), 0)
    if used <= out.values.get(("memory_size_bytes",), used):
        return ()
    del out.values["memory_used_bytes",]
    out.miss("memory_used_bytes", Absence.ERROR)
    return ("mthreads-gmi reports more memory in use than there is: see that the IOMMU is on",)


def _record(out: Collected, series: Series, value: float | bool | Absence) -> None:
    key, *labels = series
    out.put_or_miss(key, value, *labels)


def _limit(gpu: Gpu, suffixes: Iterable[Path]) -> float | Absence:
    """A power limit. Drivers before 3.3.8 say 0 W where they do not know it."""
    value = quantity(gpu.value_of(*(("power readings", *end) for end in suffixes)), WATTS)
    return Absence.UNSUPPORTED if value == 0.0 else value


def _ecc(text: str | None) -> bool | Absence:
    """Whether memory is protected: a switch, or the names of what protects it."""
    names = {name.strip() for name in (text or "").lower().split(",")}
    return True if names <= _PROTECTIONS else flag(text)


def _collect_fans(out: Collected, gpu: Gpu) -> None:
    """Fans stand below `Fan`, `Speed`: `Fan0`, `Fan1`."""
    fans = [
        (match[1], quantity(text, PERCENT))
        for path, text in gpu.fields.items()
        if path[-2:-1] in (("speed",), ("fan",)) and (match := _FAN.fullmatch(path[-1]))
    ]
    for fan, speed in fans:
        _record(out, ("fan_speed_ratio", fan), speed)
    if not fans:
        out.miss("fan_speed_ratio", Absence.UNSUPPORTED)
