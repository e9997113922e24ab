"""The tables that `mthreads-gmi` prints for people: GPUs, and the processes on them. Pure."""

import re
from collections.abc import Iterator
from types import MappingProxyType

from accelwatch.backend_kit.smi import processes as smi_processes
from accelwatch.backend_kit.smi import table as smi_table
from accelwatch.backend_kit.smi.blocks import Path, meaningful_text, parse_integer, pci_bus_id_of
from accelwatch.backend_kit.smi.listing import Gpu, Listing, distinct
from accelwatch.base.errors import ReadError

_DRIVER = re.compile(r"Driver Version\s*:\s*([^\s|]+)")
_PAIR = re.compile(r"([^()]+)\(([^()]+)\)")
"""`2MiB(16384MiB)` is used and total, `4x(16x)` the link as it is and as it could be."""
_PATHS = MappingProxyType(
    {
        "name": ("product name",),
        "%gpu": ("utilization", "gpu"),
        "temp": ("temperature", "gpu current temp"),
        "device type": ("devicetype",),
        "perf": ("performance state",),
        "mpc capable": ("mpc capable",),
        "ecc mode": ("ecc mode", "current"),
    }
)
"""Heading to the path that `-q` has for it."""
_PAIRS: MappingProxyType[str, tuple[Path, Path]] = MappingProxyType(
    {
        "mem": (("fb memory usage", "used"), ("fb memory usage", "total")),
        "pcie lane width": (("link width", "current"), ("link width", "max")),
    }
)


def parse_table(output: bytes) -> Listing:
    """GPUs and processes, without uuids, serials and power. Raises ReadError."""
    text = output.decode("utf-8", "replace")
    lines = text.splitlines()
    below = smi_processes.title_at(lines)
    there, rows = smi_table.rows(lines[:below], ("id", "name"))
    if not there and below == len(lines):
        raise ReadError("mthreads-gmi printed no table", code="garbage")
    driver = _DRIVER.search(text)
    return Listing(
        driver_version=None if driver is None else meaningful_text(driver[1]),
        gpus=distinct(_gpus(rows)),
        jobs=smi_processes.jobs(lines),
    )


def _gpus(rows: list[dict[str, str]]) -> Iterator[Gpu]:
    for row in rows:
        number = parse_integer(row.get("id"))
        if number is not None:
            address = pci_bus_id_of(row.get("pcie"))
            yield Gpu(number=number, pci_bus_id=address, fields=dict(_fields(row)))


def _fields(row: dict[str, str]) -> Iterator[tuple[Path, object]]:
    for name, text in row.items():
        if name in _PATHS:
            yield _PATHS[name], text
        elif name in _PAIRS and (pair := _PAIR.fullmatch(text)):
            yield from zip(_PAIRS[name], (pair[1].strip(), pair[2].strip()), strict=True)
