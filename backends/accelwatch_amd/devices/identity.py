"""Which AMD GPUs are in the machine, and who each of them is."""

import re

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, MemoryKind
from accelwatch_amd.devices import names
from accelwatch_amd.devices.functions import Function, device_tree, hexadecimal
from accelwatch_amd.sysfs.hwmon import find_hwmon, has_northbridge_rail
from accelwatch_amd.sysfs.kfd import Node
from accelwatch_amd.sysfs.tree import Tree

# Format revisions of gpu_metrics that only APUs have.
_SMU_SHARED_FORMATS = (2, 3)


_INSCRIPTIONS = (
    ("model", "product_name"),
    ("serial", "serial_number"),
    ("part_number", "product_number"),
    ("vbios_version", "vbios_version"),
)
_MODE = re.compile(r"[A-Z]{3}|NPS\d{1,2}")


def provisional(root: Tree, function: Function, index: int) -> Device:
    """What is known without a question that the device itself would have to answer.

    `unique_id` is a number that the driver keeps in memory; amdgpu does not wake the device for it.
    Nor does the kernel for `revision`, which it read when it found the device.
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
        model=names.board_name(function.device_id, _revision(tree)),
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
    listed = names.listed_name(root, function.device_id, _revision(tree))
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
        memory_kind=_memory_kind(
            names.shares_memory(function.device_id) or _uses_shared_memory(tree)
        ),
        partition_mode=partition_mode(tree),
        device_nodes=device.device_nodes or _render_nodes(nodes),
        absent=absent,
    )


def partition_mode(tree: Tree) -> str | None:
    """`CPX/NPS4`: how compute and memory are divided; None where the device cannot be."""
    files = ("current_compute_partition", "current_memory_partition")
    modes = [tree.text_or_none(file) or "" for file in files]
    return "/".join(mode for mode in modes if _MODE.fullmatch(mode)) or None


def driver_version(root: Tree, driver: str) -> str | None:
    """Version of a driver from AMD's packages, else the kernel's release, whose part it is."""
    return root.text_or_none(f"sys/module/{driver}/version") or root.text_or_none(
        "proc/sys/kernel/osrelease"
    )


def _unique_id(tree: Tree) -> str | None:
    text = (tree.text_or_none("unique_id") or "").lower()
    number = hexadecimal(text)
    return f"{number:016x}" if number and len(text) <= 18 else None


def _revision(tree: Tree) -> int | None:
    revision = tree.integer("revision")
    return revision if isinstance(revision, int) else None


def _numa_node(tree: Tree) -> int | None:
    node = tree.integer("numa_node")
    return node if isinstance(node, int) and node >= 0 else None


def _memory_kind(shared: bool) -> MemoryKind:
    return MemoryKind.SHARED if shared else MemoryKind.DEDICATED


def _uses_shared_memory(tree: Tree) -> bool:
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
