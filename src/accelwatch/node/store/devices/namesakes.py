"""Devices that report the same uuid: a fault of a driver, in which the uuid identifies none of them.

Each keeps a row of its own, by its PCI address, without the uuid (absent as `error`), and says so. A
device that merely changed its slot is briefly reported twice, from one PCI address: that is no fault.
"""

from collections.abc import Iterable

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device

# Backend and slot.
SlotKey = tuple[str, str]


class Named(msgspec.Struct, frozen=True):
    """A device under an id that is its own."""

    device: Device
    # Its id in what the backend says of it.
    backend_id: str
    # Why it does not go by its uuid, for people; empty when it does.
    duplicate: str = ""


class Namesakes:
    """Which device each slot reports, and which names therefore identify no device."""

    def __init__(self) -> None:
        self._reported: dict[SlotKey, tuple[Device, ...]] = {}
        # By id, and by vendor and uuid: the slots that report it, each with its PCI address.
        self._claims: dict[str, dict[SlotKey, str]] = {}

    def register(
        self, slot_key: SlotKey, devices: tuple[Device, ...]
    ) -> list[tuple[SlotKey, tuple[Named, ...]]]:
        """The devices of this slot, and before them those of others with which it shares a name."""
        names = {name for device in self._reported.get(slot_key, ()) for name in _names(device)}
        self._forget(slot_key)
        self._reported[slot_key] = devices
        for device in devices:
            address = devices[0].pci_bus_id or slot_key[1]
            for name in _names(device):
                self._claims.setdefault(name, {})[slot_key] = address
                names.add(name)
        others = {other for name in names for other in self._claims.get(name, ())} - {slot_key}
        return [(member, self._named(member)) for member in (*sorted(others), slot_key)]

    def retain(self, backend: str, slots: Iterable[str]) -> None:
        """Forget the backend's slots that are not among these."""
        there = {(backend, slot) for slot in slots}
        for slot_key in [
            candidate
            for candidate in self._reported
            if candidate[0] == backend and candidate not in there
        ]:
            self._forget(slot_key)

    def shared(self, name: str) -> bool:
        """Whether devices of more than one address report this id."""
        return len(set(self._claims.get(name, {}).values())) > 1

    def _forget(self, slot_key: SlotKey) -> None:
        for device in self._reported.pop(slot_key, ()):
            for name in _names(device):
                claims = self._claims.get(name, {})
                claims.pop(slot_key, None)
                if not claims:
                    self._claims.pop(name, None)

    def _named(self, slot_key: SlotKey) -> tuple[Named, ...]:
        devices = self._reported[slot_key]
        named = [self._distinct(device, None) for device in devices[:1]]
        parent = named[0].device if named else None
        return (*named, *(self._distinct(device, parent) for device in devices[1:]))

    def _distinct(self, device: Device, parent: Device | None) -> Named:
        by_uuid = _by_uuid(device)
        doubtful = by_uuid is not None and self.shared(by_uuid)
        moved = parent is not None and device.parent_id != parent.id
        if not (doubtful or moved or self.shared(device.id)):
            return Named(device, device.id)
        own = f"{device.vendor}:{device.pci_bus_id or device.name}"
        if parent is not None:
            own = f"{parent.id}/{device.partition or device.name}"
        changed = msgspec.structs.replace(
            device,
            id=own if moved or self.shared(device.id) else device.id,
            parent_id=device.parent_id if parent is None else parent.id,
            uuid=None if doubtful else device.uuid,
            absent={**device.absent, "uuid": Absence.ERROR} if doubtful else device.absent,
        )
        if by_uuid is None or not doubtful:
            return Named(changed, device.id)
        count = len(set(self._claims[by_uuid].values()))
        return Named(changed, device.id, f"duplicate uuid {device.uuid}: {count} devices report it")


def _by_uuid(device: Device) -> str | None:
    return f"{device.vendor} uuid {device.uuid.lower()}" if device.uuid else None


def _names(device: Device) -> list[str]:
    by_uuid = _by_uuid(device)
    return [device.id] if by_uuid is None else [device.id, by_uuid]
