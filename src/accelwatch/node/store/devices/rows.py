"""All devices of a node, and which slot of which backend each is in.

A device is known by its own id; slots (positions in a driver's enumeration) may change hands. A whole
device that is not discovered again stays a row and counts as lost.
"""

from collections.abc import Iterator

from accelwatch.base.absence import Absence
from accelwatch.node.store.devices.namesakes import Named, Namesakes
from accelwatch.node.store.devices.row import StoredDevice, in_order
from accelwatch.node.store.persistence.identities import IdentityCache
from accelwatch.node.store.reports import Failure, Identified, Slots
from accelwatch.schema.device import Device, normal_pci_bus_id

# Cycles in which a device that changed slots is identified in the new one.
_GRACE_CYCLES = 2
_MAX_LOST = 64
_LOST = Failure(absence=Absence.LOST, code="not_discovered", message="no longer discovered")


class Rows:
    """Rows by device id."""

    def __init__(self, identities: IdentityCache | None = None) -> None:
        """`identities` are devices of earlier processes, by address."""
        self._identities = identities or IdentityCache()
        self._rows: dict[str, StoredDevice] = {}
        self._subjects: dict[str, str] | None = None
        self._namesakes = Namesakes()

    def __iter__(self) -> Iterator[StoredDevice]:
        return iter(self._rows.values())

    def in_order(self) -> list[StoredDevice]:
        """Whole devices by vendor and index, each followed by its partitions."""
        return in_order(self._rows.values())

    def of_backend(self, backend: str) -> list[StoredDevice]:
        """Rows of one backend."""
        return [row for row in self._rows.values() if row.backend == backend]

    def of_slot(self, backend: str, slot: str) -> list[StoredDevice]:
        """The device in a slot and its partitions."""
        return [
            row
            for row in self._rows.values()
            if row.backend == backend and row.slot == slot and not row.unclaimed
        ]

    def discovered(self, report: Slots, wall: float) -> None:
        """A backend has looked for its devices."""
        slots = {device.id for device in report.devices}
        self._namesakes.retain(report.backend, slots)
        occupied: set[str] = set()
        for row in self.of_backend(report.backend):
            if row.slot in report.superseded:
                self._replaced(row, row.slot)
            occupied.add(row.slot)
            # A device that only changed its slot is identified in the new one within the grace: until
            # then it is neither lost nor twice there.
            if row.slot not in slots and row.failure is not _LOST:
                row.unclaimed = row.unclaimed or _GRACE_CYCLES
            elif row.slot in slots:
                row.unclaimed = 0
        for device in report.devices:
            existing = self._rows.get(device.id)
            # A lost device is back under its provisional id: its row goes on, with counters and state.
            if existing is not None and existing.backend == report.backend and not existing.slot:
                existing.slot, existing.unclaimed = device.id, 0
            elif device.id not in occupied:
                self._enter(device, report.backend, wall)

    def identified(self, report: Identified, wall: float) -> None:
        """A slot's device has reported its identity, and its partitions."""
        here = (report.backend, report.slot)
        *others, (_, named) = self._namesakes.register(here, report.devices)
        # Those that stand give a shared uuid up first, or the row of this one would be put over theirs.
        for slot_key, renamed in others:
            self._rename(self.of_slot(*slot_key), renamed)
        rows = self.of_slot(*here)
        self._rename(rows, named)
        ids = {entry.backend_id for entry in named}
        for row in rows:
            if row.backend_id not in ids:
                self._replaced(row, report.slot)
        for position, entry in enumerate(named):
            self._vacate(entry.device.id, here, wall)
            row = self._rows.get(entry.device.id) or StoredDevice(entry.device, *here, wall)
            row.device, row.backend_id, row.duplicate = (
                entry.device,
                entry.backend_id,
                entry.duplicate,
            )
            row.backend, row.slot, row.position, row.unclaimed = *here, position, 0
            row.discovered = None
            self._store_row(row)
        self._identities.store(report.backend, tuple(entry.device for entry in named))

    def ambiguous(self, backend_id: str) -> bool:
        """Whether an id that a backend uses means more than one device."""
        return self._namesakes.shared(backend_id)

    def cycle_over(self, backend: str, wall: float) -> None:
        """Devices that nobody has claimed for long enough are lost."""
        for row in self.of_backend(backend):
            if row.unclaimed:
                row.unclaimed -= 1
                if not row.unclaimed:
                    self._lose(row, wall)

    def resolve(self, subject: str) -> str:
        """Id of the whole device that a PCI id, uuid or host-local name means; empty when none."""
        if self._subjects is None:
            self._subjects = {}
            for row in self._rows.values():
                if row.device.parent_id is None:
                    self._subjects.update(dict.fromkeys(_names(row.device), row.device.id))
        device_id = self._subjects.get(subject)
        return device_id or self._subjects.get(normal_pci_bus_id(subject), "")

    def _rename(self, rows: list[StoredDevice], named: tuple[Named, ...]) -> None:
        """Have rows go by the id that is their own by now, with what they have gathered."""
        by_id = {entry.backend_id: entry for entry in named}
        for row in rows:
            entry = by_id.get(row.backend_id)
            if entry is None:
                continue
            # Where another row has the id by now, deleting it would lose that one.
            if entry.device.id != row.device.id and self._rows.get(row.device.id) is row:
                del self._rows[row.device.id]
                row.rename(entry)
                self._store_row(row)
            row.rename(entry)

    def _enter(self, discovered: Device, backend: str, wall: float) -> None:
        """A device without an identity yet: as the device last known there that is nowhere else."""
        devices = self._identities.devices_at(backend, discovered)
        existing = [row for device in devices if (row := self._rows.get(device.id)) is not None]
        if not devices or any(row.slot and not row.unclaimed for row in existing):
            self._store_row(StoredDevice(discovered, backend, discovered.id, wall))
            return
        for position, device in enumerate(devices):
            row = self._rows.get(device.id) or StoredDevice(device, backend, discovered.id, wall)
            row.slot, row.position, row.unclaimed, row.discovered = (
                discovered.id,
                position,
                0,
                discovered,
            )
            self._store_row(row)

    def _vacate(self, device_id: str, here: tuple[str, str], wall: float) -> None:
        """A device reported here was assumed elsewhere: the device there is an unknown one."""
        occupant = self._rows.get(device_id)
        if (
            occupant is None
            or occupant.discovered is None
            or (occupant.backend, occupant.slot) == here
        ):
            return
        discovered = occupant.discovered
        for row in self.of_slot(occupant.backend, occupant.slot):
            if row is not occupant:
                del self._rows[row.device.id]
        occupant.discovered = None
        self._store_row(StoredDevice(discovered, occupant.backend, discovered.id, wall))

    def _store_row(self, row: StoredDevice) -> None:
        self._rows[row.device.id] = row
        self._subjects = None

    def _replaced(self, row: StoredDevice, slot: str) -> None:
        """Another device is in the row's slot now: a partition, or a provisional row, ends here."""
        assumed = row.device.id == slot or row.discovered is not None
        provisional = assumed and row.reading is None
        if row.device.parent_id is not None or provisional:
            del self._rows[row.device.id]
            self._subjects = None
        else:
            row.unclaimed, row.discovered = _GRACE_CYCLES, None

    def _lose(self, row: StoredDevice, wall: float) -> None:
        row.slot, row.discovered = "", None
        row.fail(_LOST, wall)
        lost = [other for other in self._rows.values() if other.failure is _LOST]
        if len(lost) > _MAX_LOST:
            del self._rows[min(lost, key=lambda other: other.state_since).device.id]
            self._subjects = None


def _names(device: Device) -> list[str]:
    names = [device.id, device.uuid, device.name, *device.device_nodes]
    if device.pci_bus_id:
        names.append(normal_pci_bus_id(device.pci_bus_id))
    return [name for name in names if name]
