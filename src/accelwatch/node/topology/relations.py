"""How two functions of a machine reach each other, in the words of `nvidia-smi topo`. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from accelwatch.node.topology.pci_paths import PciPath
from accelwatch.schema.device import Device, normal_pci_bus_id, normal_uuid
from accelwatch.schema.reading import Link

# What each means, the nearest first; a fabric's word is nearer than all of PCIe.
RELATIONS: Mapping[str, str] = {
    "X": "the same device",
    "PIX": "through one PCIe switch at most",
    "PXB": "through several PCIe switches, below one host bridge",
    "PHB": "through a PCIe host bridge, which is the processor's",
    "NODE": "from one host bridge to another of the same NUMA node",
    "SYS": "from one NUMA node to another, between the processors",
    "?": "not known: sysfs does not show both, or not their NUMA nodes",
}
# Fabrics by the word that their vendors' tools have for them; others are written in capitals.
_SHORT = {"nvlink": "NV", "xgmi": "XGMI", "xelink": "XE", "neuronlink": "NL"}

_SWITCH = ""


def pci_relation(path: PciPath | None, other: PciPath | None) -> str:
    """`PIX` .. `SYS`, or `?`."""
    if path is None or other is None:
        return "?"
    if path.host_bridge != other.host_bridge:
        return _between_bridges(path.numa_node, other.numa_node)
    common = 0
    for ours, theirs in zip(path.bridges, other.bridges, strict=False):
        if ours != theirs:
            break
        common += 1
    if not common:
        return "PHB"
    # A switch is a bridge upstream and one downstream a port: below a common one each has its own.
    left = max(len(path.bridges), len(other.bridges)) - common
    return "PIX" if left <= 1 else "PXB"


def _between_bridges(numa_node: int | None, other: int | None) -> str:
    if numa_node is None and other is None:
        return "NODE"  # the kernel numbers no nodes where there is one
    if numa_node is None or other is None:
        return "?"
    return "NODE" if numa_node == other else "SYS"


def fabric_label(fabric: str, links: int) -> str:
    """`NV18`, `XGMI1`."""
    return f"{_SHORT.get(fabric, fabric.upper())}{links}"


class Fabrics:
    """The links of all devices of a machine, counted by whom they lead to.

    Links that are down, and those of which the driver does not name the other end, do not count. An end
    that is none of the devices is a switch.
    """

    def __init__(self, devices: Sequence[tuple[Device, Sequence[Link]]]) -> None:
        self._ids: dict[str, str] = {}
        for device, _ in devices:
            if device.uuid is not None:
                self._ids[normal_uuid(device.uuid)] = device.id
            if device.pci_bus_id is not None:
                self._ids[device.pci_bus_id] = device.id
        self._counts = {device.id: self._counted(device, links) for device, links in devices}

    def _counted(self, device: Device, links: Iterable[Link]) -> Counter[tuple[str, str]]:
        """(id of the other end, empty for a switch; fabric) to how many links."""
        counts: Counter[tuple[str, str]] = Counter()
        for link in links:
            if link.up is False or not link.remote:
                continue
            end = self._ids.get(normal_pci_bus_id(link.remote)) or self._ids.get(
                normal_uuid(link.remote), _SWITCH
            )
            if end != device.id:
                counts[end, link.fabric] += 1
        return counts

    def relation(self, device: Device, other: Device) -> str:
        """`NV4` for four links between them, straight or through switches; empty where there are none.

        Through switches the device with fewer links decides.
        """
        ours, theirs = self._counts[device.id], self._counts[other.id]
        fabrics = sorted({fabric for _, fabric in (*ours, *theirs)})
        straight = {name: max(ours[other.id, name], theirs[device.id, name]) for name in fabrics}
        switched = {name: min(ours[_SWITCH, name], theirs[_SWITCH, name]) for name in fabrics}
        for links in (straight, switched):
            fabric = max(fabrics, key=links.__getitem__, default="")
            if fabric and links[fabric]:
                return fabric_label(fabric, links[fabric])
        return ""
