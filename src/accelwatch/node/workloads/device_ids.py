"""From the names that device plug-ins, DRA drivers and schedulers give devices to our devices.

A table says which resource uses which shapes; what it does not say is a uuid, serial or PCI id.
"""

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

import msgspec

from accelwatch.schema.device import Device, DeviceKind, normal_pci_bus_id

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_REPLICA = re.compile(r"::\d+$")
_VIRTUAL = re.compile(r"/vgpu\d+$")


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """How a name is written (a regular expression), and what its groups stand for."""

    pattern: str
    # Device node as a template over the groups.
    node: str = ""
    pci: str = ""
    # Name of the partition below the device that the node stands for; its own parts may follow.
    partition: str = ""
    # Whether group 1 counts the vendor's devices, which is used where no node is known.
    index: bool = False


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """Names of one device plug-in or DRA driver beyond uuid, serial and PCI id."""

    pattern: str
    vendors: tuple[str, ...] = ()
    shapes: tuple[Shape, ...] = ()
    # Partition that goes by the name of the whole device while that is divided.
    first_partition: str = ""


# Kubernetes resource or DRA driver to the names it uses: each vendor's device plug-in.
RESOURCES: tuple[Resource, ...] = (
    Resource(
        pattern="nvidia.com/*",
        vendors=("nvidia",),
        shapes=(
            Shape(pattern=r"nvidia(\d+)", node="/dev/nvidia{0}", index=True),
            Shape(
                pattern=r"nvidia(\d+)/gi(\d+)", node="/dev/nvidia{0}", partition="gi{1}", index=True
            ),
        ),
    ),
    Resource(
        pattern="gpu.nvidia.com",
        vendors=("nvidia",),
        shapes=(Shape(pattern=r"gpu-(\d+)", node="/dev/nvidia{0}"),),
    ),
    Resource(pattern="amd.com/*", vendors=("amd",), first_partition="xcp0"),
    Resource(
        pattern="gpu.amd.com",
        vendors=("amd",),
        shapes=(Shape(pattern=r"gpu-\d+-(\d+)", node="/dev/dri/renderD{0}"),),
        first_partition="xcp0",
    ),
    Resource(
        pattern="gpu.intel.com/*",
        vendors=("intel",),
        shapes=(Shape(pattern=r"card(\d+)-\d+", node="/dev/dri/card{0}"),),
    ),
    Resource(
        pattern="gpu.intel.com",
        vendors=("intel",),
        shapes=(
            Shape(
                pattern=r"([0-9a-f]{4})-([0-9a-f]{2})-([0-9a-f]{2})-(\d)(?:-.*)?",
                pci="{0}:{1}:{2}.{3}",
            ),
        ),
    ),
    Resource(pattern="habana.ai/*", vendors=("habana", "gaudi", "intel")),
    Resource(
        pattern="huawei.com/Ascend*",
        vendors=("huawei", "ascend"),
        shapes=(Shape(pattern=r"Ascend[^-]*-(\d+)", node="/dev/davinci{0}", index=True),),
    ),
    Resource(
        pattern="rebellions.ai/*",
        vendors=("rebellions",),
        shapes=(Shape(pattern=r"rbln(\d+)", node="/dev/rbln{0}", index=True),),
    ),
    Resource(
        pattern="*furiosa.ai/*",
        vendors=("furiosa",),
        shapes=(Shape(pattern=r"npu(\d+)", node="/dev/rngd/npu{0}", index=True),),
    ),
    Resource(
        pattern="aws.amazon.com/neuron*",
        vendors=("aws", "neuron"),
        shapes=(Shape(pattern=r"neuron(\d+)", node="/dev/neuron{0}", index=True),),
    ),
    Resource(
        pattern="google.com/tpu",
        vendors=("google", "tpu"),
        shapes=(Shape(pattern=r"(?:accel)?(\d+)", node="/dev/accel{0}", index=True),),
    ),
    Resource(
        pattern="tenstorrent.com/*",
        vendors=("tenstorrent",),
        shapes=(Shape(pattern=r"(?:/dev/tenstorrent/)?(\d+)", node="/dev/tenstorrent/{0}"),),
    ),
)


def is_accelerator(resource: str) -> bool:
    """Whether a resource is of a known accelerator, so that a name without a device needs a message."""
    return _row_of(resource) is not None


def _row_of(resource: str) -> Resource | None:
    for row in RESOURCES:
        if fnmatchcase(resource, row.pattern):
            return row
    return None


def _shape_of(row: Resource | None, name: str) -> tuple[Shape, tuple[str, ...]] | None:
    for shape in row.shapes if row is not None else ():
        match = re.fullmatch(shape.pattern, name, re.ASCII)
        if match is not None:
            return shape, match.groups()
    return None


