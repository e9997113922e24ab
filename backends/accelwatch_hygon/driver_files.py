"""What the driver (hydcu, hycu, hygpu; a fork of amdgpu) keeps in files, read without a command."""

from pathlib import Path

from accelwatch.schema.reading import Collected
from accelwatch.system.kernel import sysfs

SOURCE = "sysfs"
# Names of the kernel's module, by release.
DRIVERS = ("hydcu", "hycu", "hygpu")
_MEMORY = (
    ("memory_size_bytes", "mem_info_vram_total"),
    ("memory_used_bytes", "mem_info_vram_used"),
)


def is_of_another_vendor(root: Path, pci_bus_id: str, vendor_id: int) -> bool:
    """Whether the bus has another vendor's function at this address."""
    vendor = sysfs.read_int(sysfs.pci_device_dir(root, pci_bus_id) / "vendor")
    return isinstance(vendor, int) and vendor != vendor_id


def unique_id(root: Path, pci_bus_id: str) -> str | None:
    """As the driver writes it: hexadecimal digits."""
    text = sysfs.read_text(sysfs.pci_device_dir(root, pci_bus_id) / "unique_id")
    return text if isinstance(text, str) and text else None


def collect_memory(out: Collected, root: Path, pci_bus_id: str) -> list[str]:
    """Memory where nothing else reported it; the keys that are from here."""
    folder = sysfs.pci_device_dir(root, pci_bus_id)
    put: list[str] = []
    for key, file in _MEMORY:
        size = None if (key,) in out.values else sysfs.read_int(folder / file)
        if isinstance(size, int) and size >= 0:
            out.put(key, size)
            put.append(key)
    return put
