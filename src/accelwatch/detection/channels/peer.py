"""Peer level: a row is away from those that do the same work, and stays away.

Covers slow devices, throttling, a power brake, faults of one side of a host. The score is the level
kept in 8 of 10 ticks (detection.md 4.2, P): 8 weighs alone, 6 where another family agrees, which
fusion decides.
"""

import numpy as np

from accelwatch.detection.arrays import Bools, Floats
from accelwatch.detection.channels.components import persistence
from accelwatch.detection.channels.components.building import (
    Scored,
    evaluated_devices,
    evaluated_nodes,
    of_both,
)
from accelwatch.detection.channels.components.memory import ChannelState
from accelwatch.detection.channels.components.persistence import ENTRY
from accelwatch.detection.channels.components.table import Level, Table
from accelwatch.detection.evidence import Channel, Evidence
from accelwatch.detection.signals.signal import SignalRow
from accelwatch.detection.tick import Residuals, Tick

_ACTIVE = frozenset({"compute_active_ratio", "matrix_active_ratio"})
_DRAWN = frozenset({"power_watts", "energy_joules_total"})


def compared(row: SignalRow) -> bool:
    """Whether peers say anything about it: counters of faults are judged by their episodes."""
    return not (row.errors or row.inventory)


def badness(level: Level, residuals: Residuals, evaluated: Bools) -> Floats:
    """z as far as it is bad, float64[S, R]: positive the worse; NaN where unknown or not judged."""
    high, low = level.sides
    z = np.where(evaluated & ~residuals.on_hold, residuals.z, np.nan)
    bad: Floats = np.where(high & (z > 0), z, np.where(low & (z < 0), -z, z * 0.0))
    return bad


class Peer(ChannelState):
    """Channel P."""

    def __init__(self, table: Table) -> None:
        super().__init__(
            persistence.memory(len(table.devices.rows)), persistence.memory(len(table.nodes.rows))
        )
        self._table = table
        self._device_families = table.devices.families(compared)
        rows = table.devices.rows
        # Of power, and of work of which more is no pain.
        self._power = [i for i, row in enumerate(rows) if row.series[0] in _DRAWN]
        self._active = [i for i, row in enumerate(rows) if row.series[0] in _ACTIVE]
        self._node_families = table.nodes.families(compared)

    def evidence(self, tick: Tick) -> list[Evidence]:
        """Levels of 5 and more that have lasted four ticks, for each family."""
        now = tick.frame.now
        device_bad = badness(self._table.devices, tick.devices, evaluated_devices(tick))
        # Who does more of the work draws more by that; of whom nothing is known, nothing is known still.
        busier = (tick.devices.z[self._active] >= ENTRY / 2).any(axis=0)
        more = busier & (tick.devices.z[self._power] > 0)
        device_bad[self._power] *= ~more
        node_bad = badness(self._table.nodes, tick.nodes, evaluated_nodes(tick))
        device_score, device_since = persistence.kept_level(self.devices, device_bad, now)
        node_score, node_since = persistence.kept_level(self.nodes, node_bad, now)
        return of_both(
            Channel.PEER,
            Scored(self._device_families, device_score, device_since),
            Scored(self._node_families, node_score, node_since),
            now,
        )