class DeviceIndex:
    """The devices of one moment, found by any of their names.

    A name in a plug-in's own shape means what the shape says and nothing else: GKE's `nvidia0` is the
    device node's number, which need not be our `nvidia0`. Of resources nobody knows only uuids and PCI
    ids count; serials and words are not unique enough.
    """

    def __init__(self, devices: Iterable[Device], nodes: Mapping[str, str] | None = None) -> None:
        """`nodes`: further names of device nodes (`amdgpu_xcp_3` to `/dev/dri/renderD131`)."""
        self._aliases = nodes or {}
        self._exact: dict[str, str] = {}
        self._nodes: dict[str, str] = {}
        self._order: dict[str, dict[int, str]] = {}
        self._partitions: dict[str, list[tuple[str, str]]] = {}
        self._with_nodes: set[str] = set()
        for device in devices:
            if device.kind is not DeviceKind.HOST:
                self._enter(device)

    def _enter(self, device: Device) -> None:
        is_full_device = device.parent_id is None
        names = [device.id, device.uuid, *(_UUID.findall((device.uuid or "").lower()))]
        if is_full_device:
            names += [device.serial, device.pci_bus_id, device.name]
            self._order.setdefault(device.vendor, {})[device.index] = device.id
        elif device.parent_id is not None and device.partition:
            entry = (device.partition, device.id)
            self._partitions.setdefault(device.parent_id, []).append(entry)
        for name in names:
            if name:
                self._exact.setdefault(name.lower(), device.id)
        for node in device.device_nodes:
            self._nodes.setdefault(node, device.id)
            self._with_nodes.add(device.vendor)

    def named(self, name: str) -> tuple[str, ...]:
        """Ids of the device with this uuid, serial, PCI id, device node or host-local name."""
        text = _VIRTUAL.sub("", _REPLICA.sub("", name.strip()))
        device_id = self._exact.get(text.lower()) or self._exact.get(normal_pci_bus_id(text))
        device_id = (
            device_id or self._nodes.get(text) or self._nodes.get(self._aliases.get(text, ""))
        )
        if device_id is None:
            inner = (self._exact.get(uuid) for uuid in _UUID.findall(text.lower()))
            device_id = next((match for match in inner if match is not None), None)
        return (device_id,) if device_id is not None else ()

    def resolve_names(self, resource: str, names: Iterable[str]) -> tuple[str, ...]:
        """Ids of what a plug-in or driver names so; the first name that says something counts."""
        row = _row_of(resource)
        for name in names:
            plain = _VIRTUAL.sub("", _REPLICA.sub("", name.rsplit("=", 1)[-1]))
            shaped = _shape_of(row, plain)
            if row is not None and shaped is not None:
                ids = self._shaped(row, *shaped)
            elif row is not None or _UUID.search(plain.lower()) or ":" in plain:
                ids = self.named(plain)
            else:
                ids = ()
            if ids and row is not None and row.first_partition:
                return self.partitions_of(ids[0], row.first_partition) or ids
            if ids:
                return ids
        return ()

    def _shaped(self, row: Resource, shape: Shape, groups: tuple[str, ...]) -> tuple[str, ...]:
        if shape.pci:
            return self.named(shape.pci.format(*groups))
        device_id = self._nodes.get(shape.node.format(*groups))
        if device_id is None and shape.index:
            device_id = self._counted(row.vendors, int(groups[0][:6]))
        if device_id is not None and shape.partition:
            return self.partitions_of(device_id, shape.partition.format(*groups))
        return (device_id,) if device_id is not None else ()

    def _counted(self, vendors: tuple[str, ...], index: int) -> str | None:
        for vendor in vendors:
            if vendor not in self._with_nodes and index in self._order.get(vendor, {}):
                return self._order[vendor][index]
        return None

    def counted(self, index: int) -> tuple[str, ...]:
        """Id of the accelerator with a node-wide index; none where that is ambiguous.

        It is when two vendors have one of that index, or when the device is divided: a scheduler then
        counts partitions.
        """
        ids = [order[index] for order in self._order.values() if index in order]
        if len(ids) != 1 or ids[0] in self._partitions:
            return ()
        return (ids[0],)

    def indexed(self, vendors: Iterable[str], index: int) -> tuple[str, ...]:
        """Id of the accelerator of one vendor with an index; none where it is divided: who counts
        devices then counts its partitions."""
        for vendor in vendors:
            device_id = self._order.get(vendor, {}).get(index)
            if device_id is not None and device_id not in self._partitions:
                return (device_id,)
        return ()

    def partitions_of(self, device_id: str, name: str) -> tuple[str, ...]:
        """Ids of a device's partitions with this name, or whose name begins with it (`gi1/ci0`)."""
        return tuple(
            own
            for partition, own in self._partitions.get(device_id, ())
            if partition == name or partition.startswith(f"{name}/")
        )

    def device_at_index(self, index: int) -> str | None:
        """Id of the one whole device with this index, divided or not; None where there are two."""
        ids = [order[index] for order in self._order.values() if index in order]
        return ids[0] if len(ids) == 1 else None
