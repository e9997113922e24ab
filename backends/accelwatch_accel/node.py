"""Which devices of /sys/class/accel are ours, and who they are."""

import re
from pathlib import Path

import msgspec

from accelwatch import sysfs
from accelwatch.schema.device import Device, DeviceKind, MemoryKind, normal_pci_bus_id

VENDOR = "accel"
OWNED = frozenset({"habanalabs", "intel_vpu", "qaic", "rebellions", "tenstorrent"})
"""Drivers whose devices another backend reads."""
_NODE = re.compile(r"accel(\d{1,4})")
_PCI = re.compile(r"[0-9a-f]{4,5}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]")
_MODELS = {
    (0x1022, 0x1502): "AMD NPU (Phoenix, Hawk Point)",
    (0x1022, 0x17F0): "AMD NPU (Strix, Krackan)",
}
_FIRMWARE = re.compile(r"\d{1,10}(?:\.\d{1,10}){1,5}")
_PRODUCT = re.compile(r"RyzenAI-[\w-]{1,40}")


class Node(msgspec.Struct, frozen=True):
    """One device of the class."""

    number: int
    """N of `/dev/accel/accelN`."""
    place: str
    """Name of the device below its bus: a PCI id, or a platform device's name."""
    driver: str
    folder: Path
    """The device's folder, through the class."""

    @property
    def pci_bus_id(self) -> str | None:
        """Lower case; None on another bus."""
        return normal_pci_bus_id(self.place) if _PCI.fullmatch(self.place) else None


def find_nodes(root: Path) -> list[Node]:
    """Devices of the class with a driver that no other backend owns, by number; opens no file."""
    nodes = []
    for entry in sysfs.list_dir(root / "sys/class/accel"):
        match = _NODE.fullmatch(entry.name)
        folder = entry / "device"
        place, driver = sysfs.link_name(folder), sysfs.link_name(folder / "driver")
        if match and place and driver and driver not in OWNED:
            nodes.append(Node(int(match[1]), place, driver, folder))
    return nodes


def describe(root: Path, node: Node) -> Device:
    """The device by what the kernel keeps of it; wakes nothing."""
    ids = sysfs.read_int(node.folder / "vendor"), sysfs.read_int(node.folder / "device")
    bus_id = node.pci_bus_id
    return Device(
        id=f"{VENDOR}:{node.place}",
        vendor=VENDOR,
        backend="accel",
        index=node.number,
        name=f"accel{node.number}",
        kind=DeviceKind.NPU,
        model=next((name for known, name in _MODELS.items() if known == ids), None),
        architecture="xdna" if node.driver == "amdxdna" else None,
        driver_version=driver_version(root, node.driver),
        pci_bus_id=bus_id,
        numa_node=None if bus_id is None else sysfs.numa_node(root, bus_id),
        device_nodes=(f"/dev/accel/accel{node.number}",),
        memory_kind=MemoryKind.SHARED,
    )


def identified(device: Device, node: Node) -> Device:
    """With firmware and product name, as amdxdna writes them."""
    product = _matching(_PRODUCT, node.folder / "vbnv")
    firmware = _matching(_FIRMWARE, node.folder / "fw_version")
    return msgspec.structs.replace(device, model=product or device.model, firmware_version=firmware)


def driver_version(root: Path, driver: str) -> str | None:
    """Version of the module; one of the kernel's own has the kernel's release."""
    for path in (f"sys/module/{driver}/version", "proc/sys/kernel/osrelease"):
        version = sysfs.read_text(root / path)
        if isinstance(version, str) and version[:1].isdigit():
            return version[:64]
    return None


def off_the_bus(node: Node) -> bool:
    """Whether it is gone, or its configuration space reads as all ones. Not for one that sleeps."""
    if not node.folder.exists():
        return True
    header = sysfs.read_bytes(node.folder / "config")
    return isinstance(header, bytes) and header[:4] == b"\xff" * 4


def _matching(pattern: re.Pattern[str], path: Path) -> str | None:
    text = sysfs.read_text(path)
    return text if isinstance(text, str) and pattern.fullmatch(text) else None
