"""The PCIe link of a device as the kernel keeps it for every driver."""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected, Reading
from accelwatch.system.kernel import sysfs

# GT/s per lane to generation, PCI Express Base Specification.
GENERATIONS: Mapping[float, int] = MappingProxyType(
    {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
)
_SPEED = re.compile(r"(\d{1,2}(?:\.\d)?) GT/s.*")
# An integrated device's, which has no link: include/linux/pci.h, PCI_SPEED_UNKNOWN.
_UNKNOWN_SPEED = "Unknown"
_MOST_LANES = 32
# The same of lanes: include/linux/pci.h, PCIE_LNK_WIDTH_RESRV and PCIE_LNK_WIDTH_UNKNOWN.
_UNKNOWN_LANES = (0x00, 0xFF)
# Class and subclass of a bridge to another bus: include/linux/pci_ids.h, PCI_CLASS_BRIDGE_PCI.
_BRIDGE = 0x0604
STATES = ("current", "max")
LINK_KEYS = ("pcie_link_generation", "pcie_link_width_lanes")


def is_bridge(class_code: int) -> bool:
    """Whether a function of this class leads to another bus: a port, or a side of a switch."""
    return class_code >> 8 == _BRIDGE


def generation_of(speed: str | Absence) -> int | Absence:
    """`16.0 GT/s PCIe`, and `16 GT/s` of older kernels, is 4; `Unknown` is `unsupported`."""
    if isinstance(speed, Absence):
        return speed
    if speed == _UNKNOWN_SPEED:
        return Absence.UNSUPPORTED
    match = _SPEED.fullmatch(speed)
    return Absence.ERROR if match is None else GENERATIONS.get(float(match[1]), Absence.ERROR)


def lanes_of(width: int | Absence) -> int | Absence:
    """The lanes, or `unsupported` where the kernel knows none."""
    if isinstance(width, Absence):
        return width
    if width in _UNKNOWN_LANES:
        return Absence.UNSUPPORTED
    return width if 0 < width <= _MOST_LANES else Absence.ERROR


def link_of(speed: str | Absence, width: int | Absence) -> tuple[int | Absence, int | Absence]:
    """Generation and lanes by what the kernel says of both; either may be absent with its reason."""
    generation, lanes = generation_of(speed), lanes_of(width)
    if lanes is Absence.ERROR and generation is Absence.UNSUPPORTED:
        # Not a device without a link: of one that has left the bus every bit reads as 1, which is a
        # speed that the kernel does not know and 63 lanes.
        generation = Absence.ERROR
    return generation, lanes


def collect_link(out: Collected, root: Path, pci_bus_id: str) -> None:
    """Generation and lanes of a device, now and at most; each may be absent with its reason."""
    collect_link_of(out, sysfs.pci_device_dir(root, pci_bus_id))


def collect_link_of(out: Collected, folder: Path) -> None:
    """The same of the PCI function whose folder this is."""
    for state in STATES:
        generation, lanes = link_of(
            sysfs.read_text(folder / f"{state}_link_speed"),
            sysfs.read_int(folder / f"{state}_link_width"),
        )
        out.put_or_miss("pcie_link_generation", generation, state)
        out.put_or_miss("pcie_link_width_lanes", lanes, state)


def with_link(root: Path, reading: Reading, pci_bus_id: str | None) -> Reading:
    """A reading of a vendor's tool, with the link; unchanged for what is not on the bus."""
    if pci_bus_id is None:
        return reading
    out = Collected(reading.device_id)
    collect_link(out, root, pci_bus_id)
    return msgspec.structs.replace(
        reading,
        values={**reading.values, **out.values},
        absent={**reading.absent, **out.absent},
        sources={**reading.sources, **dict.fromkeys(LINK_KEYS, "sysfs")},
    )
