"""The compute driver's view in /sys/class/kfd: which node is which PCI device, its links, its processes.

Source: Linux drivers/gpu/drm/amd/amdkfd/kfd_topology.c. Reading these files wakes nothing: they show
what the kernel already knows.
"""

from collections.abc import Iterable, Sequence

import msgspec

from accelwatch_amd.sysfs.tree import Tree

_KFD = "sys/class/kfd/kfd"
# Type of an I/O link, CRAT_IOLINK_TYPE_XGMI in kfd_crat.h.
_XGMI = 11
_MAX_NODES = 1024


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU node: a whole device, or one partition of it."""

    number: int
    gpu_id: int
    # Domain, bus and device, `0000:0a:00`: the function digit numbers the partitions of a device.
    slot: str
    function: int
    gfx_target_version: int = 0
    unique_id: int = 0
    render_minor: int = 0
    simd_count: int = 0
    simd_per_cu: int = 0
    # Local memory, all banks together; 0 where no bank is listed.
    memory_bytes: int = 0
    # Numbers of the nodes at the other ends of its XGMI links.
    xgmi_peers: tuple[int, ...] = ()


def parse_properties(text: str) -> dict[str, int]:
    """`name number` lines; a cut or damaged line is left out."""
    properties: dict[str, int] = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) == 2 and fields[1].isascii() and fields[1].isdecimal():
            properties[fields[0]] = int(fields[1][:20])
    return properties


def _links(node: Tree) -> tuple[int, ...]:
    peers = []
    for name in node.below("io_links").names("*"):
        link = parse_properties(node.text_or_none(f"io_links/{name}/properties") or "")
        if link.get("type") == _XGMI and "node_to" in link:
            peers.append(link["node_to"])
    return tuple(peers)


def _memory(node: Tree) -> int:
    banks = node.below("mem_banks").names("*")
    sizes = (
        parse_properties(node.text_or_none(f"mem_banks/{bank}/properties") or "") for bank in banks
    )
    return sum(bank.get("size_in_bytes", 0) for bank in sizes)


def _slot(domain: int, location: int) -> str:
    """KFD's location is bus << 8 | device << 3 | function."""
    return f"{domain & 0xFFFF:04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}"


def _node(number: int, node: Tree) -> Node | None:
    facts = parse_properties(node.text_or_none("properties") or "")
    location = facts.get("location_id", 0)
    gpu_id = node.integer("gpu_id")
    if not facts.get("simd_count") or "location_id" not in facts:
        return None
    return Node(
        number=number,
        gpu_id=gpu_id if isinstance(gpu_id, int) else 0,
        slot=_slot(facts.get("domain", 0), location),
        function=location & 7,
        gfx_target_version=facts.get("gfx_target_version", 0),
        unique_id=facts.get("unique_id", 0),
        render_minor=facts.get("drm_render_minor", 0),
        simd_count=facts["simd_count"],
        simd_per_cu=facts.get("simd_per_cu", 0),
        memory_bytes=_memory(node),
        xgmi_peers=_links(node),
    )


def topology_generation(root: Tree) -> str | None:
    """A number that changes with the topology, such as when a device is repartitioned."""
    return root.text_or_none(f"{_KFD}/topology/generation_id")


def read_nodes(root: Tree) -> tuple[Node, ...]:
    """All GPU nodes in KFD's order; empty where the compute driver is not loaded."""
    nodes = root.below(f"{_KFD}/topology/nodes")
    gpus = []
    for name in nodes.names("*")[:_MAX_NODES]:
        if name.isascii() and name.isdecimal():
            node = _node(int(name), nodes.below(name))
            if node is not None:
                gpus.append(node)
    return tuple(gpus)


def nodes_of(nodes: Sequence[Node], pci_bus_id: str) -> tuple[Node, ...]:
    """The nodes of one PCI device, by partition number; more than one means that it is partitioned."""
    slot = pci_bus_id.rpartition(".")[0]
    return tuple(sorted((n for n in nodes if n.slot == slot), key=lambda n: n.function))


class KfdUse(msgspec.Struct, frozen=True, kw_only=True):
    """What one process holds of one node."""

    memory_bytes: int | None = None
    # Resident waves of this process, in compute units full of them.
    occupied_units: int | None = None


def read_processes(root: Tree, gpu_ids: Sequence[int]) -> dict[int, KfdUse]:
    """Use of the nodes by each compute process, as KFD accounts it; world-readable."""
    uses: dict[int, KfdUse] = {}
    processes = root.below(f"{_KFD}/proc")
    for name in processes.names("*"):
        if not (name.isascii() and name.isdecimal()):
            continue
        process = processes.below(name)
        memory = [process.integer(f"vram_{gpu_id}") for gpu_id in gpu_ids]
        units = [process.integer(f"stats_{gpu_id}/cu_occupancy") for gpu_id in gpu_ids]
        amounts = [number for number in memory if isinstance(number, int) and number >= 0]
        busy = [number for number in units if isinstance(number, int) and number >= 0]
        if amounts or busy:
            uses[int(name)] = KfdUse(
                memory_bytes=sum(amounts) if amounts else None,
                occupied_units=sum(busy) if busy else None,
            )
    return uses


def occupancy(nodes: Sequence[Node], uses: Iterable[KfdUse]) -> float | None:
    """Resident waves of all compute processes as a share of what the nodes can hold, at this moment.

    None where no process reports its waves; KFD knows nothing of graphics waves.
    """
    occupied = [use.occupied_units for use in uses if use.occupied_units is not None]
    units = sum(node.simd_count // node.simd_per_cu for node in nodes if node.simd_per_cu)
    if not occupied or not units or sum(occupied) > units:
        return None
    return sum(occupied) / units
