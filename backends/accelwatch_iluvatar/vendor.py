"""Iluvatar's ixsmi as a table. Pure.

A row names a quantity under the tags of the XML and the words of the text, of all releases. The query
numbers GPUs by their order; `minor_number` is that of the device node. Numbers need their unit: the
table cuts cells off at the edge of a column.
"""

from types import MappingProxyType

from accelwatch.backend.kit.bus_devices import ACCELERATOR, DISPLAY
from accelwatch.backend.kit.smi.blocks import parse_integer
from accelwatch.backend.kit.smi.formats import Table, Text, Xml
from accelwatch.backend.kit.smi.listing import Gpu
from accelwatch.backend.kit.smi.remote import remote_of
from accelwatch.backend.kit.smi.rows import (
    CELSIUS_WITH_UNIT,
    PERCENT_WITH_UNIT,
    WATTS_WITH_UNIT,
    integer,
    link_width,
    number,
    paths,
    performance_state,
    switch,
)
from accelwatch.backend.kit.smi.table import Columns
from accelwatch.backend.kit.smi.vendor import Query, SmiVendor
from accelwatch.backend.kit.text.quantity import BYTES, COUNT, HERTZ, Units, quantity
from accelwatch.backend.kit.tool_backend import Command
from accelwatch.base.errors import DeviceLost
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Collected

_PROGRAM = "ixsmi"
# Of processes: the unit stands in the heading.
_MEBIBYTES: Units = MappingProxyType({**BYTES, "": float(1 << 20)})
# Power of a GPU whose registers read all ones; its temperature is 0 then.
_ALL_ONES_W = 65_535.0
_POWER = (
    "power_readings/gpu_power_draw",
    "power_readings/power_draw",
    "power readings/gpu power draw",
    "power readings/power draw",
)
_MEMORY = ("memory_usage", "fb_memory_usage", "fb memory usage", "memory usage")


def _power_limit_fields(*tags: str) -> list[str]:
    tagged = [f"{tag}{which}power_limit" for tag in tags for which in ("gpu_", "")]
    return [
        *(f"power_readings/{field}" for field in tagged),
        *(f"power readings/{field.replace('_', ' ')}" for field in tagged),
    ]


def _must_not_read_all_ones(_out: Collected, device: Device, gpu: Gpu) -> tuple[str, ...]:
    """Raises DeviceLost when nothing answers on the card."""
    if quantity(gpu.value_of(*paths(*_POWER)), WATTS_WITH_UNIT) == _ALL_ONES_W:
        message = f"{device.name}: ixsmi reads all ones from it ({_ALL_ONES_W:g} W)"
        raise DeviceLost(message, code="no_answer")
    return ()


def _node(gpu: Gpu) -> str | None:
    """By the minor number: in a container it is not the index."""
    minor = parse_integer(gpu.text(*paths("minor_number", "minor number")))
    return None if minor is None else f"iluvatar{minor}"


VENDOR = SmiVendor(
    name="iluvatar",
    command=Command(
        names=(_PROGRAM,),
        option="ixsmi",
        remedy="install the CoreX driver, which brings ixsmi under /usr/local/corex",
        vendor_id=0x1E3E,
        prefix="iluvatar",
        driver="sys/module/iluvatar",
        module="iluvatar",
        folders=("usr/local/corex/bin",),
        classes=(ACCELERATOR, DISPLAY),
        kind=DeviceKind.GPU,
        nodes="iluvatar[0-9]*",
    ),
    queries=(Query(("-q", "-x"), Xml(_PROGRAM, "ixsmi_log")), Query(("-q",), Text(_PROGRAM))),
    table=Table(
        program=_PROGRAM,
        columns=Columns(
            first=("gpu", "name"),
            address="bus-id",
            cells={
                "name": "product_name",
                "clock-sm": "clocks/sm_clock",
                "clock-mem": "clocks/mem_clock",
                "fan": "fan_speed",
                "temp": "temperature/gpu_temp",
                "perf": "performance_state",
                "gpu-util": "utilization/gpu_util",
                "compute m.": "compute_mode",
            },
            pairs={
                "pwr:usage/cap": ("power_readings/power_draw", "power_readings/power_limit"),
                "memory-usage": ("memory_usage/used", "memory_usage/total"),
            },
            headings=(
                "| GPU  Name | Bus-Id | Clock-SM  Clock-Mem |",
                "| Fan  Temp  Perf  Pwr:Usage/Cap | Memory-Usage | GPU-Util  Compute M. |",
            ),
        ),
    ),
    identity={
        "uuid": ["uuid", "gpu uuid"],
        "serial": ["serial", "serial number"],
        "model": ["product_name", "product name"],
        "part_number": ["board_part_number", "board part number"],
        "vbios_version": ["vbios_version", "vbios version"],
    },
    rows=(
        number(
            ("utilization_ratio",), PERCENT_WITH_UNIT, "utilization/gpu_util", "utilization/gpu"
        ),
        number(("fan_speed_ratio", "0"), PERCENT_WITH_UNIT, "fan_speed", "fan speed"),
        *(
            number(
                ("temperature_celsius", sensor),
                CELSIUS_WITH_UNIT,
                f"temperature/{sensor}_temp",
                f"temperature/{sensor} current temp",
            )
            for sensor in ("gpu", "memory")
        ),
        *(
            number(
                ("temperature_limit_celsius", "gpu", limit),
                CELSIUS_WITH_UNIT,
                f"temperature/gpu_temp_{tag}_threshold",
                f"temperature/gpu {limit} temp",
            )
            for tag, limit in (("max", "shutdown"), ("slow", "slowdown"))
        ),
        number(("power_watts",), WATTS_WITH_UNIT, *_POWER),
        *(
            number(("power_limit_watts", limit), WATTS_WITH_UNIT, *_power_limit_fields(*tags))
            for limit, tags in (
                ("enforced", ("current_", "enforced_", "")),
                ("default", ("default_",)),
                ("min", ("min_",)),
                ("max", ("max_",)),
            )
        ),
        *(
            number((key, domain, *kind), HERTZ, f"{block}/{tag}", f"{section}/{domain}")
            for block, section, key, kind in (
                ("clocks", "clocks", "clock_hertz", ()),
                ("max_clocks", "max clocks", "clock_limit_hertz", ("max",)),
            )
            for tag, domain in (("sm_clock", "sm"), ("mem_clock", "memory"))
        ),
        integer(("memory_size_bytes",), BYTES, *(f"{block}/total" for block in _MEMORY)),
        integer(("memory_used_bytes",), BYTES, *(f"{block}/used" for block in _MEMORY)),
        *(
            integer(
                ("pcie_link_generation", end),
                COUNT,
                f"pcie_gen/{end}_link_gen",
                f"pcie generation/{end}",
            )
            for end in ("current", "max")
        ),
        *(
            integer(
                ("ecc_errors_total", severity),
                COUNT,
                f"volatile/{bits}_bit/total",
                f"volatile/{bits} bit/total",
            )
            for bits, severity in (("single", "corrected"), ("double", "uncorrected"))
        ),
        link_width("current", "link_widths/current_link_width", "link width/current"),
        link_width("max", "link_widths/max_link_width", "link width/max"),
        performance_state("performance_state", "performance state"),
        switch(("ecc_enabled",), "ecc_mode/current_ecc", "ecc mode/current"),
        switch(("ecc_enabled_pending",), "ecc_mode/pending_ecc", "ecc mode/pending"),
    ),
    process_memory=_MEBIBYTES,
    collect_more=_must_not_read_all_ones,
    node=_node,
)
REMOTE = remote_of(VENDOR)
