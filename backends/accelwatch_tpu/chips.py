"""TPU chips on the PCI bus: which generation, and the device node a workload opens."""

from pathlib import Path
from typing import NamedTuple

from accelwatch import sysfs

VENDOR_ID = 0x1AE0
"""Google's; its network and disk functions of a virtual machine have it too."""


class Generation(NamedTuple):
    """One generation of chips."""

    name: str
    cores: int
    """Devices of a chip, as libtpu counts them: each with a half of the memory where there are two."""


_BY_DEVICE = {
    0x005E: Generation("v4", 1),
    0x0062: Generation("v5p", 1),
    0x0063: Generation("v5e", 1),
    0x006F: Generation("v6e", 1),
    0x0076: Generation("7x", 2),
}
"""PCI device id to generation: google/cloud-accelerator-diagnostics, tpu_info/device.py."""
_OLDEST = 0x0027
_BY_SUBSYSTEM = {0x004E: Generation("v2", 2), 0x004F: Generation("v3", 2)}
"""Subsystem id to generation, of device 0027."""


class Chip(NamedTuple):
    """A chip on the bus."""

    pci_bus_id: str
    number: int
    """From 0 in the order of the bus, as libtpu counts the chips of a host."""
    generation: Generation | None
    node: str | None
    """`/dev/vfio/3`, the IOMMU group (v5e and later), or `/dev/accel0`."""


def chips(root: Path) -> list[Chip]:
    """All chips, in the order of the bus. Network and disk functions of the vendor are none."""
    listed: list[Chip] = []
    for bus, device, _ in sysfs.pci_functions(root, VENDOR_ID):
        folder = sysfs.pci_device_dir(root, bus)
        generation = _BY_DEVICE.get(device)
        if device == _OLDEST:
            subsystem = sysfs.read_int(folder / "subsystem_device")
            generation = _BY_SUBSYSTEM.get(subsystem) if isinstance(subsystem, int) else None
        elif generation is None:
            continue
        listed.append(Chip(bus, len(listed), generation, _node(root, folder)))
    return listed


def _node(root: Path, folder: Path) -> str | None:
    """The device node, if it is there."""
    group = sysfs.link_name(folder / "iommu_group")
    named = [entry.name for entry in sysfs.list_dir(folder / "accel")]
    nodes = [f"/dev/{name}" for name in named] + ([f"/dev/vfio/{group}"] if group else [])
    return next((node for node in nodes if (root / node.lstrip("/")).exists()), None)
