"""Which devices of /sys/class/accel are ours, and who they are."""

import re
from pathlib import Path

import msgspec

from accelwatch.schema.device import Device, DeviceKind, MemoryKind, normal_pci_bus_id
from accelwatch.system.kernel import sysfs

VENDOR = "accel"
# Drivers whose devices another backend reads.
OWNED = frozenset({"habanalabs", "intel_vpu", "qaic", "rebellions", "tenstorrent"})
_NODE = re.compile(r"accel(\d{1,4})")
_PCI = re.compile(r"[0-9a-f]{4,5}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]")
_MODELS = {
    (0x1022, 0x1502): "AMD NPU (Phoenix, Hawk Point)",
    (0x1022, 0x17F0): "AMD NPU (Strix, Krackan)",
}
# By driver, where nothing says more.
_MAKES = {"rocket": "Rockchip NPU", "ethosu": "Arm Ethos-U"}
_ETHOS = re.compile(r"OF_COMPATIBLE_\d=arm,ethos-u(\d{2,3})\s*", re.ASCII)
# rocket shows all its cores as one device, which no driver is bound to (rocket_drv.c).
_ROCKET_NAME = "rknn"
# Drivers that answer their own attributes from memory, without waking the device (amdxdna_sysfs.c).
_READABLE_ASLEEP = frozenset({"amdxdna"})
_FIRMWARE = re.compile(r"\d{1,10}(?:\.\d{1,10}){1,5}", re.ASCII)
# Such as `RyzenAI-npu4` and `NPU Strix Halo`: the words differ by release of amdxdna.
_PRODUCT = re.compile(r"[A-Za-z][\w .()+-]{1,60}", re.ASCII)


class Node(msgspec.Struct, frozen=True):
    """One device of the class."""

    # N of `/dev/accel/accelN`.
    number: int
    # Name of the device below its bus: a PCI id, or a platform device's name.
    bus_name: str
    driver: str
    # The device's folder, through the class.
    folder: Path

    @property
    def is_readable_asleep(self) -> bool:
        """Whether it can be identified while it sleeps."""
        return self.driver in _READABLE_ASLEEP

    @property
    def pci_bus_id(self) -> str | None:
        """Lower case; None on another bus."""
        return normal_pci_bus_id(self.bus_name) if _PCI.fullmatch(self.bus_name) else None


def find_nodes(root: Path) -> list[Node]:
    """Devices of the class with a driver that no other backend owns, by number; opens no file."""
    nodes = []
    for entry in sysfs.list_dir(root / "sys/class/accel"):
        match = _NODE.fullmatch(entry.name)
        folder = entry / "device"
        bus_name, driver = sysfs.link_name(folder), sysfs.link_name(folder / "driver")
        if driver is None and bus_name == _ROCKET_NAME:
            driver = "rocket"
        if match and bus_name and driver and driver not in OWNED:
            nodes.append(Node(int(match[1]), bus_name, driver, folder))
    return nodes


def describe(root: Path, node: Node) -> Device:
    """The device by what the kernel keeps of it; wakes nothing."""
    ids = sysfs.read_int(node.folder / "vendor"), sysfs.read_int(node.folder / "device")
    bus_id = node.pci_bus_id
    return Device(
        id=f"{VENDOR}:{node.bus_name}",
        vendor=VENDOR,
        backend="accel",
        index=node.number,
        name=f"accel{node.number}",
        kind=DeviceKind.NPU,
        model=next((name for key, name in _MODELS.items() if key == ids), _make(node)),
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


def _make(node: Node) -> str | None:
    uevent = sysfs.read_text(node.folder / "uevent") if node.driver == "ethosu" else ""
    lines = uevent.splitlines() if isinstance(uevent, str) else ()
    match = next(filter(None, map(_ETHOS.fullmatch, lines)), None)
    return f"Arm Ethos-U{match[1]}" if match else _MAKES.get(node.driver)


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
