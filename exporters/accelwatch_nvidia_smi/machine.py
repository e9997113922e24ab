"""What the dialect says of the machine as a whole, whichever devices are selected: numbers and count."""

from collections.abc import Mapping, Sequence

import msgspec

from accelwatch.base.errors import UnmetError
from accelwatch.schema.snapshot import DeviceView, Snapshot, physical_devices


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """The whole machine at the moment of a snapshot."""

    # Unix seconds.
    time: float
    # What `index` and `-i` mean by a number, by device id.
    numbers: Mapping[str, int]
    count: int
    # Of NVIDIA's driver stack: driver, cuda.
    versions: Mapping[str, str]

    def in_order(self, snapshot: Snapshot) -> list[DeviceView]:
        """The snapshot's whole devices by their numbers."""
        devices = physical_devices(snapshot.devices)
        return sorted(devices, key=lambda view: self.numbers.get(view.device.id, self.count))


def machine_of(snapshot: Snapshot) -> Machine:
    """The machine that a snapshot with all its devices shows."""
    devices = physical_devices(snapshot.devices)
    stacks = [backend for backend in snapshot.backends if backend.name == "nvidia"]
    return Machine(
        time=snapshot.time,
        numbers=_numbers(devices),
        count=len(devices),
        versions=stacks[0].versions if stacks else {},
    )


def _numbers(devices: Sequence[DeviceView]) -> dict[str, int]:
    """NVIDIA's devices keep their own index; each further vendor's are numbered on behind the last."""
    vendors = dict.fromkeys(view.device.vendor for view in devices)
    numbers: dict[str, int] = {}
    first = 0
    for vendor in sorted(vendors, key=lambda name: name != "nvidia"):
        mine = [view.device for view in devices if view.device.vendor == vendor]
        numbers.update({device.id: first + device.index for device in mine})
        first += 1 + max(device.index for device in mine)
    return numbers


def partitions_of(snapshot: Snapshot, device: DeviceView) -> list[DeviceView]:
    """The partitions of a device."""
    return [view for view in snapshot.devices if view.device.parent_id == device.device.id]


def numbered(selectors: Sequence[str], machine: Machine) -> tuple[str, ...]:
    """The selectors with each number replaced by the id of the device that bears it.

    Raises UnmetError that names the numbers there are.
    """
    ids = {str(number): device_id for device_id, number in machine.numbers.items()}
    ids_in_order: list[str] = []
    for selector in selectors:
        bare = selector.lstrip("0") or "0" if selector.isdecimal() else selector
        if selector.isdecimal() and bare not in ids:
            there = ", ".join(sorted(ids, key=int)) or "none"
            raise UnmetError(f"no device {selector!r}; there are: {there}")
        ids_in_order.append(ids.get(bare, selector))
    return tuple(ids_in_order)
