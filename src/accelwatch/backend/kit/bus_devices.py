"""A vendor's devices on the PCI bus, as they are known before its command has answered."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from accelwatch.backend import Context
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.system.kernel import device_nodes, sysfs

# PCI base classes: of processing accelerators, and of GPUs with and without outputs.
ACCELERATOR, DISPLAY = 0x12, 0x03


class Listed(Protocol):
    """One device in what the command lists."""

    @property
    def pci_bus_id(self) -> str | None:
        """Where it is; None where the command does not say, or it is not on the bus."""
        ...

    @property
    def number(self) -> int:
        """The vendor's index."""
        ...


class Location(NamedTuple):
    """Where a device is, and nothing more."""

    pci_bus_id: str | None
    # The vendor's index.
    number: int


def accelerators(
    context: Context, vendor_id: int, classes: Collection[int] = (ACCELERATOR,)
) -> list[str]:
    """PCI ids of a vendor's functions of these base classes, in the order of the bus."""
    functions = sysfs.pci_functions(context.root, vendor_id)
    return [bus for bus, _, code in functions if code >> 16 in classes]


def bare_device(
    root: Path, location: Listed, *, vendor: str, prefix: str, kind: DeviceKind
) -> Device:
    """A device by its location on the bus alone, before any driver has answered."""
    bus = location.pci_bus_id
    return Device(
        id=f"{vendor}:{bus or location.number}",
        vendor=vendor,
        backend=vendor,
        index=location.number,
        name=f"{prefix}{location.number}",
        kind=kind,
        pci_bus_id=bus,
        numa_node=None if bus is None else sysfs.numa_node(root, bus),
    )


def bare_devices(
    root: Path,
    on_bus: Sequence[str],
    *,
    vendor: str,
    prefix: str,
    kind: DeviceKind = DeviceKind.NPU,
    nodes: str = "",
) -> list[Device]:
    """The devices on the bus but for those that somebody else was given; `nodes` as of VendorTool."""
    ours = [
        bus
        for bus in on_bus
        if not device_nodes.is_virtual_function(root, bus)
        and not device_nodes.why_withheld(root, bus, on_bus, nodes)
    ]
    return [
        bare_device(root, Location(bus, number), vendor=vendor, prefix=prefix, kind=kind)
        for number, bus in enumerate(ours)
    ]
