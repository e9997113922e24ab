"""Whether a PCI function was given to us: a container sees the whole bus, but only nodes of its own.

No node is opened, which could wake or hold a device: access(2) checks the device cgroup as well
(inode_permission in the kernel's fs/namei.c).
"""

import os
from collections.abc import Sequence
from pathlib import Path

from accelwatch.system.kernel import sysfs

# Drivers that hold a function for a virtual machine or a program, whatever it is.
_FOR_GUESTS = frozenset({"vfio-pci", "pci-stub", "xen-pciback", "uio_pci_generic"})
_MAX_UEVENT_LINES = 64


def is_virtual_function(root: Path, pci_bus_id: str) -> bool:
    """Whether it is a part (SR-IOV) of another function of this bus."""
    return sysfs.link_name(sysfs.pci_device_dir(root, pci_bus_id) / "physfn") is not None


def is_unbound(root: Path, pci_bus_id: str, others: Sequence[str]) -> bool:
    """Whether a driver holds some of `others` and none holds this function, which is on the bus."""
    if not sysfs.pci_device_dir(root, pci_bus_id).is_dir() or _driver(root, pci_bus_id) is not None:
        return False
    return any(_driver(root, bus) not in {None, *_FOR_GUESTS} for bus in others)


def why_withheld(root: Path, pci_bus_id: str, others: Sequence[str], pattern: str) -> str:
    """Why a function belongs to others; empty where it may be ours.

    Its driver holds it, and its node is not here or may not be opened. Where sysfs does not name the
    node, fewer nodes of this `pattern` (`rbln[0-9]*` below /dev) may be opened than there are functions
    that the driver holds, of all of the vendor's (`others`). A function without a driver is nobody's.
    """
    driver = _driver(root, pci_bus_id)
    if driver is None:
        return ""
    if driver in _FOR_GUESTS:
        return f"{driver} holds it for a virtual machine"
    nodes = _nodes(root, pci_bus_id)
    if nodes:
        return _of_nodes(root, nodes)
    if not pattern:
        return ""
    here = list((root / "dev").glob(pattern))
    ours = [node for node in here if os.access(node, os.R_OK)]
    bound = [bus for bus in others if _driver(root, bus) == driver]
    physical = [bus for bus in bound if not is_virtual_function(root, bus)]
    if len(ours) >= len(physical):
        return ""
    are = "are here" if ours == here else "are here and may be opened"
    return f"only {len(ours)} of {len(physical)} device nodes {are}"


def _driver(root: Path, pci_bus_id: str) -> str | None:
    return sysfs.link_name(sysfs.pci_device_dir(root, pci_bus_id) / "driver")


def _of_nodes(root: Path, nodes: Sequence[str]) -> str:
    """Why none of these can be opened; empty when one can."""
    here = [node for node in nodes if (root / "dev" / node).exists()]
    if not here:
        return f"/dev/{nodes[0]} is not here"
    if not any(os.access(root / "dev" / node, os.R_OK) for node in here):
        return (
            f"/dev/{here[0]} may not be opened: its permissions or a device cgroup are against it"
        )
    return ""


def _nodes(root: Path, pci_bus_id: str) -> list[str]:
    """Names below /dev of what the function's driver has made of it, from `uevent`."""
    names: list[str] = []
    for kind in sysfs.list_dir(sysfs.pci_device_dir(root, pci_bus_id)):
        if kind.is_symlink() or not kind.is_dir():
            continue
        for folder in sysfs.list_dir(kind):
            uevent = sysfs.read_text(folder / "uevent")
            lines = uevent.splitlines()[:_MAX_UEVENT_LINES] if isinstance(uevent, str) else []
            names += [line[8:] for line in lines if line.startswith("DEVNAME=")]
    return [name for name in names if name and ".." not in name]
