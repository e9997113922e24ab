"""AMD GPUs on the PCI bus: whether there is anything to do for this backend."""

import msgspec

from accelwatch.schema.device import normal_pci_bus_id
from accelwatch_amd.sysfs.tree import Tree

_VENDOR_ID = 0x1002
_DEVICES = "sys/bus/pci/devices"
# PCI base classes; MI300 calls itself a processing accelerator.
_DISPLAY, _ACCELERATOR = 0x03, 0x12
_PASSED_THROUGH = ("vfio-pci", "pci-stub")


class Function(msgspec.Struct, frozen=True, kw_only=True):
    """One AMD GPU on the PCI bus, from `uevent`, which a sleeping or dead device answers too."""

    pci_bus_id: str
    device_id: int
    # Empty where no driver is bound.
    driver: str = ""


def parse_uevent(text: str) -> dict[str, str]:
    """`KEY=value` lines."""
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip(): value.strip() for key, separator, value in pairs if separator}


def hexadecimal(text: str) -> int | None:
    """The number, or None for other text."""
    try:
        return int(text, 16)
    except ValueError:
        return None


def _function(name: str, folder: Tree) -> Function | None:
    facts = parse_uevent(folder.text_or_none("uevent") or "")
    vendor, _, device = facts.get("PCI_ID", "").partition(":")
    device_id, code = hexadecimal(device), hexadecimal(facts.get("PCI_CLASS", ""))
    if hexadecimal(vendor) != _VENDOR_ID or device_id is None or code is None:
        return None
    driver = facts.get("DRIVER", "")
    if code >> 16 not in (_DISPLAY, _ACCELERATOR) or driver in _PASSED_THROUGH:
        return None
    return Function(pci_bus_id=normal_pci_bus_id(name), device_id=device_id, driver=driver)


def find_functions(root: Tree) -> tuple[Function, ...]:
    """AMD GPUs in bus order; those given to a virtual machine are left out."""
    devices = root.below(_DEVICES)
    functions = []
    for name in devices.names("*"):
        folder = devices.below(name)
        if folder.integer("vendor") != _VENDOR_ID:
            continue
        function = _function(name, folder)
        if function is not None:
            functions.append(function)
    return tuple(functions)


def device_tree(root: Tree, pci_bus_id: str) -> Tree:
    """The device's folder of attributes, the same as `/sys/class/drm/cardN/device`."""
    return root.below(f"{_DEVICES}/{pci_bus_id}")
