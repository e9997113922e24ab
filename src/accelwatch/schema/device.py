"""What a device is: identity, apart from anything read from it, and the states it can be in."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

import msgspec

from accelwatch.base.absence import Absence


class DeviceState(StrEnum):
    """Whether a device can be used and read; the words are part of the JSON interface."""

    OK = "ok"
    # It answers, but says itself that something is wrong, or part of it cannot be read.
    DEGRADED = "degraded"
    # It was there and is gone, or answers only with a fatal error.
    LOST = "lost"
    # A call into it has not come back.
    UNRESPONSIVE = "unresponsive"
    # It sleeps and was left asleep.
    SUSPENDED = "suspended"
    # It is present but not for us: no permission, or left out by configuration or by an exporter that
    # lists only what is in use.
    EXCLUDED = "excluded"


# States of a device that answers: its values are of now, and `device_up` is 1.
UP = frozenset({DeviceState.OK, DeviceState.DEGRADED})
# States of a device that should answer and does not.
BROKEN = frozenset({DeviceState.LOST, DeviceState.UNRESPONSIVE})


# The state of a device of which nothing can be read, by the reason.
STATE_WITHOUT_VALUES = {
    Absence.LOST: DeviceState.LOST,
    Absence.TIMEOUT: DeviceState.UNRESPONSIVE,
    Absence.STALE: DeviceState.UNRESPONSIVE,
    Absence.SUSPENDED: DeviceState.SUSPENDED,
    Absence.PERMISSION: DeviceState.EXCLUDED,
    Absence.NOT_COLLECTED: DeviceState.EXCLUDED,
    Absence.ERROR: DeviceState.DEGRADED,
    Absence.UNSUPPORTED: DeviceState.DEGRADED,
}
# Why a device has no values, where only its state is reported; others have a reason of their own.
ABSENCE_WITHOUT_VALUES: Mapping[DeviceState, Absence] = MappingProxyType(
    {
        DeviceState.LOST: Absence.LOST,
        DeviceState.UNRESPONSIVE: Absence.TIMEOUT,
        DeviceState.SUSPENDED: Absence.SUSPENDED,
        DeviceState.EXCLUDED: Absence.PERMISSION,
    }
)


class DeviceKind(StrEnum):
    """What kind of thing a row is."""

    GPU = "gpu"
    NPU = "npu"
    HOST = "host"


class MemoryKind(StrEnum):
    """What the memory figures of a device mean."""

    DEDICATED = "dedicated"
    # One pool with the host.
    SHARED = "shared"
    # The sum over processes; the driver gives no total.
    AGGREGATE = "aggregate"


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """Identity of one device or partition; None means that the device does not give the field.

    `id` is stable over restarts (vendor plus uuid, serial or PCI id); `index` is the vendor's order;
    `name` is host-local (`nvidia0`). A partition (MIG instance, XCP, tile) names its `parent_id`.
    """

    id: str
    vendor: str
    backend: str
    index: int
    name: str
    kind: DeviceKind = DeviceKind.GPU
    model: str | None = None
    architecture: str | None = None
    uuid: str | None = None
    serial: str | None = None
    part_number: str | None = None
    firmware_version: str | None = None
    vbios_version: str | None = None
    driver_version: str | None = None
    # Of the host itself: the kernel's random id of this boot.
    boot_id: str | None = None
    # Lower case with a four-digit domain: `0000:65:00.0`.
    pci_bus_id: str | None = None
    numa_node: int | None = None
    device_nodes: tuple[str, ...] = ()
    memory_kind: MemoryKind = MemoryKind.DEDICATED
    parent_id: str | None = None
    # Name of the partition within its parent: `gi1/ci0`, `xcp3`, `tile1`.
    partition: str | None = None
    partition_technology: str | None = None
    partition_profile: str | None = None
    # Of a parent: `enabled`/`disabled` for MIG, `CPX/NPS4` for AMD.
    partition_mode: str | None = None
    # Reasons for identity fields that are None for another reason than `unsupported`.
    absent: dict[str, Absence] = {}

    def label_id(self) -> str:
        """Value of the `uuid` label: uuid, else PCI id, else vendor, index and serial."""
        fallback = f"{self.vendor}-{self.index}-{self.serial or 'unknown'}"
        return self.uuid or self.pci_bus_id or fallback


def is_self_identifying(device: Device) -> bool:
    """Whether a device says by itself which one it is, wherever it is; a lost one often does not."""
    return device.uuid is not None or device.serial is not None


def same_address(device: Device, other: Device) -> bool:
    """Whether both are at one PCI address, else under one host-local name."""
    if device.pci_bus_id is None or other.pci_bus_id is None:
        return device.name == other.name
    return device.pci_bus_id == other.pci_bus_id


def normal_uuid(text: str) -> str:
    """A uuid for comparison: lower case, without the `GPU-` or `MIG-` that some tools leave out."""
    return text.strip().lower().removeprefix("gpu-").removeprefix("mig-")


def normal_pci_bus_id(text: str) -> str:
    """`00000000:65:00.0` or `0000:65:00` as lower-case `0000:65:00.0`; other text is only lowered.

    NVML and nvidia-smi print eight-digit upper-case domains, the kernel log omits the function. A
    domain behind a VMD bridge has five digits (`10000:e1:00.0`) and keeps them.
    """
    components = text.strip().lower().split(":")
    if len(components) == 2:
        components = ["0000", *components]
    if len(components) != 3:
        return text.strip().lower()
    domain, bus, slot = components
    if "." not in slot:
        slot += ".0"
    return f"{domain.lstrip('0').rjust(4, '0')}:{bus}:{slot}"
