"""The table: every device in a stable row, numbers as columns, brought up to date on demand.

Arriving messages only mark their node. Who wants to read says which series; what has changed since is
then decoded once for all readers of that time, a node at a time, so that a fleet nobody reads costs
nothing here.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from accelwatch.fleet.state.nodes.devices import FleetDevice
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.state.nodes.tracing import of_device, of_node
from accelwatch.fleet.state.nodes.usage import NOBODY, Occupancy
from accelwatch.fleet.state.rows.device_batch import DeviceBatch
from accelwatch.fleet.state.rows.node_slots import NodeSlots
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.jobs import Jobs
from accelwatch.fleet.table.pick import (
    DOUBLE,
    EXACT,
    INTEGER,
    LARGE,
    NOT_REPORTED,
    Block,
)
from accelwatch.fleet.table.planes import Planes
from accelwatch.fleet.table.rows import Rows, grown
from accelwatch.fleet.table.state_codes import HEALTH, STATE
from accelwatch.fleet.table.windows import Arrivals, Windows
from accelwatch.schema.device import Device
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.provenance import RANK
from accelwatch.schema.reading import Number

_MISSING = STATE["missing"]
_UNKNOWN = HEALTH[Health.UNKNOWN]

Codes = npt.NDArray[np.uint8]
Indices = npt.NDArray[np.intp]


class Memo:
    """A field of devices as text, worked out again for those that have changed."""

    def __init__(self) -> None:
        self.texts: npt.NDArray[np.object_] = np.empty(0, dtype=object)
        # What `Table.changed` was when the text was worked out.
        self.stamps: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def of(self, size: int) -> "Memo":
        """The same with room for as many rows."""
        if len(self.texts) < size:
            self.texts = grown(self.texts, size, math.nan)
            self.stamps = grown(self.stamps, size, -1)
        return self


class Table:
    """All devices by row; the loop's thread only."""

    def __init__(self, forget: Callable[[int], None]) -> None:
        """`forget` is called with every row in which another device stands than before."""
        self._forget = forget
        self.rows = Rows()
        size = self.rows.size
        self.planes = Planes(size)
        # The recent history of series that rules read.
        self.windows = Windows()
        self.devices: list[Device | None] = []
        # None where a device is missing.
        self.present: list[FleetDevice | None] = []
        self.occupancy: list[Occupancy] = []
        # A device's own state, whether or not its node reports.
        self.state: Codes = np.full(size, _MISSING, dtype=np.uint8)
        self.health: Codes = np.full(size, _UNKNOWN, dtype=np.uint8)
        # When a device's source last reported, monotonic seconds.
        self.arrived: Floats = np.full(size, math.nan)
        # How much older than that its newest numbers are; NaN where it has none.
        self.behind: Floats = np.full(size, math.nan)
        # How often a device's source reports.
        self.interval_s: Floats = np.full(size, math.nan)
        # Number of the node.
        self.node: Indices = np.zeros(size, dtype=np.intp)
        # Rank of the weakest class of source that reports a device (`schema.provenance`).
        self.provenance: Codes = np.zeros(size, dtype=np.uint8)
        # Whether it is a device and no partition of one.
        self.is_device: npt.NDArray[np.bool_] = np.zeros(size, dtype=np.bool_)
        # Which of `kinds`.
        self.kind: Indices = np.zeros(size, dtype=np.intp)
        # Numbers of vendor and model.
        self.kinds: dict[tuple[str, str], int] = {}
        # At which of `changes` it was last another device, or another's.
        self.changed: npt.NDArray[np.int64] = np.zeros(size, dtype=np.int64)
        # Grows with every change of devices, labels and owners.
        self.changes = 0
        # Grows when rows come, go or move.
        self.shape = 0
        # Fields of devices by name.
        self.texts: dict[str, Memo] = {}
        # What readers worked out from devices, labels and owners, by name; they know when it is old.
        self.groupings: dict[str, object] = {}
        # Where the devices of a node stand, by the node's number.
        self.at_number: list[NodeSlots] = []
        self._slots: dict[str, NodeSlots] = {}
        self._free_numbers: list[int] = []

    def slots_of(self, name: str) -> NodeSlots | None:
        """Where the devices of a node stand."""
        return self._slots.get(name)

    def all_slots(self) -> Iterable[NodeSlots]:
        """Where the devices of each node stand."""
        return self._slots.values()

    def sync(self, nodes: Mapping[str, Node]) -> None:
        """Forget nodes that have gone."""
        for name in self._slots.keys() - nodes.keys():
            slots = self._slots.pop(name)
            self._leave(slots.leave(self.rows))
            self._free_numbers.append(slots.number)
            self.shape += 1

    def arrange(self, node: Node) -> NodeSlots:
        """Give the devices of a node their rows."""
        slots = self._slots.get(node.name)
        if slots is None:
            slots = self._slots[node.name] = self._new_slots(node.name)
        elif slots.shape == node.shape:
            return slots
        others, freed = slots.arrange(node, self.rows)
        for row in others:
            self._forget(row)
        self._grow()
        self._leave(freed)
        self.shape += 1
        self.changes += 1
        here = dict(slots.present)
        removed = [row for row in slots.rows if row not in here]
        for row, device in zip(slots.rows, slots.devices, strict=True):
            left = row not in here and self.occupancy[row] is not NOBODY
            if slots.relabelled or left or self.devices[row] != device:
                self.changed[row] = self.changes
            self.devices[row], self.present[row] = device, here.get(row)
            self.is_device[row] = device.parent_id is None
            kind = device.vendor, device.model or ""
            self.kind[row] = self.kinds.setdefault(kind, len(self.kinds))
        self.node[slots.rows] = slots.number
        self.provenance[slots.rows] = _ranks(node, slots.rows, here)
        self._free(removed)
        return slots

    def _new_slots(self, node: str) -> NodeSlots:
        if self._free_numbers:
            number = self._free_numbers.pop()
            self.at_number[number] = NodeSlots(node, number)
        else:
            number = len(self.at_number)
            self.at_number.append(NodeSlots(node, number))
        return self.at_number[number]

    def _grow(self) -> None:
        size = self.rows.size
        if len(self.devices) < size:
            more = size - len(self.devices)
            self.devices += [None] * more
            self.present += [None] * more
            self.occupancy += [NOBODY] * more
            self.planes.grow(size)
            self.state, self.health = (
                grown(self.state, size, _MISSING),
                grown(self.health, size, _UNKNOWN),
            )
            self.arrived = grown(self.arrived, size, math.nan)
            self.behind = grown(self.behind, size, math.nan)
            self.interval_s = grown(self.interval_s, size, math.nan)
            self.provenance = grown(self.provenance, size, 0)
            self.node, self.kind = grown(self.node, size, 0), grown(self.kind, size, 0)
            self.changed, self.is_device = (
                grown(self.changed, size, 0),
                grown(self.is_device, size, 0),
            )

    def _leave(self, rows: list[int]) -> None:
        """Others may be given these rows."""
        for row in rows:
            self.devices[row] = None
        self._free(rows)

    def _free(self, rows: list[int]) -> None:
        """Nobody is there in these rows."""
        if not rows:
            return
        for row in rows:
            self.present[row], self.occupancy[row] = None, NOBODY
        self.state[rows], self.health[rows] = _MISSING, _UNKNOWN
        self.arrived[rows] = self.behind[rows] = self.interval_s[rows] = math.nan
        self.planes.clear(rows)

    def refresh(self, nodes: Iterable[Node], series: Iterable[Series], now: float) -> None:
        """Bring the rows of these nodes up to date, with these series among their columns.

        `now` is monotonic seconds. What has not changed since it was last brought costs nothing.
        """
        self.planes.request(series, now)
        stale: list[tuple[Node, NodeSlots]] = []
        epoch = self.planes.epoch
        for node in nodes:
            slots = self._slots.get(node.name)
            if slots is None or slots.shape != node.shape:
                slots = self.arrange(node)
            if slots.version != node.version or slots.epoch != epoch:
                slots.version, slots.epoch = node.version, epoch
                stale.append((node, slots))
        if stale:
            self._fill(self._stand(stale))

    def sample(self, now: float, jobs: Jobs | None = None) -> None:
        """Sample the rows' values into the windows, once their series are up to date.

        `jobs` is of what job each row is, as a number.
        """
        rows = Arrivals(self.rows.used, self.arrived, self.interval_s, self.rows.generation, jobs)
        self.windows.sample(now, rows, lambda series: self.planes.column(series).values)

    def _stand(self, pairs: Iterable[tuple[Node, NodeSlots]]) -> DeviceBatch:
        """State, health, age and owners of devices that are there."""
        batch = DeviceBatch()
        for node, slots in pairs:
            batch.add(node, slots)
            noted = node.noted
            if slots.others or slots.noted != noted:
                slots.noted = noted
                self._own(slots.present)
        for stated in batch.statements():
            rows = stated.rows
            self.state[rows], self.health[rows] = stated.states, stated.healths
            self.arrived[rows], self.behind[rows] = stated.arrived, stated.behind
            self.interval_s[rows] = stated.intervals
        return batch

    def _own(self, present: Iterable[tuple[int, FleetDevice]]) -> None:
        """Who has the devices that are there."""
        for row, device in present:
            having = device.usage.occupancy
            before = self.occupancy[row]
            if having is not before:
                self.occupancy[row] = having
                if having != before:
                    self.changes += 1
                    self.changed[row] = self.changes

    def _fill(self, batch: DeviceBatch) -> None:
        """Decode the values of devices, those of one layout together."""
        series = self.planes.series
        for streamed in batch.streamed:
            ticks = [tick.values for tick in streamed.ticks]
            self.planes.store(streamed.rows, streamed.columns.pick(series).block(ticks))
        if batch.others:
            rows = [row for row, _ in batch.others]
            self.planes.store(rows, _read([device for _, device in batch.others], series))

    def number(self, row: int, series: Series) -> Number | None:
        """One value exactly as it was reported."""
        device = self.present[row]
        return None if device is None else device.number(series)


def _ranks(node: Node, rows: Sequence[int], here: Mapping[int, FleetDevice]) -> int | list[int]:
    """Rank of each row's provenance; one for all where one source reports them all."""
    if len(node.sources) == 1:
        return RANK[of_node(node)]
    return [RANK[of_device(node, here.get(row))] for row in rows]


def _read(devices: Sequence[FleetDevice], series: tuple[Series, ...]) -> Block:
    """Devices that are no part of a stream, or of several sources."""
    numbers = [device.numbers(series) for device in devices]
    shape = len(series), len(devices)
    values = np.array(numbers, dtype=np.float64).T.reshape(shape)  # None becomes NaN
    tags = [[_tag(value) for value in line] for line in numbers]
    return Block(values, np.array(tags, dtype=np.uint8).T.reshape(shape))


def _tag(value: Number | None) -> int:
    if value is None:
        return NOT_REPORTED
    if isinstance(value, float):
        return DOUBLE
    return INTEGER if -EXACT <= value <= EXACT else LARGE
