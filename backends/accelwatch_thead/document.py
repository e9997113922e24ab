"""What `ppu-smi -q` prints, and its tables, taken apart. Pure. PPUs are numbered by their order."""

import re
from collections.abc import Iterator
from types import MappingProxyType

from accelwatch.backend_kit.smi import processes as smi_processes
from accelwatch.backend_kit.smi import table as smi_table
from accelwatch.backend_kit.smi.blocks import (
    Path,
    find_field,
    meaningful_text,
    of_text,
    parse_integer,
    pci_bus_id_of,
)
from accelwatch.backend_kit.smi.listing import MAX_GPUS, Gpu, Listing, distinct
from accelwatch.base.errors import ReadError

_DRIVER = re.compile(r"Driver Version\s*:\s*([^\s|]+)")
_PATHS = MappingProxyType(
    {
        "name": ("product name",),
        "persistence m.": ("persistence mode",),
        "volatile uncorr. ecc": ("volatile", "uncorrectable"),
        "fan": ("fan speed",),
        "temp": ("temperature", "ppu current temp"),
        "perf": ("performance state",),
        "ppu-util": ("utilization", "ppu"),
        "compute m.": ("compute mode",),
        "mig m.": ("mig mode", "current"),
    }
)
"""Heading to the path that `-q` has for it."""
_PAIRS: MappingProxyType[str, tuple[Path, Path]] = MappingProxyType(
    {
        "pwr:usage/cap": (
            ("power readings", "power draw"),
            ("power readings", "enforced power limit"),
        ),
        "memory-usage": (("memory usage", "used"), ("memory usage", "total")),
    }
)
_BETWEEN = re.compile(r"\s/\s?")


def parse_text(output: bytes) -> Listing:
    """The document of `-q`. Raises ReadError when it has no PPU."""
    head, blocks = of_text(output)
    if not blocks:
        raise ReadError("ppu-smi -q printed no PPU", code="garbage")
    gpus = (
        Gpu(number=at, pci_bus_id=block.pci_bus_id, fields=block.fields)
        for at, block in enumerate(blocks[:MAX_GPUS])
    )
    return Listing(
        driver_version=meaningful_text(find_field(head, ("driver version",))), gpus=tuple(gpus)
    )


def parse_table(output: bytes) -> Listing:
    """PPUs and processes, without uuids and serials. Raises ReadError."""
    text = output.decode("utf-8", "replace")
    lines = text.splitlines()
    below = smi_processes.title_at(lines)
    there, rows = smi_table.rows(lines[:below], ("ppu", "name"))
    if not there and below == len(lines):
        raise ReadError("ppu-smi printed no table", code="garbage")
    driver = _DRIVER.search(text)
    return Listing(
        driver_version=None if driver is None else meaningful_text(driver[1]),
        gpus=distinct(_ppus(rows)),
        jobs=smi_processes.jobs(lines, instances=True),
    )


def _ppus(rows: list[dict[str, str]]) -> Iterator[Gpu]:
    """Instances of MIG have a table of their own, without a name: they are none."""
    for row in rows:
        number = parse_integer(row.get("ppu"))
        if number is not None:
            address = pci_bus_id_of(row.get("bus-id"))
            yield Gpu(number=number, pci_bus_id=address, fields=dict(_fields(row)))


def _fields(row: dict[str, str]) -> Iterator[tuple[Path, object]]:
    for name, cell in row.items():
        if name in _PATHS:
            yield _PATHS[name], cell
        elif name in _PAIRS and len(pair := _BETWEEN.split(cell)) == 2:
            yield from zip(_PAIRS[name], pair, strict=True)
