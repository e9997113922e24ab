"""Moore Threads' mthreads-gmi as a table, and the words that are its own. Pure."""

import re

import msgspec

from accelwatch.backend.kit.bus_devices import ACCELERATOR, DISPLAY
from accelwatch.backend.kit.smi.blocks import meaningful_text
from accelwatch.backend.kit.smi.formats import Json, Table, Text
from accelwatch.backend.kit.smi.keywords import flag
from accelwatch.backend.kit.smi.listing import Gpu
from accelwatch.backend.kit.smi.remote import remote_of
from accelwatch.backend.kit.smi.rows import (
    SmiQuantity,
    integer,
    link_width,
    number,
    paths,
    performance_state,
    switch,
)
from accelwatch.backend.kit.smi.table import Columns, bracketed
from accelwatch.backend.kit.smi.vendor import Query, SmiVendor
from accelwatch.backend.kit.text.quantity import (
    BYTES,
    CELSIUS,
    COUNT,
    HERTZ,
    PERCENT,
    WATTS,
    quantity,
)
from accelwatch.backend.kit.tool_backend import Command
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Collected

_PROGRAM = "mthreads-gmi"
_FAN = re.compile(r"fan ?(\d{1,2})")
# What `Ecc Mode` says instead of Enabled where memory protects itself: `On-die, EDC` of the S5000.
_PROTECTIONS = frozenset({"on-die", "edc", "inline", "sideband"})
# Products to the architecture that the vendor's compiler knows them by.
_ARCHITECTURES = (
    (re.compile(r"MTT S(?:70|80|3000)\b"), "mp_21"),
    (re.compile(r"MTT S(?:90|4000)\b"), "mp_22"),
    (re.compile(r"MTT S5000\b"), "mp_31"),
)


def _limit(value: object) -> float | Absence:
    """A power limit. Drivers before 3.3.8 say 0 W where they do not know it."""
    watts = quantity(value, WATTS)
    return Absence.UNSUPPORTED if watts == 0.0 else watts


def _ecc(value: object) -> bool | Absence:
    """Whether memory is protected: a switch, or the names of what protects it."""
    text = meaningful_text(value)
    names = {name.strip() for name in (text or "").lower().split(",")}
    return True if names <= _PROTECTIONS else flag(text)


def _collect_more(out: Collected, _device: Device, gpu: Gpu) -> tuple[str, ...]:
    """Fans stand below `Fan`, `Speed`: `Fan0`, `Fan1`."""
    fans = [
        (match[1], quantity(text, PERCENT))
        for path, text in gpu.fields.items()
        if path[-2:-1] in (("speed",), ("fan",)) and (match := _FAN.fullmatch(path[-1]))
    ]
    for fan, speed in fans:
        out.record(("fan_speed_ratio", fan), speed)
    if not fans:
        out.miss("fan_speed_ratio", Absence.UNSUPPORTED)
    return _refuse_overfull(out)


def _refuse_overfull(out: Collected) -> tuple[str, ...]:
    """More memory in use than there is cannot be true; the driver reports that with the IOMMU off."""
    used, size = (out.values.get((key,)) for key in ("memory_used_bytes", "memory_size_bytes"))
    if used is None or size is None or used <= size:
        return ()
    del out.values["memory_used_bytes",]
    out.miss("memory_used_bytes", Absence.ERROR)
    return ("mthreads-gmi reports more memory in use than there is: see that the IOMMU is on",)


def _describe(device: Device, _gpu: Gpu) -> Device:
    model = device.model or ""
    name = next((name for pattern, name in _ARCHITECTURES if pattern.match(model)), None)
    return msgspec.structs.replace(device, architecture=name)


VENDOR = SmiVendor(
    name="mthreads",
    command=Command(
        names=(_PROGRAM,),
        option="mthreads_gmi",
        remedy="install the Moore Threads driver package, which brings mthreads-gmi",
        vendor_id=0x1ED5,
        prefix="mtgpu",
        driver="sys/module/mtgpu",
        module="mtgpu",
        folders=("usr/local/musa/bin",),
        classes=(DISPLAY, ACCELERATOR),
        kind=DeviceKind.GPU,
        nodes="mtgpu.[0-9]*",
    ),
    queries=(Query(("-q", "--json"), Json(_PROGRAM)), Query(("-q",), Text(_PROGRAM))),
    table=Table(
        program=_PROGRAM,
        columns=Columns(
            first=("id", "name"),
            address="pcie",
            cells={
                "name": "product name",
                "%gpu": "utilization/gpu",
                "temp": "temperature/gpu current temp",
                "device type": "devicetype",
                "perf": "performance state",
                "mpc capable": "mpc capable",
                "ecc mode": "ecc mode/current",
            },
            pairs={
                "mem": ("fb memory usage/used", "fb memory usage/total"),
                "pcie lane width": ("link width/current", "link width/max"),
            },
            split=bracketed,
        ),
    ),
    identity={
        "uuid": ["gpu uuid"],
        "serial": ["serial number"],
        "model": ["product name"],
        "vbios_version": ["mtbios version"],
    },
    rows=(
        number(("utilization_ratio",), PERCENT, "utilization/gpu"),
        number(("engine_utilization_ratio", "encoder"), PERCENT, "utilization/encoder"),
        number(("engine_utilization_ratio", "decoder"), PERCENT, "utilization/decoder"),
        number(("temperature_celsius", "gpu"), CELSIUS, "temperature/gpu current temp"),
        number(("temperature_celsius", "memory"), CELSIUS, "temperature/memory current temp"),
        *(
            number(("temperature_limit_celsius", "gpu", at), CELSIUS, f"temperature/gpu {at} temp")
            for at in ("shutdown", "slowdown")
        ),
        number(("power_watts",), WATTS, "power readings/power draw"),
        *(
            number((key, domain, *kind), HERTZ, f"{block}/{domain}")
            for block, key, kind in (
                ("clocks", "clock_hertz", ()),
                ("max clocks", "clock_limit_hertz", ("max",)),
            )
            for domain in ("graphics", "memory", "video")
        ),
        integer(("memory_size_bytes",), BYTES, "fb memory usage/total"),
        integer(("memory_used_bytes",), BYTES, "fb memory usage/used"),
        integer(("pcie_link_generation", "current"), COUNT, "pcie generation/current"),
        integer(("pcie_link_generation", "max"), COUNT, "pcie generation/max"),
        integer(("memory_retired_pages", "single_bit"), COUNT, "retired pages/single bit ecc"),
        integer(("memory_retired_pages", "double_bit"), COUNT, "retired pages/double bit ecc"),
        *(
            SmiQuantity(
                ("power_limit_watts", kind),
                paths(*(f"power readings/{key}" for key in keys)),
                _limit,
            )
            for kind, *keys in (
                ("enforced", "current power limit", "power limit"),
                ("default", "default power limit"),
                ("min", "min power limit"),
                ("max", "max power limit"),
            )
        ),
        link_width("current", "link width/current"),
        link_width("max", "link width/max"),
        performance_state("performance state"),
        SmiQuantity(("ecc_enabled",), paths("ecc mode/current"), _ecc),
        SmiQuantity(("ecc_enabled_pending",), paths("ecc mode/pending"), _ecc),
        switch(("memory_repair_pending",), "retired pages/pending page blacklist"),
    ),
    collect_more=_collect_more,
    describe=_describe,
    node=lambda gpu: f"mtgpu.{gpu.number}",
)
REMOTE = remote_of(VENDOR)
