"""The whole machine: devices and adapters, and how each pair of them reaches the other."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from accelwatch.node.topology.adapters import Adapter, adapters
from accelwatch.node.topology.pci_paths import PciPath, pci_path
from accelwatch.node.topology.relations import RELATIONS, Fabrics, pci_relation
from accelwatch.schema.device import Device
from accelwatch.schema.snapshot import DeviceView, Snapshot, physical_devices

_NEARNESS = {relation: number for number, relation in enumerate(RELATIONS)}


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A device or an adapter."""

    name: str
    # `gpu`, `npu`, or `adapter`.
    kind: str
    # Of a device.
    id: str = ""
    model: str | None = None
    pci_bus_id: str | None = None
    interfaces: tuple[str, ...] = ()
    numa_node: int | None = None
    cpus: str = ""
    # Of a device: the adapters that are nearest to it.
    nearest: tuple[str, ...] = ()


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Two of them, by name."""

    one: str
    other: str
    # `NV18`, `PIX` .. `SYS`, `?`: `topology.relations`.
    relation: str


class Topology(msgspec.Struct, frozen=True, kw_only=True):
    """The form of `accelwatch topo --json`."""

    host: str
    # Devices in the machine's order, then adapters by name.
    members: tuple[Member, ...]
    # Each two of them once.
    pairs: tuple[Pair, ...]
    # Whether devices have links of which no reading names the other end: the group `links` is off.
    links_unread: bool = False

    def relations(self) -> Mapping[tuple[str, str], str]:
        """Both ways, and each with itself."""
        by_pair = {(member.name, member.name): "X" for member in self.members}
        for pair in self.pairs:
            by_pair[pair.one, pair.other] = by_pair[pair.other, pair.one] = pair.relation
        return by_pair


def topology(snapshot: Snapshot, root: Path) -> Topology:
    """Of a snapshot, best with the group `links`, and the machine below a root, without partitions."""
    views = physical_devices(snapshot.devices)
    nics = adapters(root)
    paths = {bus_id: pci_path(root, bus_id) for bus_id in _bus_ids(views, nics)}
    fabrics = Fabrics([(view.device, view.reading.links) for view in views])
    pairs = [
        *_of_devices([view.device for view in views], paths, fabrics),
        *_of_adapters(nics, paths),
    ]
    for view in views:
        device = view.device
        pairs += [
            Pair(
                one=device.name,
                other=nic.name,
                relation=pci_relation(_path_of(paths, device), paths[nic.pci_bus_id]),
            )
            for nic in nics
        ]
    nearest = _nearest(pairs, {nic.name for nic in nics})
    members = [
        *(_device(device_view.device, paths, nearest) for device_view in views),
        *(_adapter(nic, paths) for nic in nics),
    ]
    return Topology(
        host=snapshot.host,
        members=tuple(members),
        pairs=tuple(pairs),
        links_unread=any(_has_links(view) for view in views)
        and not any(view.reading.links for view in views),
    )


def _has_links(view: DeviceView) -> bool:
    values = view.reading.values.items()
    return any(key[0] == "interconnect_links" and key[-1] == "up" and on for key, on in values)


_Paths = Mapping[str, PciPath | None]


def _bus_ids(views: Sequence[DeviceView], nics: Sequence[Adapter]) -> set[str]:
    devices = {view.device.pci_bus_id for view in views if view.device.pci_bus_id}
    return devices | {nic.pci_bus_id for nic in nics}


def _path_of(paths: _Paths, device: Device) -> PciPath | None:
    return paths.get(device.pci_bus_id or "")


def _of_devices(devices: Sequence[Device], paths: _Paths, fabrics: Fabrics) -> list[Pair]:
    return [
        Pair(
            one=device.name,
            other=other.name,
            relation=fabrics.relation(device, other)
            or pci_relation(_path_of(paths, device), _path_of(paths, other)),
        )
        for number, device in enumerate(devices)
        for other in devices[number + 1 :]
    ]


def _of_adapters(nics: Sequence[Adapter], paths: _Paths) -> list[Pair]:
    return [
        Pair(
            one=nic.name,
            other=other.name,
            relation=pci_relation(paths[nic.pci_bus_id], paths[other.pci_bus_id]),
        )
        for number, nic in enumerate(nics)
        for other in nics[number + 1 :]
    ]


def _nearest(pairs: Sequence[Pair], nics: set[str]) -> dict[str, tuple[str, ...]]:
    """Device to the adapters that no other is nearer than; none where nothing is known."""
    by_device: dict[str, dict[str, str]] = {}
    for pair in pairs:
        if pair.other in nics and pair.one not in nics and pair.relation != "?":
            by_device.setdefault(pair.one, {})[pair.other] = pair.relation
    result = {}
    for device, relations in by_device.items():
        best = min(_NEARNESS[relation] for relation in relations.values())
        result[device] = tuple(
            nic for nic, relation in relations.items() if _NEARNESS[relation] == best
        )
    return result


def _device(device: Device, paths: _Paths, nearest: Mapping[str, tuple[str, ...]]) -> Member:
    path = _path_of(paths, device)
    return Member(
        name=device.name,
        kind=device.kind.value,
        id=device.id,
        model=device.model,
        pci_bus_id=device.pci_bus_id,
        numa_node=device.numa_node if path is None else path.numa_node,
        cpus=path.cpus if path is not None else "",
        nearest=nearest.get(device.name, ()),
    )


def _adapter(nic: Adapter, paths: _Paths) -> Member:
    path = paths[nic.pci_bus_id]
    return Member(
        name=nic.name,
        kind="adapter",
        pci_bus_id=nic.pci_bus_id,
        interfaces=nic.interfaces,
        numa_node=None if path is None else path.numa_node,
        cpus=path.cpus if path is not None else "",
    )
