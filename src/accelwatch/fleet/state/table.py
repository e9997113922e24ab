"""The table: every device in a stable row, numbers as columns, brought up to date on demand.

Arriving messages only mark their node. Who wants to read says which series; what has changed since is
then decoded once for all readers of that moment, a node at a time, so that a fleet nobody looks at costs
nothing here.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from accelwatch.fleet.state.node import Node
from accelwatch.fleet.state.readings import Held, StreamDevice
from accelwatch.fleet.state.seats import Seats
from accelwatch.fleet.state.standing import Standing
from accelwatch.fleet.state.usage import NOBODY, Occupancy
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.columns import Columns
from accelwatch.fleet.table.pick import (
    DOUBLE,
    EXACT,
    INTEGER,
    LARGE,
    NOT_TOLD,
    Block,
)
from accelwatch.fleet.table.planes import Planes
from accelwatch.fleet.table.rows import Rows, grown
from accelwatch.fleet.table.words import HEALTH, STATE
from accelwatch.schema.device import Device
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

_MISSING = STATE["missing"]
_UNKNOWN = HEALTH[Health.UNKNOWN]

Codes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.intp]


class Memo:
    """A field of devices as text, worked out again for those that have changed."""

    def __init__(self) -> None:
        self.texts: npt.NDArray[np.object_] = np.empty(0, dtype=object)
        self.stamps: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
        """What `Table.changed` was when the text was worked out."""

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
        self.devices: list[Device | None] = []
        self.held: list[Held | None] = []
        """None where a device is missing."""
        self.occupancy: list[Occupancy] = []
        self.state: Codes = np.full(size, _MISSING, dtype=np.uint8)
        """A device's own state, whether or not its node is heard of."""
        self.health: Codes = np.full(size, _UNKNOWN, dtype=np.uint8)
        self.arrived: Floats = np.full(size, math.nan)
        """When a device's source was last heard, monotonic seconds."""
        self.behind: Floats = np.full(size, math.nan)
        """How much older than that its newest numbers are; NaN where it has none."""
        self.node: Places = np.zeros(size, dtype=np.intp)
        """Number of the node."""
        self.whole: npt.NDArray[np.bool_] = np.zeros(size, dtype=np.bool_)
        """Whether it is a device and no partition of one."""
        self.kind: Places = np.zeros(size, dtype=np.intp)
        """Which of `kinds`."""
        self.kinds: dict[tuple[str, str], int] = {}
        """Numbers of vendor and model."""
        self.changed: npt.NDArray[np.int64] = np.zeros(size, dtype=np.int64)
        """At which of `changes` it was last another device, or another's."""
        self.changes = 0
        """Grows with every change of devices, labels and owners."""
        self.shape = 0
        """Grows when rows come, go or move."""
        self.texts: dict[str, Memo] = {}
        """Fields of devices by name."""
        self.groupings: dict[str, object] = {}
        """What readers worked out from devices, labels and owners, by name; they know when it is old."""
        self.at_number: list[Seats] = []
        """Where the devices of a node stand, by the node's number."""
        self._seats: dict[str, Seats] = {}
        self._free_numbers: list[int] = []

    def seats(self, name: str) -> Seats | None:
        """Where the devices of a node stand."""
        return self._seats.get(name)

    def sync(self, nodes: Mapping[str, Node]) -> None:
        """Forget nodes that have gone."""
        for name in self._seats.keys() - nodes.keys():
            seats = self._seats.pop(name)
            self._leave(seats.leave(self.rows))
            self._free_numbers.append(seats.number)
            self.shape += 1

    def arrange(self, node: Node) -> Seats:
        """Give the devices of a node their rows."""
        seats = self._seats.get(node.name)
        if seats is None:
            seats = self._seats[node.name] = self._seated(node.name)
        elif seats.shape == node.shape:
            return seats
        others, freed = seats.arrange(node, self.rows)
        for row in others:
            self._forget(row)
        self._grow()
        self._leave(freed)
        self.shape += 1
        self.changes += 1
        here = dict(seats.present)
        gone = [row for row in seats.rows if row not in here]
        for row, device in zip(seats.rows, seats.devices, strict=True):
            left = row not in here and self.occupancy[row] is not NOBODY
            if seats.relabelled or left or self.devices[row] != device:
                self.changed[row] = self.changes
            self.devices[row], self.held[row] = device, here.get(row)
            self.whole[row] = device.parent_id is None
            kind = device.vendor, device.model or ""
            self.kind[row] = self.kinds.setdefault(kind, len(self.kinds))
        self.node[seats.rows] = seats.number
        self._free(gone)
        told = Standing()
        told.add(node, seats.present)
        self._stand(told)
        self._own(seats.present)
        return seats

    def _seated(self, node: str) -> Seats:
        if self._free_numbers:
            number = self._free_numbers.pop()
            self.at_number[number] = Seats(node, number)
        else:
            number = len(self.at_number)
            self.at_number.append(Seats(node, number))
        return self.at_number[number]

    def _grow(self) -> None:
        size = self.rows.size
        if len(self.devices) < size:
            more = size - len(self.devices)
            self.devices += [None] * more
            self.held += [None] * more
            self.occupancy += [NOBODY] * more
            self.planes.grow(size)
            self.state, self.health = (
                grown(self.state, size, _MISSING),
                grown(self.health, size, _UNKNOWN),
            )
            self.arrived = grown(self.arrived, size, math.nan)
            self.behind = grown(self.behind, size, math.nan)
            self.node, self.kind = grown(self.node, size, 0), grown(self.kind, size, 0)
            self.changed, self.whole = grown(self.changed, size, 0), grown(self.whole, size, 0)

    def _leave(self, rows: list[int]) -> None:
        """Others may be given these rows."""
        for row in rows:
            self.devices[row] = None
        self._free(rows)

    def _free(self, rows: list[int]) -> None:
        """Nobody is there in these rows."""
        for row in rows:
            self.held[row], self.occupancy[row] = None, NOBODY
        self.state[rows], self.health[rows] = _MISSING, _UNKNOWN
        self.arrived[rows] = self.behind[rows] = math.nan
        self.planes.clear(rows)

    def bring(self, nodes: Iterable[Node], series: Iterable[Series], now: float) -> None:
        """Bring the rows of these nodes up to date, with these series among their columns.

        `now` is monotonic seconds. What has not changed since it was last brought costs nothing.
        """
        self.planes.want(series, now)
        stale: list[tuple[int, Held]] = []
        told = Standing()
        epoch = self.planes.epoch
        for node in nodes:
            seats = self.arrange(node)
            if seats.version != node.version or seats.epoch != epoch:
                seats.version, seats.epoch = node.version, epoch
                self._own(seats.present)
                told.add(node, seats.present)
                stale += seats.present
        if stale:
            self._stand(told)
            self._fill(stale)

    def _stand(self, told: Standing) -> None:
        """State, health and age of devices that are there."""
        rows = told.rows
        self.state[rows], self.health[rows] = told.states, told.healths
        self.arrived[rows], self.behind[rows] = told.ages()

    def _own(self, present: Iterable[tuple[int, Held]]) -> None:
        """Who has the devices that are there."""
        for row, one in present:
            having = one.usage.occupancy
            before = self.occupancy[row]
            if having is not before:
                self.occupancy[row] = having
                if having != before:
                    self.changes += 1
                    self.changed[row] = self.changes

    def _fill(self, stale: Sequence[tuple[int, Held]]) -> None:
        """Decode the values of devices, those of one layout together."""
        wanted = self.planes.wanted
        alike: dict[int, tuple[Columns, list[int], list[StreamDevice]]] = {}
        others: list[tuple[int, Held]] = []
        for row, held in stale:
            if isinstance(held, StreamDevice) and held.tick is not None:
                key = id(held.columns)
                if key not in alike:
                    alike[key] = held.columns, [], []
                alike[key][1].append(row)
                alike[key][2].append(held)
            else:
                others.append((row, held))
        for columns, rows, devices in alike.values():
            ticks = [one.tick.values for one in devices if one.tick is not None]
            self.planes.put(rows, columns.pick(wanted).block(ticks))
        if others:
            self.planes.put([row for row, _ in others], _read([one for _, one in others], wanted))

    def number(self, row: int, series: Series) -> Number | None:
        """One value exactly as it was told."""
        held = self.held[row]
        return None if held is None else held.number(series)


def _read(held: Sequence[Held], wanted: tuple[Series, ...]) -> Block:
    """Devices that are no part of a stream, or of several sources."""
    told = [one.numbers(wanted) for one in held]
    values = np.array(
        [[math.nan if value is None else value for value in line] for line in told],
        dtype=np.float64,
    ).reshape(len(told), len(wanted))
    marks = [[_mark(value) for value in line] for line in told]
    return Block(values, np.array(marks, dtype=np.uint8).reshape(values.shape))


def _mark(value: Number | None) -> int:
    if value is None:
        return NOT_TOLD
    if isinstance(value, float):
        return DOUBLE
    return INTEGER if -EXACT <= value <= EXACT else LARGE
