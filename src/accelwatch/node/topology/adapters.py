"""The network adapters of a machine that are PCI devices: InfiniBand, RoCE and Ethernet."""

import re
from pathlib import Path

import msgspec

from accelwatch.schema.natural_order import natural
from accelwatch.system.kernel import sysfs

_PCI = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
# Of sysfs, the names by which collective libraries choose first.
_CLASSES = ("infiniband", "net")


class Adapter(msgspec.Struct, frozen=True, kw_only=True):
    """One function of an adapter."""

    # `mlx5_0`; of one that is Ethernet only its interface.
    name: str
    pci_bus_id: str
    # Of the kernel's network stack: `ib0`, `eth2`.
    interfaces: tuple[str, ...] = ()


def adapters(root: Path) -> list[Adapter]:
    """All of them, by name. A bond, a bridge and what is not on a PCI bus is no adapter."""
    names: dict[str, dict[str, list[str]]] = {}
    for kind in _CLASSES:
        for entry in sysfs.list_dir(root / "sys/class" / kind):
            bus_id = sysfs.link_name(entry / "device")
            if bus_id is not None and _PCI.fullmatch(bus_id):
                names.setdefault(bus_id, {}).setdefault(kind, []).append(entry.name)
    result = []
    for bus_id, by_kind in names.items():
        interfaces = tuple(sorted(by_kind.get("net", ()), key=natural))
        first = sorted(by_kind.get("infiniband", interfaces), key=natural)[0]
        result.append(Adapter(name=first, pci_bus_id=bus_id, interfaces=interfaces))
    return sorted(result, key=lambda adapter: natural(adapter.name))
