"""Recent history of devices: six quantities every ten seconds for fifteen minutes."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from accelwatch.fleet.follow.frames import RawDevice
from accelwatch.fleet.state.nodes.devices import FleetDevice, StreamDevice
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.buckets import BUCKET_S, CHUNK_ROWS, Buckets
from accelwatch.fleet.table.columns import Columns
from accelwatch.fleet.table.rows import grown
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

STEP_S = BUCKET_S
# Fifteen minutes.
STEPS = 90
QUANTITIES: tuple[Series, ...] = (
    ("utilization_ratio",),
    ("compute_active_ratio",),
    ("memory_used_bytes",),
    ("memory_bandwidth_utilization_ratio",),
    ("power_watts",),
    ("temperature_celsius", "gpu"),
)


# Devices of streams that are decoded together.
_AT_ONCE = 256


class _Ticks(NamedTuple):
    """Values of devices of one layout, undecoded, and their rows."""

    columns: Columns
    rows: list[int]
    values: list[msgspec.Raw]


class History:
    """The recent history of all rows: of each step the first value of a device in it."""

    def __init__(self) -> None:
        self._closed = [Buckets(STEPS - 1, np.float32, math.nan) for _ in QUANTITIES]
        # The values of the present step.
        self._open: npt.NDArray[np.float32] = np.empty((len(QUANTITIES), 0), dtype=np.float32)
        # The last step with a value of a row; -1 for an empty row.
        self._newest: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._step = -1
        # By layout, those that are decoded together: one by one they would cost far more.
        self._waiting: dict[int, _Ticks] = {}
        self._read_rows: list[int] = []
        # Numbers of other devices that wait with them, a device each, and their rows.
        self._read: list[list[Number | None]] = []
        # How many devices wait.
        self._count = 0

    def store(self, step: int, devices: Sequence[tuple[int, FleetDevice]]) -> None:
        """The values of a step (monotonic seconds divided by STEP_S) of devices in their rows."""
        self._roll(step)
        if step < self._step:
            return
        new = [
            (row, device)
            for row, device in devices
            if row >= len(self._newest) or self._newest[row] < step
        ]
        if not new:
            return
        rows = [row for row, _ in new]
        self._grow(max(rows) + 1)
        self._newest[rows] = step
        for row, device in new:
            if isinstance(device, StreamDevice) and device.tick is not None:
                self._wait(row, device.columns, device.tick)
            else:
                self._read_rows.append(row)
                self._read.append(device.numbers(QUANTITIES))
        self._count += len(new)
        if self._count >= _AT_ONCE:
            self._decode()

    def _wait(self, row: int, columns: Columns, tick: RawDevice) -> None:
        ticks = self._waiting.get(id(columns))
        if ticks is None:
            ticks = self._waiting[id(columns)] = _Ticks(columns, [], [])
        ticks.rows.append(row)
        ticks.values.append(tick.values)

    def _decode(self) -> None:
        """Write down what waits."""
        if self._read_rows:
            numbers = np.array(self._read, dtype=np.float64)  # None becomes NaN
            self._open[:, self._read_rows] = numbers.T
            self._read_rows, self._read = [], []
        for columns, rows, values in self._waiting.values():
            self._open[:, rows] = columns.pick(QUANTITIES).block(values).values
        self._waiting, self._count = {}, 0

    def _roll(self, step: int) -> None:
        """Close the steps before this one."""
        if step <= self._step:
            return
        self._decode()
        if self._step >= 0:
            for buckets, values in zip(self._closed, self._open, strict=True):
                buckets.store(self._step, values)
                buckets.skip(self._step + 1, step - 1)
            self._open[:] = math.nan
        self._step = step

    def _grow(self, rows: int) -> None:
        if rows > len(self._newest):
            rows = -(-rows // CHUNK_ROWS) * CHUNK_ROWS
            self._open = grown(self._open, rows, math.nan)
            self._newest = grown(self._newest, rows, -1)
            for buckets in self._closed:
                buckets.grow(rows)

    def clear(self, row: int) -> None:
        """Another device stands in the row from now on."""
        if self._has_data(row):
            self._decode()
            for buckets in self._closed:
                buckets.clear(np.array([row]))
            self._open[:, row] = math.nan
            self._newest[row] = -1

    def _has_data(self, row: int) -> bool:
        return row < len(self._newest) and bool(self._newest[row] >= 0)

    def rows(self, row: int, now: int) -> dict[Series, list[float | None]]:
        """Each quantity's last STEPS steps up to step `now`, oldest first; of an empty row nothing."""
        if not self._has_data(row):
            return {}
        self._roll(now)
        self._decode()
        closed = [buckets.read(row, now - STEPS + 1, now - 1) for buckets in self._closed]
        values = [
            [*line, float(last)] for line, last in zip(closed, self._open[:, row], strict=True)
        ]
        return {
            series: [None if math.isnan(value) else value for value in line]
            for series, line in zip(QUANTITIES, values, strict=True)
        }

    def recent(self, series: Series, rows: npt.NDArray[np.intp], now: int) -> Floats | None:
        """The same of a quantity and some rows: float64[STEPS, rows], NaN where there is no value.

        None for a quantity that is none of QUANTITIES.
        """
        if series not in QUANTITIES:
            return None
        self._roll(now)
        self._decode()
        values: Floats = np.full((STEPS, len(rows)), math.nan)
        used = rows < len(self._newest)
        at = QUANTITIES.index(series)
        values[:-1, used] = self._closed[at].some(now - STEPS + 1, now - 1, rows[used])
        values[-1, used] = self._open[at, rows[used]]
        return values
