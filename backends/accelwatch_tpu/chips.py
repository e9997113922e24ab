"""TPU chips on the PCI bus: which generation, and the device node a workload opens."""

from pathlib import Path
from typing import NamedTuple

from accelwatch.schema.natural_order import natural
from accelwatch.system.kernel import sysfs

# Google's; its network and disk functions of a virtual machine have it too.
VENDOR_ID = 0x1AE0


class Generation(NamedTuple):
    """One generation of chips."""

    name: str
    # Devices of a chip, as libtpu counts them: each with a half of the memory where there are two.
    cores: int


# PCI device id to generation: google/cloud-accelerator-diagnostics, tpu_info/device.py.
_BY_DEVICE = {
    0x005E: Generation("v4", 1),
    0x0062: Generation("v5p", 1),
    0x0063: Generation("v5e", 1),
    0x006F: Generation("v6e", 1),
    0x0076: Generation("7x", 2),
}
_OLDEST = 0x0027
# Subsystem id to generation, of device 0027.
_BY_SUBSYSTEM = {0x004E: Generation("v2", 2), 0x004F: Generation("v3", 2)}
GENERATIONS = (*_BY_DEVICE.values(), *_BY_SUBSYSTEM.values())


class Chip(NamedTuple):
    """A chip on the bus."""

    # Of its first function: a core of 7x has one of its own.
    pci_bus_id: str
    # From 0, as libtpu counts the chips of a host: by the number of their nodes.
    number: int
    generation: Generation | None
    # `/dev/vfio/3`, the IOMMU group (v5e and later), or `/dev/accel0`; None where it is not here.
    node: str | None
    # Of all its cores.
    nodes: tuple[str, ...] = ()


class _Function(NamedTuple):
    bus: str
    generation: Generation | None
    # Its node, here or not; empty where none is known.
    node: str


def chips(root: Path) -> list[Chip]:
    """All chips, as libtpu counts them. Network and disk functions of the vendor are none."""
    by_chip: dict[str, list[_Function]] = {}
    for bus, device, _ in sysfs.pci_functions(root, VENDOR_ID):
        folder = sysfs.pci_device_dir(root, bus)
        generation = _BY_DEVICE.get(device)
        if device == _OLDEST:
            subsystem = sysfs.read_int(folder / "subsystem_device")
            generation = _BY_SUBSYSTEM.get(subsystem) if isinstance(subsystem, int) else None
        elif generation is None:
            continue
        function = _Function(bus, generation, _node(root, folder))
        by_chip.setdefault(bus.rpartition(".")[0], []).append(function)
    ordered = sorted(by_chip.values(), key=lambda cores: (natural(cores[0].node), cores[0].bus))
    return [_chip(root, number, cores) for number, cores in enumerate(ordered)]


def shared_out(every: list[Chip]) -> tuple[list[Chip], list[Chip]]:
    """Those that this container may use, and those of others, whose nodes are not here.

    Ours are renumbered, as libtpu does there, then the others. All are ours where none has a node.
    """
    mine = [chip for chip in every if chip.node is not None] or every
    others = [chip for chip in every if chip not in mine]
    counted = [chip._replace(number=number) for number, chip in enumerate([*mine, *others])]
    return counted[: len(mine)], counted[len(mine) :]


def _chip(root: Path, number: int, cores: list[_Function]) -> Chip:
    nodes = tuple(
        core.node for core in cores if (root / core.node.lstrip("/")).exists() and core.node
    )
    first = cores[0]
    return Chip(first.bus, number, first.generation, nodes[0] if nodes else None, nodes)


def _node(root: Path, folder: Path) -> str:
    """The device node, that of the driver first; empty where sysfs names none."""
    group = sysfs.link_name(folder / "iommu_group")
    named = [entry.name for entry in sysfs.list_dir(folder / "accel")]
    nodes = [f"/dev/{name}" for name in named] + ([f"/dev/vfio/{group}"] if group else [])
    here = (node for node in nodes if (root / node.lstrip("/")).exists())
    return next(here, nodes[0] if nodes else "")
