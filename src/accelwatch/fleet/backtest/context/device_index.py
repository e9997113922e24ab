"""Who stands in which row of a back-test: a row a device, in the order in which they are met.

A device that is not listed any more keeps its row and is missed, until another one of its node has
replaced it.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from accelwatch.archive.history.reading.samples import Entity
from accelwatch.fleet.rules.columns.columns import Indices
from accelwatch.fleet.table.belief import Bools, Floats
from accelwatch.fleet.table.rows import grown

_LEAST = 64
# So many intervals behind its siblings' newest samples a device is missing.
MISSED_STEPS = 1.5


class DeviceIndex:
    """Devices by row and nodes by number; times are Unix seconds, NaN if it was never reported."""

    def __init__(self, step_s: float) -> None:
        self.step_s = step_s
        self.devices: list[Entity] = []
        self.nodes: list[str] = []
        self.size = _LEAST
        # Number of each row's node.
        self.node_of: Indices = np.zeros(_LEAST, dtype=np.intp)
        self.used: Bools = np.zeros(_LEAST, dtype=np.bool_)
        # Rows of devices that are there or missed; not those that others have replaced.
        self.here: Bools = np.zeros(_LEAST, dtype=np.bool_)
        # When each device was last reported.
        self.reported_at: Floats = np.full(_LEAST, np.nan)
        # Nodes for which there is room.
        self.node_size = _LEAST
        # By node: when any of its devices was last reported.
        self.devices_reported_at: Floats = np.full(_LEAST, np.nan)
        # By node: when anything of it was last reported.
        self.node_reported_at: Floats = np.full(_LEAST, np.nan)
        self.generation: npt.NDArray[np.uint32] = np.zeros(_LEAST, dtype=np.uint32)
        self._node_numbers: dict[str, int] = {}
        self._rows: dict[tuple[str, str], int] = {}
        self.rows_of_node: list[list[int]] = []
        # Grows when devices come or are replaced.
        self.shape = 0
        # Number of the node of each entity of the table of nodes.
        self._plain_nodes: list[int] = []

    def meet(self, devices: Sequence[Entity], nodes: Sequence[Entity]) -> None:
        """Give those rows and numbers that were not met before."""
        for entity in devices[len(self.devices) :]:
            self._add_row(entity)
        for entity in nodes[len(self._plain_nodes) :]:
            self._plain_nodes.append(self._number(entity.node))

    def _add_row(self, device: Entity) -> None:
        row = len(self.devices)
        self.devices.append(device)
        self._grow(row + 1)
        number = self._number(device.node)
        self._rows[device.node, device.device] = row
        self.node_of[row], self.used[row], self.here[row] = number, True, True
        self.generation[row] = 1
        missed = [
            other
            for other in self.rows_of_node[number]
            if self.here[other] and self.is_missed(other)
        ]
        if missed:  # it stands where that one stood
            longest = min(missed, key=lambda other: float(self.reported_at[other]))
            self.here[longest] = False
        self.rows_of_node[number].append(row)
        self.shape += 1

    def _number(self, node: str) -> int:
        number = self._node_numbers.get(node)
        if number is None:
            number = self._node_numbers[node] = len(self.nodes)
            self.nodes.append(node)
            self.rows_of_node.append([])
            self._grow_nodes(number + 1)
        return number

    def _grow(self, least: int) -> None:
        if least <= self.size:
            return
        self.size = max(least, 2 * self.size)
        self.node_of = grown(self.node_of, self.size, 0)
        self.used, self.here = grown(self.used, self.size, 0), grown(self.here, self.size, 0)
        self.reported_at = grown(self.reported_at, self.size, np.nan)
        self.generation = grown(self.generation, self.size, 0)

    def _grow_nodes(self, least: int) -> None:
        if least > self.node_size:
            self.node_size = max(least, 2 * self.node_size)
            self.devices_reported_at = grown(self.devices_reported_at, self.node_size, np.nan)
            self.node_reported_at = grown(self.node_reported_at, self.node_size, np.nan)

    def record_devices(self, rows: Indices, seconds: Floats) -> None:
        """These devices were reported then."""
        self.reported_at[rows] = seconds
        np.fmax.at(self.devices_reported_at, self.node_of[rows], seconds)
        np.fmax.at(self.node_reported_at, self.node_of[rows], seconds)
        back = rows[~self.here[rows]]
        if len(back):
            self.here[back] = True
            self.shape += 1

    def record_nodes(self, entities: Indices, seconds: Floats) -> Indices:
        """These entities of the table of nodes were reported then; their numbers."""
        numbers = np.array(self._plain_nodes, dtype=np.intp)[entities]
        self.node_reported_at[numbers] = np.fmax(self.node_reported_at[numbers], seconds)
        return numbers

    def is_missed(self, row: int) -> bool:
        """Whether a device is missing beside its siblings."""
        behind = self.devices_reported_at[self.node_of[row]] - self.reported_at[row]
        return bool(behind >= MISSED_STEPS * self.step_s)

    def missed(self) -> Bools:
        """The same of all rows."""
        behind = self.devices_reported_at[self.node_of] - self.reported_at
        missing: Bools = self.here & (behind >= MISSED_STEPS * self.step_s)
        return missing

    def wake(self, now: float) -> None:
        """Nothing was recorded until now: nodes that reported before do not count as silent for that."""
        for times in (self.reported_at, self.devices_reported_at, self.node_reported_at):
            np.copyto(times, now, where=~np.isnan(times))

    def number(self, node: str) -> int | None:
        """The number of a node."""
        return self._node_numbers.get(node)

    def row(self, node: str, device: str) -> int | None:
        """The row of a device."""
        return self._rows.get((node, device))

    def rows(self, node: str) -> list[int]:
        """The rows of a node's devices that are here."""
        number = self._node_numbers.get(node)
        if number is None:
            return []
        return [row for row in self.rows_of_node[number] if self.here[row]]
