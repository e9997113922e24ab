"""Who stands in which row of a node's frames, and since when it is another one."""

from collections.abc import Sequence

import numpy as np

from accelwatch.detection.arrays import Indices
from accelwatch.schema.device import Device


class DeviceRows:
    """Rows of devices: one keeps its row, and while it is not there, until another device needs it."""

    def __init__(self) -> None:
        # Ids by row; the rest distinguishes devices with the same id.
        self.ids: list[str] = []
        self._who: list[tuple[str, str]] = []
        self._generation: list[int] = []

    def assign(self, devices: Sequence[Device]) -> list[int]:
        """The row of each of the devices that are there now, in their order."""
        present = {device.id for device in devices}
        free = [row for row, id_ in enumerate(self.ids) if id_ not in present]
        rows = {id_: row for row, id_ in enumerate(self.ids)}
        for device in devices:
            row = rows.get(device.id)
            if row is None:
                rows[device.id] = self._new(device, free)
            else:
                self._update(row, device)
        return [rows[device.id] for device in devices]

    @property
    def who(self) -> list[tuple[str, str]]:
        """The uuid and serial number of each row's device; empty where it has not said."""
        return self._who

    def restore(self, who: Sequence[tuple[str, str]]) -> None:
        """What devices in these rows said before a restart, as far as they are silent now."""
        self._who = [
            (now[0] or saved[0], now[1] or saved[1])
            for now, saved in zip(self._who, who, strict=True)
        ]

    @property
    def generation(self) -> Indices:
        """intp[rows]: another number where another device stands."""
        return np.array(self._generation, dtype=np.intp)

    def _new(self, device: Device, free: list[int]) -> int:
        who = (device.uuid or "", device.serial or "")
        if not free:
            self.ids.append(device.id)
            self._who.append(who)
            self._generation.append(0)
            return len(self.ids) - 1
        row = free.pop()
        self.ids[row], self._who[row] = device.id, who
        self._generation[row] += 1
        return row

    def _update(self, row: int, device: Device) -> None:
        """What a device does not say, as while it is lost, makes it no other."""
        before, now = self._who[row], (device.uuid or "", device.serial or "")
        pairs = list(zip(before, now, strict=True))
        if any(old and new and old != new for old, new in pairs):
            self._generation[row] += 1
        self._who[row] = (now[0] or before[0], now[1] or before[1])
