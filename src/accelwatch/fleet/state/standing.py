"""What is said of devices beside their numbers, gathered over some nodes for one pass over arrays."""

import math
from collections.abc import Sequence

import numpy as np

from accelwatch.fleet.state.liveness import LATEST_S
from accelwatch.fleet.state.node import Node
from accelwatch.fleet.state.readings import Held, StreamDevice
from accelwatch.fleet.state.source import Source
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.words import HEALTH, STATE
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health

_STATE = {word.value: STATE[word] for word in DeviceState}
"""A device cannot say of itself that it is missing."""
_DEGRADED, _UNKNOWN = STATE[DeviceState.DEGRADED], HEALTH[Health.UNKNOWN]


class Standing:
    """State, health and times of devices by row."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.states: list[int] = []
        self.healths: list[int] = []
        self._sampled: list[float] = []
        self._arrived: list[float] = []
        self._times: list[float] = []

    def add(self, node: Node, present: Sequence[tuple[int, Held]]) -> None:
        """The devices of a node that are there."""
        sources = list(node.sources.values())
        alike = _times(sources[0]) if len(sources) == 1 else None
        for row, held in present:
            tick = held.tick if type(held) is StreamDevice else None
            # Read straight from the tick: properties would cost as much as decoding its numbers.
            if tick is not None:
                state, health, sampled = tick.state, tick.health, tick.sample_time
            else:
                state, health, sampled = held.state, held.health, held.sample_time
            self.rows.append(row)
            self.states.append(_STATE.get(state, _DEGRADED))
            self.healths.append(HEALTH.get(health, _UNKNOWN))
            self._sampled.append(math.nan if sampled is None else sampled)
            arrived, time = alike or _times(node.origin(held))
            self._arrived.append(arrived)
            self._times.append(time)

    def ages(self) -> tuple[Floats, Floats]:
        """When each one's source was last heard, and how much older its newest numbers are."""
        sampled = np.array(self._sampled, dtype=np.float64)
        sampled[~((sampled >= 0.0) & (sampled <= LATEST_S))] = math.nan
        late = np.array(self._times, dtype=np.float64) - sampled
        return np.array(self._arrived, dtype=np.float64), np.maximum(late, 0.0)


def _times(source: Source | None) -> tuple[float, float]:
    """When a source was last heard, and its own time of then."""
    if source is None or source.arrived is None:
        return math.nan, math.nan
    return source.arrived, source.time
