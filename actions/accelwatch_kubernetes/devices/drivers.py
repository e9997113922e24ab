"""Which of the devices that DRA drivers publish is the one an incident names. Pure.

Drivers differ in what they publish. What is not in the table is looked for by the names that are usual.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

import msgspec

from accelwatch.action.intent import DeviceKey
from accelwatch_kubernetes.objects.resource_slice import ResourceSlice, standard

_PCI = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{2}:[0-9a-f]{2})(?:\.([0-7]))?", re.IGNORECASE)
_PARTITION = "mig-"


class DriverAttributes(msgspec.Struct, frozen=True, kw_only=True):
    """Names of attributes, in the order in which they are tried."""

    uuid: tuple[str, ...] = ()
    # Uuid of the device that a partition is of.
    parent: tuple[str, ...] = ()
    serial: tuple[str, ...] = ()
    # PCI address; of a partition that of the whole device.
    pci: tuple[str, ...] = ()


_PCI_BUS_ID = standard("pciBusID")
_USUAL = DriverAttributes(
    uuid=("uuid",),
    parent=("parentUUID",),
    serial=("serial", "serialNumber"),
    pci=(_PCI_BUS_ID, "pciBusID", "pciAddress"),
)
DRIVERS: Mapping[str, DriverAttributes] = MappingProxyType(
    {
        # kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin/deviceinfo.go
        "gpu.nvidia.com": DriverAttributes(
            uuid=("uuid",), parent=("parentUUID",), pci=(_PCI_BUS_ID, "pcieBusID")
        ),
        # ROCm/k8s-gpu-dra-driver, its page of driver attributes; `deviceID` is that of the model.
        "gpu.amd.com": DriverAttributes(pci=(_PCI_BUS_ID, "pciAddr")),
        # intel/intel-resource-drivers-for-kubernetes, cmd/kubelet-gpu-plugin/node_state.go
        "gpu.intel.com": DriverAttributes(pci=(_PCI_BUS_ID, "pciAddress")),
    }
)


class PublishedDevice(msgspec.Struct, frozen=True, order=True):
    """A device by what a selector needs: all three, for without one it matches others, too."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.device} of {self.driver}"


def published(device: DeviceKey, slices: Iterable[ResourceSlice]) -> tuple[PublishedDevice, ...]:
    """A device with its partitions, as they are published now; none where nobody publishes it."""
    matches = {
        PublishedDevice(entry.spec.driver, entry.spec.pool.name, candidate.name)
        for entry in slices
        for candidate in entry.spec.devices or ()
        if _is_device(device, candidate.texts(entry.spec.driver), entry.spec.driver)
    }
    return tuple(sorted(matches))


def own_taints(slices: Iterable[ResourceSlice]) -> Iterator[tuple[PublishedDevice, str]]:
    """Taints of drivers on their devices: only the driver that has set one removes it."""
    for entry in slices:
        for candidate in entry.spec.devices or ():
            key = PublishedDevice(entry.spec.driver, entry.spec.pool.name, candidate.name)
            for taint in candidate.own_taints:
                yield key, f"{taint.key}:{taint.effect}"


def _is_device(device: DeviceKey, texts: Mapping[str, str], driver: str) -> bool:
    names = DRIVERS.get(driver, _USUAL)
    uuids = {_plain(texts[name]) for name in (*names.uuid, *names.parent) if texts.get(name)}
    if device.id and _plain(device.id) in uuids:
        return True
    serials = {texts[name] for name in names.serial if texts.get(name)}
    if device.serial and device.serial in serials:
        return True
    # A partition has the address of the whole device, which must not be quarantined with it.
    if device.id.lower().startswith(_PARTITION):
        return False
    addresses = {_address(texts[name]) for name in names.pci if texts.get(name)} - {""}
    return not addresses.isdisjoint({_address(device.slot), _address(device.id)})


def _plain(uuid: str) -> str:
    """A uuid without what some tools leave out."""
    return uuid.strip().lower().removeprefix("gpu-").removeprefix(_PARTITION)


def _address(text: str) -> str:
    """A PCI address with the domain as a number; empty for what is none."""
    match = _PCI.fullmatch(text.strip())
    if match is None:
        return ""
    return f"{int(match[1] or '0', 16):x}:{match[2].lower()}.{match[3] or '0'}"
