"""The PCIe link of a device as the kernel keeps it for every driver."""

import re
from pathlib import Path

import msgspec

from accelwatch import sysfs
from accelwatch.schema.absence import Absence
from accelwatch.schema.reading import Collected, Reading

_SPEED = re.compile(r"(\d{1,2}(?:\.\d)?) GT/s.*")
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
"""GT/s per lane to generation, PCI Express Base Specification."""
_MOST_LANES = 32
LINK_KEYS = ("pcie_link_generation", "pcie_link_width_lanes")


def put_link(out: Collected, root: Path, pci_bus_id: str) -> None:
    """Generation and lanes, now and at most; each may be absent with its reason."""
    folder = sysfs.pci_device_dir(root, pci_bus_id)
    for state in ("current", "max"):
        speed = sysfs.read_text(folder / f"{state}_link_speed")
        generation = speed if isinstance(speed, Absence) else _generation(speed)
        width = sysfs.read_int(folder / f"{state}_link_width")
        if isinstance(width, int) and not 0 < width <= _MOST_LANES:
            width = Absence.ERROR
        out.put_or_miss("pcie_link_generation", generation, state)
        out.put_or_miss("pcie_link_width_lanes", width, state)


def with_link(root: Path, reading: Reading, pci_bus_id: str | None) -> Reading:
    """A reading of a vendor's tool, with the link; unchanged for what is not on the bus."""
    if pci_bus_id is None:
        return reading
    out = Collected(reading.device_id)
    put_link(out, root, pci_bus_id)
    return msgspec.structs.replace(
        reading,
        values={**reading.values, **out.values},
        absent={**reading.absent, **out.absent},
        sources={**reading.sources, **dict.fromkeys(LINK_KEYS, "sysfs")},
    )


def _generation(speed: str) -> int | Absence:
    match = _SPEED.fullmatch(speed)
    return Absence.ERROR if match is None else _GENERATIONS.get(float(match[1]), Absence.ERROR)
