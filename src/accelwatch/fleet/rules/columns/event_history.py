"""What has happened in a hub's fleet, and to which rows of its table."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from accelwatch.fleet.state.events import Noted
from accelwatch.fleet.state.evidence.board import ReceivedAlert
from accelwatch.fleet.state.fleet import Fleet


class FleetEventHistory:
    """What has happened in a fleet, and to which rows."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self._fleet.table.rows.size

    @property
    def generation(self) -> npt.NDArray[np.uint32]:
        """By row; another one where something else stands than before."""
        return self._fleet.table.rows.generation

    def wall(self) -> float:
        """Unix seconds."""
        return self._fleet.clock.wall()

    def after(self, sequence: int) -> Iterable[Noted]:
        """Events that came after one."""
        return self._fleet.events.after(sequence)

    def rows_of(self, node: str, device_id: str) -> list[int]:
        """The rows that an event concerns; without a device those of the node."""
        table = self._fleet.table
        if device_id:
            row = table.rows.get((node, device_id))
            return [] if row is None else [row]
        slots = table.slots_of(node)
        return [] if slots is None else list(slots.rows)

    def active_alerts(self) -> Iterable[ReceivedAlert]:
        """Evidence that others sent and that has not expired."""
        return self._fleet.evidence.all()

    def who(self, row: int) -> tuple[str, ...]:
        """Node, id, serial and uuid of the device in a row; nothing where there is none."""
        table = self._fleet.table
        device = table.devices[row]
        node = table.at_number[int(table.node[row])].node
        return () if device is None else (node, device.id, device.serial or "", device.uuid or "")
