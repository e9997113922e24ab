"""MIG instances of one GPU as partitions with their own identity and readings."""

import re
from typing import Any

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device
from accelwatch_nvidia.nvml.library import Handle
from accelwatch_nvidia.nvml.nvml import DeviceCalls

# Eight times what a GPU has; a count above it is no count.
MAX_SLOTS = 64
_PROFILE = re.compile(r"\bMIG\s+(\S+)\s*$")


class Instance(msgspec.Struct, frozen=True):
    """One MIG device: its handle, the ids of its GPU and compute instance, and its identity."""

    handle: Handle
    gpu_instance: int
    compute_instance: int
    device: Device


def partition_name(gpu_instance: int, compute_instance: int) -> str:
    """Name of a partition within its parent."""
    return f"gi{gpu_instance}/ci{compute_instance}"


def partition(
    parent: Device, number: int, ids: tuple[int, int], uuid: str | None, profile: str | None
) -> Device:
    """Identity of a MIG device; `number` is its index within the parent."""
    name = partition_name(*ids)
    return msgspec.structs.replace(
        parent,
        id=f"nvidia:{uuid}" if uuid else f"{parent.id}/{name}",
        index=number,
        name=f"{parent.name}-{name.replace('/', '-')}",
        uuid=uuid,
        serial=None,
        parent_id=parent.id,
        partition=name,
        partition_technology="mig",
        partition_profile=profile,
        partition_mode=None,
        absent={},
    )


def profile_of(name: str | Absence, attributes: Any) -> str | None:
    """`1g.10gb` from the device name (R470 and later), else from the instance's attributes."""
    match = None if isinstance(name, Absence) else _PROFILE.search(name)
    if match:
        return match[1]
    if isinstance(attributes, Absence):
        return None
    slices = f"{attributes.gpuInstanceSliceCount}g.{round(attributes.memorySizeMB / 1024)}gb"
    compute = attributes.computeInstanceSliceCount
    return slices if compute == attributes.gpuInstanceSliceCount else f"{compute}c.{slices}"


def instances(calls: DeviceCalls, parent: Device) -> list[Instance]:
    """MIG devices of a GPU, in NVML's order; slots may be empty."""
    count = calls.query("nvmlDeviceGetMaxMigDeviceCount")
    instances: list[Instance] = []
    for slot in range(0 if isinstance(count, Absence) else min(count, MAX_SLOTS)):
        handle = calls.query("nvmlDeviceGetMigDeviceHandleByIndex", slot)
        if isinstance(handle, Absence):
            continue
        own = DeviceCalls(calls.nvml, handle, f"{parent.name} MIG {slot}")
        ids = own.query("nvmlDeviceGetGpuInstanceId"), own.query("nvmlDeviceGetComputeInstanceId")
        if isinstance(ids[0], Absence) or isinstance(ids[1], Absence):
            continue
        uuid = own.query("nvmlDeviceGetUUID")
        profile = profile_of(
            own.query("nvmlDeviceGetName"), own.query("nvmlDeviceGetAttributes_v2")
        )
        instance_uuid = None if isinstance(uuid, Absence) else uuid
        device = partition(parent, slot, ids, instance_uuid, profile)
        instances.append(Instance(handle, ids[0], ids[1], device))
    return instances
