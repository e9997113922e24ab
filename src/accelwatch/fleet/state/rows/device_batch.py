"""What devices say beside their numbers, gathered over some nodes for one pass over arrays."""

import math
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import repeat
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from accelwatch.fleet.follow.frames import RawDevice
from accelwatch.fleet.state.nodes.devices import FleetDevice, StreamDevice
from accelwatch.fleet.state.nodes.liveness import LATEST_S
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.state.nodes.source import TargetSource
from accelwatch.fleet.state.rows.node_slots import NodeSlots
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.columns import Columns
from accelwatch.fleet.table.state_codes import HEALTH, STATE
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health

# A device cannot say of itself that it is missing.
_STATE = {state.value: STATE[state] for state in DeviceState}
_DEGRADED, _UNKNOWN = STATE[DeviceState.DEGRADED], HEALTH[Health.UNKNOWN]

_state, _health = attrgetter("state"), attrgetter("health")
_sample_time = attrgetter("sample_time")

# When a source last reported (monotonic), its own time of then, and how often it does, seconds.
Arrival = tuple[float, float, float]


class Statements(NamedTuple):
    """Of some devices, a row each; arrays are alike long."""

    rows: npt.NDArray[np.int64]
    states: npt.NDArray[np.uint8]
    healths: npt.NDArray[np.uint8]
    arrived: Floats
    # How much older than that the newest numbers are; NaN where there are none.
    behind: Floats
    # How often each one's source reports, seconds.
    intervals: Floats


class _Times:
    """When the sources of devices reported; those of one source are counted, not repeated."""

    def __init__(self) -> None:
        # The fields of each `Arrival` in turn.
        self.arrivals = array("d")
        self.counts: list[int] = []

    def ages(self, sampled: Sequence[float | None]) -> tuple[Floats, Floats, Floats]:
        """When each one's source last reported, how much older its newest numbers are, how often."""
        arrivals = np.frombuffer(self.arrivals, dtype=np.float64).reshape(-1, 3).T
        arrived, times, intervals = np.repeat(arrivals, self.counts, axis=1)
        read = np.array(sampled, dtype=np.float64)  # None becomes NaN
        read[~((read >= 0.0) & (read <= LATEST_S))] = math.nan
        return arrived, np.maximum(times - read, 0.0), intervals


class Streamed:
    """Devices of streams that have the same layout."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.rows = array("q")
        self.devices: list[StreamDevice] = []
        self.times = _Times()

    # A batch is complete before anything reads it, so the list never changes after that.
    @cached_property
    def ticks(self) -> list[RawDevice]:
        """The latest of each, once all have been added; it has one (`Seats.alike`)."""
        return [device.tick for device in self.devices]  # type: ignore[misc]


class DeviceBatch:
    """Devices of some nodes, those of one layout together."""

    def __init__(self) -> None:
        # Those that are no part of a stream, or of several sources.
        self.others: list[tuple[int, FleetDevice]] = []
        self._times = _Times()
        self._streamed: dict[int, Streamed] = {}

    def add(self, node: Node, slots: NodeSlots) -> None:
        """The devices of a node that are there."""
        if len(node.sources) != 1:
            self._add_several(node, slots)
            return
        (source,) = node.sources.values()
        arrival = _arrival(source)
        for columns, rows, devices in slots.alike:
            into = self._streamed.get(id(columns)) or self._new_streamed(columns)
            into.rows += rows
            into.devices += devices
            into.times.arrivals.extend(arrival)
            into.times.counts.append(len(rows))
        if slots.others:
            self.others += slots.others
            self._times.arrivals.extend(arrival)
            self._times.counts.append(len(slots.others))

    def _add_several(self, node: Node, slots: NodeSlots) -> None:
        """Each device has the time of the source that speaks for it."""
        for columns, rows, devices in slots.alike:
            into = self._streamed.get(id(columns)) or self._new_streamed(columns)
            into.rows += rows
            into.devices += devices
            for device in devices:
                into.times.arrivals.extend(_arrival(node.origin(device)))
            into.times.counts += [1] * len(rows)
        self.others += slots.others
        for _, other in slots.others:
            self._times.arrivals.extend(_arrival(node.origin(other)))
        self._times.counts += [1] * len(slots.others)

    def _new_streamed(self, columns: Columns) -> Streamed:
        return self._streamed.setdefault(id(columns), Streamed(columns))

    @property
    def streamed(self) -> list[Streamed]:
        """Devices of streams, by layout."""
        return list(self._streamed.values())

    def statements(self) -> Iterator[Statements]:
        """What all of them say, in some parts."""
        for streamed in self._streamed.values():
            yield _statements(streamed.rows, streamed.ticks, streamed.times)
        if self.others:
            rows = array("q", [row for row, _ in self.others])
            yield _statements(rows, [device for _, device in self.others], self._times)


def _statements(
    rows: "array[int]", devices: Sequence[RawDevice | FleetDevice], times: _Times
) -> Statements:
    return Statements(
        np.frombuffer(rows, dtype=np.int64),
        _codes(_STATE, _state, devices, _DEGRADED),
        _codes(HEALTH, _health, devices, _UNKNOWN),
        *times.ages(list(map(_sample_time, devices))),
    )


def _codes(
    codes: Mapping[str, int],
    name_of: Callable[[RawDevice | FleetDevice], str],
    devices: Sequence[RawDevice | FleetDevice],
    other: int,
) -> npt.NDArray[np.uint8]:
    """A word of each device as its code; a loop over thousands of them would cost half as much again."""
    mapped = map(codes.get, map(name_of, devices), repeat(other))
    return np.frombuffer(bytes(mapped), dtype=np.uint8)


def _arrival(source: TargetSource | None) -> Arrival:
    if source is None or source.arrived is None:
        return math.nan, math.nan, math.nan
    return source.arrived, source.time, source.interval_s
