"""The standing half of our own text: who the devices are, from labels alone."""

from collections.abc import Iterable

import msgspec

from accelwatch.exposition import Key
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Link
from accelwatch.schema.snapshot import Owner

# Families of a partition, and the quantities of the partition's own row.
PARTITION_KEYS = {
    "partition_memory_size_bytes": "memory_size_bytes",
    "partition_memory_used_bytes": "memory_used_bytes",
    "partition_utilization_ratio": "utilization_ratio",
    "partition_compute_active_ratio": "compute_active_ratio",
}


class DeviceDraft(msgspec.Struct, kw_only=True):
    """One device while its labels are gathered."""

    device: Device
    partitions: dict[str, Device] = {}
    # By partition; the whole under an empty name.
    owners: dict[str, list[Owner]] = {}
    links: list[Link] = []
    # Command and user by pid.
    processes: dict[int, tuple[str, str]] = {}


def start_draft(key: Key) -> DeviceDraft:
    """A device by the three identity labels of any of its series."""
    vendor, name, label = key.get("vendor"), key.get("device"), key.get("uuid")
    digits = name[len(name.rstrip("0123456789")) :]
    index = int(digits) if 0 < len(digits) < 7 else 0
    return DeviceDraft(
        device=Device(
            id=f"{vendor}:{label}",
            vendor=vendor,
            backend=vendor,
            index=index,
            name=name,
            uuid=None if label.startswith(f"{vendor}-{index}-") else label,
        )
    )


def learn(draft: DeviceDraft, family: str, key: Key) -> None:
    """What an `_info` family says of the device; other families say nothing here."""
    learner = _LEARNERS.get(family)
    if learner is not None:
        learner(draft, key)


def _info(draft: DeviceDraft, key: Key) -> None:
    device, pci = draft.device, key.get("pci_bus_id") or None
    numa = key.get("numa_node")
    kind = key.get("kind")
    draft.device = msgspec.structs.replace(
        device,
        kind=DeviceKind(kind) if kind in tuple(DeviceKind) else DeviceKind.GPU,
        model=key.get("model") or None,
        architecture=key.get("architecture") or None,
        pci_bus_id=pci,
        numa_node=int(numa) if numa.lstrip("-").isdecimal() and len(numa) < 6 else None,
        uuid=None if device.uuid == pci else device.uuid,
    )


def _inventory(draft: DeviceDraft, key: Key) -> None:
    draft.device = msgspec.structs.replace(
        draft.device,
        serial=key.get("serial") or None,
        part_number=key.get("part_number") or None,
        firmware_version=key.get("firmware_version") or None,
        vbios_version=key.get("vbios_version") or None,
    )


def _partition(draft: DeviceDraft, key: Key) -> None:
    name, uuid = key.get("partition"), key.get("partition_uuid") or None
    parent = draft.device
    draft.partitions[name] = Device(
        id=f"{parent.vendor}:{uuid}" if uuid else f"{parent.id}/{name}",
        vendor=parent.vendor,
        backend=parent.backend,
        index=len(draft.partitions),
        name=f"{parent.name}/{name}",
        parent_id=parent.id,
        uuid=uuid,
        partition=name,
        partition_technology=key.get("technology") or None,
        partition_profile=key.get("profile") or None,
    )


def _link(draft: DeviceDraft, key: Key) -> None:
    link = Link(fabric=key.get("fabric"), link=key.get("link"), remote=key.get("remote") or None)
    draft.links.append(link)


def _process(draft: DeviceDraft, key: Key) -> None:
    pid = key.get("pid")
    if pid.isdecimal() and len(pid) < 11:
        draft.processes[int(pid)] = (key.get("command"), key.get("user"))


def _pod(draft: DeviceDraft, key: Key) -> None:
    fields = ("namespace", "pod", "container", "pod_uid", "resource")
    owner = Owner(
        kind="kubernetes" if key.get("pod") else "container",
        **{field: key.get(field) for field in fields},
    )
    draft.owners.setdefault(key.get("partition"), []).append(owner)


def _job(draft: DeviceDraft, key: Key) -> None:
    fields = ("scheduler", "job_id", "user", "account", "queue", "job_name")
    owner = Owner(kind="job", **{field: key.get(field) for field in fields})
    draft.owners.setdefault(key.get("partition"), []).append(owner)


_LEARNERS = {
    "device_info": _info,
    "device_inventory_info": _inventory,
    "partition_info": _partition,
    "link_info": _link,
    "process_info": _process,
    "kubernetes_allocation_info": _pod,
    "job_allocation_info": _job,
}


def drivers(keys: Iterable[Key]) -> dict[str, str]:
    """Driver version by vendor, from `accel_driver_info`."""
    return {
        key.get("vendor"): key.get("version")
        for key in keys
        if key.name == "accel_driver_info" and key.get("component") == "driver"
    }
