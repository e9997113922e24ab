"""What an Intel device is: from PCI and sysfs, completed by Sysman where it is at hand."""

from pathlib import Path

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, DeviceKind, MemoryKind
from accelwatch.system.kernel import sysfs
from accelwatch_intel import products
from accelwatch_intel.card import Card
from accelwatch_intel.sysman.calls import text, uuid_text
from accelwatch_intel.sysman.structures import DeviceProperties

TILE = "tile"


def device_id(card: Card) -> str:
    """Stable id: a Sysman uuid is made of the PCI address too, so it would be no better."""
    return f"intel:{card.pci_bus_id}"


def describe(root: Path, card: Card, index: int) -> Device:
    """The device as PCI and sysfs name it; reads nothing that wakes it."""
    if card.kind is DeviceKind.NPU or not card.discrete:
        memory = MemoryKind.SHARED
    else:
        memory = MemoryKind.AGGREGATE
    return Device(
        id=device_id(card),
        vendor="intel",
        backend="intel",
        index=index,
        name=f"intel{index}",
        kind=card.kind,
        model=products.model(root, card.device_id),
        architecture=products.architecture(card.device_id),
        driver_version=driver_version(root, card.driver) if card.nodes else None,
        pci_bus_id=card.pci_bus_id,
        numa_node=sysfs.numa_node(root, card.pci_bus_id),
        device_nodes=card.nodes,
        memory_kind=memory,
    )


def driver_version(root: Path, driver: str | None) -> str | None:
    """Version of a kernel module; one of the kernel's own has the kernel's release."""
    if driver is None:
        return None
    for path in (f"sys/module/{driver}/version", "proc/sys/kernel/osrelease"):
        version = sysfs.read_text(root / path)
        if not isinstance(version, Absence) and version:
            return version
    return None


def firmware_version(card: Card) -> str | None:
    """Version of the graphics system controller's firmware, from its MEI device."""
    for client in sysfs.list_dir(card.folder):
        if ".mei-gsc" not in client.name:
            continue
        for node in sysfs.list_dir(client / "mei"):
            version = sysfs.read_text(node / "fw_ver")
            if not isinstance(version, Absence) and version:
                return version.splitlines()[0].rpartition(":")[2] or None
    return None


def enrich(device: Device, properties: DeviceProperties, *, dedicated: bool) -> Device:
    """The device with uuid, serial, names and driver version as Sysman gives them."""
    return msgspec.structs.replace(
        device,
        uuid=uuid_text(bytes(properties.core.uuid)),
        serial=text(properties.serialNumber),
        part_number=text(properties.boardNumber),
        model=_better_name(device.model, text(properties.core.name)),
        driver_version=text(properties.driverVersion) or device.driver_version,
        memory_kind=MemoryKind.DEDICATED if dedicated else device.memory_kind,
    )


def _better_name(own: str | None, reported: str | None) -> str | None:
    """The driver's name where ours is only made of the id."""
    return reported if reported and (own is None or "[" in own) else own


def tile_device(device: Device, tile: int) -> Device:
    """A tile of a multi-tile card as a partition."""
    name = f"{TILE}{tile}"
    return msgspec.structs.replace(
        device,
        id=f"{device.id}/{name}",
        name=f"{device.name}{name}",
        uuid=f"{device.uuid}/{name}" if device.uuid else None,
        parent_id=device.id,
        partition=name,
        partition_technology=TILE,
    )
