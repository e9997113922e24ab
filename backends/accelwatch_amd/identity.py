"""Which AMD GPUs are in the machine, and who each of them is."""

import re

import msgspec

from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device, MemoryKind, normal_pci_bus_id
from accelwatch_amd import names
from accelwatch_amd.hwmon import find_hwmon, has_northbridge_rail
from accelwatch_amd.kfd import Node
from accelwatch_amd.tree import Tree

_VENDOR_ID = 0x1002
_DEVICES = "sys/bus/pci/devices"
_DISPLAY, _ACCELERATOR = 0x03, 0x12
"""PCI base classes; MI300 calls itself a processing accelerator."""
_PASSED_THROUGH = ("vfio-pci", "pci-stub")
_SMU_SHARED_FORMATS = (2, 3)
"""Format revisions of gpu_metrics that only APUs have."""


_INSCRIPTIONS = (
    ("model", "product_name"),
    ("serial", "serial_number"),
    ("part_number", "product_number"),
    ("vbios_version", "vbios_version"),
)
_MODE = re.compile(r"[A-Z]{3}|NPS\d{1,2}")


class Function(msgspec.Struct, frozen=True, kw_only=True):
    """One AMD GPU on the PCI bus, from `uevent`, which a sleeping or dead device answers too."""

    pci_bus_id: str
    device_id: int
    driver: str = ""
    """Empty where no driver is bound."""


def parse_uevent(text: str) -> dict[str, str]:
    """`KEY=value` lines."""
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip(): value.strip() for key, separator, value in pairs if separator}


def _hexadecimal(text: str) -> int | None:
    try:
        return int(text, 16)
    except ValueError:
        return None


def _function(name: str, folder: Tree) -> Function | None:
    facts = parse_uevent(folder.word("uevent") or "")
    vendor, _, device = facts.get("PCI_ID", "").partition(":")
    device_id, code = _hexadecimal(device), _hexadecimal(facts.get("PCI_CLASS", ""))
    if _hexadecimal(vendor) != _VENDOR_ID or device_id is None or code is None:
        return None
    driver = facts.get("DRIVER", "")
    if code >> 16 not in (_DISPLAY, _ACCELERATOR) or driver in _PASSED_THROUGH:
        return None
    return Function(pci_bus_id=normal_pci_bus_id(name), device_id=device_id, driver=driver)


def find_functions(root: Tree) -> tuple[Function, ...]:
    """AMD GPUs in bus order; those given to a virtual machine are left out."""
    devices = root.below(_DEVICES)
    found = []
    for name in devices.names("*"):
        folder = devices.below(name)
        if folder.integer("vendor") != _VENDOR_ID:
            continue
        function = _function(name, folder)
        if function is not None:
            found.append(function)
    return tuple(found)


def device_tree(root: Tree, pci_bus_id: str) -> Tree:
    """The device's folder of attributes, the same as `/sys/class/drm/cardN/device`."""
    return root.below(f"{_DEVICES}/{pci_bus_id}")


def provisional(root: Tree, function: Function, index: int) -> Device:
    """What is known without a question that the device itself would have to answer.

    `unique_id` is a number that the driver keeps in memory; amdgpu does not wake the device for it.
    """
    tree = device_tree(root, function.pci_bus_id)
    unique_id = _unique_id(tree)
    nodes = tree.below("drm").names("*")
    return Device(
        id=f"amd:{f'GPU-{unique_id}' if unique_id else function.pci_bus_id}",
        vendor="amd",
        backend="amd",
        index=index,
        name=f"amd{index}",
        model=names.board_name(function.device_id),
        architecture=names.architecture(0, function.device_id),
        uuid=f"GPU-{unique_id}" if unique_id else None,
        pci_bus_id=function.pci_bus_id,
        numa_node=_numa_node(tree),
        device_nodes=tuple(
            f"/dev/dri/{name}" for name in nodes if name.startswith(("card", "rend"))
        ),
        memory_kind=_memory_kind(names.shares_memory(function.device_id)),
    )


