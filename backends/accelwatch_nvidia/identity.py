"""Who a GPU is: from /proc before it is opened, and from NVML on its own worker afterwards."""

from pathlib import Path

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, MemoryKind, normal_pci_bus_id
from accelwatch.system.kernel import sysfs
from accelwatch_nvidia import mapping
from accelwatch_nvidia.nvml.nvml import DeviceCalls
from accelwatch_nvidia.presence import PresentGpu

BACKEND = "nvidia"

_TEXTS = (
    ("model", "nvmlDeviceGetName"),
    ("uuid", "nvmlDeviceGetUUID"),
    ("serial", "nvmlDeviceGetSerial"),
    ("part_number", "nvmlDeviceGetBoardPartNumber"),
    ("firmware_version", "nvmlDeviceGetGspFirmwareVersion"),
    ("vbios_version", "nvmlDeviceGetVbiosVersion"),
)


def device_id(uuid: str | None, pci_bus_id: str | None, index: int) -> str:
    """Stable id: by uuid, else by PCI id, else by index."""
    return f"nvidia:{uuid or pci_bus_id or index}"


def provisional(
    root: Path, index: int, gpu: PresentGpu | None, driver_version: str | None
) -> Device:
    """The device with what kernel and driver report without opening it."""
    bus = gpu.pci_bus_id if gpu else None
    uuid = gpu.uuid if gpu else None
    return Device(
        id=device_id(uuid, bus, index),
        vendor="nvidia",
        backend=BACKEND,
        index=index,
        name=f"nvidia{index}",
        model=gpu.model if gpu else None,
        uuid=uuid,
        firmware_version=gpu.firmware_version if gpu else None,
        vbios_version=gpu.vbios_version if gpu else None,
        driver_version=driver_version,
        pci_bus_id=bus,
        numa_node=sysfs.numa_node(root, bus) if bus else None,
        device_nodes=device_nodes(gpu.minor if gpu else None),
    )


def device_nodes(minor: int | None) -> tuple[str, ...]:
    """Device node of a GPU's minor number."""
    return () if minor is None else (f"/dev/nvidia{minor}",)


def complete(
    root: Path, device: Device, calls: DeviceCalls, before: Device | None = None
) -> Device:
    """The device with everything NVML says of it; a text it refuses keeps its reason.

    What a failing call no longer returns comes from the identity `before`, so that the id stays.

    Raises ReadError when it does not even say its uuid or PCI id because it is lost.
    """
    fields: dict[str, str | None] = {}
    absent: dict[str, Absence] = {}
    for field, function in _TEXTS:
        answer = calls.query(function)
        current = getattr(device, field)
        if isinstance(answer, Absence):
            fails = answer is not Absence.UNSUPPORTED and before is not None
            fields[field] = getattr(before, field) if fails and current is None else current
        else:
            fields[field] = _text(answer) or current
        if isinstance(answer, Absence) and fields[field] is None:
            absent[field] = answer
    bus = _pci_bus_id(calls) or device.pci_bus_id
    minor = calls.query("nvmlDeviceGetMinorNumber")
    architecture = calls.query("nvmlDeviceGetArchitecture")
    return msgspec.structs.replace(
        device,
        **fields,
        id=device_id(fields["uuid"], bus, device.index),
        architecture=None
        if isinstance(architecture, Absence)
        else mapping.ARCHITECTURES.get(architecture),
        pci_bus_id=bus,
        numa_node=sysfs.numa_node(root, bus) if bus else None,
        device_nodes=device.device_nodes if isinstance(minor, Absence) else device_nodes(minor),
        memory_kind=memory_kind(calls),
        partition_mode=mig_mode(calls),
        absent={name: why for name, why in absent.items() if why is not Absence.UNSUPPORTED},
    )


def _text(answer: str | bytes) -> str:
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer


def _pci_bus_id(calls: DeviceCalls) -> str | None:
    answer = calls.query("nvmlDeviceGetPciInfo")
    return None if isinstance(answer, Absence) else normal_pci_bus_id(_text(answer.busId))


def memory_kind(calls: DeviceCalls) -> MemoryKind:
    """Shared where NVML says that there is no device memory to report (GB10, Jetson)."""
    for arguments in ((calls.library.nvmlMemory_v2,), ()):
        if calls.query("nvmlDeviceGetMemoryInfo", *arguments) is not Absence.UNSUPPORTED:
            return MemoryKind.DEDICATED
    return MemoryKind.SHARED


def mig_mode(calls: DeviceCalls) -> str | None:
    """`enabled` or `disabled`; None on a GPU without MIG."""
    answer = calls.query("nvmlDeviceGetMigMode")
    if isinstance(answer, Absence):
        return None
    return "enabled" if answer[0] else "disabled"
