"""What `ixsmi -q` prints, as text or with `-x` as XML, and its tables, taken apart. Pure.

The query numbers GPUs by their order; `minor_number` is that of the device node.
"""

import re
from collections.abc import Iterator
from types import MappingProxyType
from xml.etree.ElementTree import Element  # only the type; parsing is in smi_xml

from accelwatch.backend_kit.smi import processes as smi_processes
from accelwatch.backend_kit.smi import table as smi_table
from accelwatch.backend_kit.smi.blocks import (
    Path,
    find_field,
    first_value,
    meaningful_text,
    of_element,
    of_text,
    parse_integer,
    pci_bus_id_of,
)
from accelwatch.backend_kit.smi.listing import MAX_GPUS, Gpu, Listing, distinct
from accelwatch.backend_kit.smi.xml import parse_log
from accelwatch.base.errors import ReadError

_ROOT = "ixsmi_log"
_ADDRESS_PATHS: tuple[Path, ...] = (("pci_bus_id",), ("bus id",))
_DRIVER = re.compile(r"Driver Version\s*:\s*([^\s|]+)")
_HEADINGS = (
    "| GPU  Name | Bus-Id | Clock-SM  Clock-Mem |",
    "| Fan  Temp  Perf  Pwr:Usage/Cap | Memory-Usage | GPU-Util  Compute M. |",
)
"""Of every release that is known; rows that were printed without them are read by these."""
_PATHS = MappingProxyType(
    {
        "name": ("product_name",),
        "clock-sm": ("clocks", "sm_clock"),
        "clock-mem": ("clocks", "mem_clock"),
        "fan": ("fan_speed",),
        "temp": ("temperature", "gpu_temp"),
        "perf": ("performance_state",),
        "gpu-util": ("utilization", "gpu_util"),
        "compute m.": ("compute_mode",),
    }
)
"""Heading to the path that the XML has for it."""
_PAIRS: MappingProxyType[str, tuple[Path, Path]] = MappingProxyType(
    {
        "pwr:usage/cap": (
            ("power_readings", "power_draw"),
            ("power_readings", "power_limit"),
        ),
        "memory-usage": (("memory_usage", "used"), ("memory_usage", "total")),
    }
)
_BETWEEN = re.compile(r"\s/\s?")
"""`58W / 250W`, and `N/A / N/A`, which has slashes of its own."""


def parse_xml(output: bytes) -> Listing:
    """The document of `-q -x`. Raises ReadError when it is none, or none that ended."""
    document = parse_log(output, _ROOT)
    if not document.complete:
        fault = document.fault or f"no {_ROOT}"
        raise ReadError(f"ixsmi -q -x printed no whole XML: {fault}", code="garbage")
    listed = (_of_element(gpu, at) for at, gpu in enumerate(document.gpus[:MAX_GPUS]))
    return Listing(driver_version=meaningful_text(document.driver_version), gpus=tuple(listed))


def _of_element(gpu: Element, at: int) -> Gpu:
    fields = dict(of_element(gpu))
    address = pci_bus_id_of(gpu.get("id")) or pci_bus_id_of(first_value(fields, _ADDRESS_PATHS))
    return Gpu(number=at, pci_bus_id=address, fields=fields)


def parse_text(output: bytes) -> Listing:
    """The document of `-q`. Raises ReadError when it has no GPU."""
    head, blocks = of_text(output)
    if not blocks:
        raise ReadError("ixsmi -q printed no GPU", code="garbage")
    gpus = (
        Gpu(
            number=at if block.number is None else block.number,
            pci_bus_id=block.pci_bus_id,
            fields=block.fields,
        )
        for at, block in enumerate(blocks[:MAX_GPUS])
    )
    return Listing(
        driver_version=meaningful_text(find_field(head, ("driver version",))), gpus=distinct(gpus)
    )


def parse_table(output: bytes) -> Listing:
    """GPUs and processes, without uuids and serials. Raises ReadError."""
    text = output.decode("utf-8", "replace")
    lines = text.splitlines()
    below = smi_processes.title_at(lines)
    there, rows = smi_table.rows(lines[:below], ("gpu", "name"), _HEADINGS)
    if not there and below == len(lines):
        raise ReadError("ixsmi printed no table", code="garbage")
    driver = _DRIVER.search(text)
    return Listing(
        driver_version=None if driver is None else meaningful_text(driver[1]),
        gpus=distinct(_gpus(rows)),
        jobs=smi_processes.jobs(lines),
    )


def _gpus(rows: list[dict[str, str]]) -> Iterator[Gpu]:
    for row in rows:
        number = parse_integer(row.get("gpu"))
        if number is not None:
            address = pci_bus_id_of(row.get("bus-id"))
            yield Gpu(number=number, pci_bus_id=address, fields=dict(_fields(row)))


def _fields(row: dict[str, str]) -> Iterator[tuple[Path, object]]:
    for name, cell in row.items():
        if name in _PATHS:
            yield _PATHS[name], cell
        elif name in _PAIRS and len(pair := _BETWEEN.split(cell)) == 2:
            yield from zip(_PAIRS[name], pair, strict=True)