def identified(root: Tree, device: Device, function: Function, nodes: tuple[Node, ...]) -> Device:
    """The full identity of a device that is awake."""
    tree = device_tree(root, function.pci_bus_id)
    revision = tree.integer("revision")
    listed = names.listed_name(
        root, function.device_id, revision if isinstance(revision, int) else 0
    )
    absent = dict(device.absent)
    texts = {field: _inscription(tree, file, field, absent) for field, file in _INSCRIPTIONS}
    model = texts["model"] or listed or device.model or _plain_name(function, nodes)
    if model is not None:
        absent.pop("model", None)
    return msgspec.structs.replace(
        device,
        model=model,
        architecture=names.architecture(
            nodes[0].gfx_target_version if nodes else 0, function.device_id
        ),
        serial=texts["serial"],
        part_number=texts["part_number"],
        vbios_version=texts["vbios_version"],
        firmware_version=_firmware(tree),
        driver_version=driver_version(root, function.driver),
        memory_kind=_memory_kind(names.shares_memory(function.device_id) or _looks_shared(tree)),
        partition_mode=partition_mode(tree),
        device_nodes=device.device_nodes or _render_nodes(nodes),
        absent=absent,
    )


def partition_mode(tree: Tree) -> str | None:
    """`CPX/NPS4`: how compute and memory are divided; None where the device cannot be."""
    files = ("current_compute_partition", "current_memory_partition")
    modes = [tree.word(file) or "" for file in files]
    return "/".join(mode for mode in modes if _MODE.fullmatch(mode)) or None


def driver_version(root: Tree, driver: str) -> str | None:
    """Version of a driver from AMD's packages, else the kernel's release, whose part it is."""
    return root.word(f"sys/module/{driver}/version") or root.word("proc/sys/kernel/osrelease")


def _unique_id(tree: Tree) -> str | None:
    text = (tree.word("unique_id") or "").lower()
    number = _hexadecimal(text)
    return f"{number:016x}" if number and len(text) <= 18 else None


def _numa_node(tree: Tree) -> int | None:
    node = tree.integer("numa_node")
    return node if isinstance(node, int) and node >= 0 else None


def _memory_kind(shared: bool) -> MemoryKind:
    return MemoryKind.SHARED if shared else MemoryKind.DEDICATED


def _looks_shared(tree: Tree) -> bool:
    header = tree.raw("gpu_metrics")
    if isinstance(header, bytes) and len(header) > 3 and header[2] in _SMU_SHARED_FORMATS:
        return True
    return has_northbridge_rail(find_hwmon(tree))


def _plain_name(function: Function, nodes: tuple[Node, ...]) -> str:
    gfx = names.gfx_name(nodes[0].gfx_target_version) if nodes else None
    return f"AMD GPU {function.device_id:04x}" + (f" ({gfx})" if gfx else "")


def _inscription(tree: Tree, file: str, field: str, absent: dict[str, Absence]) -> str | None:
    """A text from the board's own memory; None for an empty or an `xxx-xxx-xxx` one.

    What cannot be read, or holds no readable text, gets its reason in `absent`.
    """
    text = tree.text(file)
    reason = text if isinstance(text, Absence) else Absence.ERROR
    if (
        not isinstance(text, Absence)
        and text.isprintable()
        and "\N{REPLACEMENT CHARACTER}" not in text
    ):
        return text if text.strip("x-") else None
    if reason is not Absence.UNSUPPORTED:
        absent[field] = reason
    return None


def _firmware(tree: Tree) -> str | None:
    """Version of the power management firmware, which sets clocks and makes gpu_metrics."""
    version = tree.integer("fw_version/smc_fw_version")
    return f"{version:#010x}" if isinstance(version, int) and version > 0 else None


def _render_nodes(nodes: tuple[Node, ...]) -> tuple[str, ...]:
    return tuple(f"/dev/dri/renderD{node.render_minor}" for node in nodes if node.render_minor)
