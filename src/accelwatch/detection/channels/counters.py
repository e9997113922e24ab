"""Error counters: episodes and bursts beyond what the row itself and the fleet have had (4.2, C)."""

from typing import NamedTuple

import numpy as np

from accelwatch.detection.arrays import Bools, Floats, Indices
from accelwatch.detection.channels.components.building import (
    by_family,
    evaluated_devices,
    evaluated_nodes,
)
from accelwatch.detection.channels.components.error_rates import (
    EPISODE_S,
    NAMES,
    add_errors,
    end_windows,
    of_episodes,
    of_windows,
    start_windows,
)
from accelwatch.detection.channels.components.memory import ChannelState, Memory
from accelwatch.detection.channels.components.table import Level, Table
from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.tick import Tick

# False alarms a day for all counters together (4.3: 0.02 a family).
BUDGET_A_DAY = 0.02
# Errors of lines are independent of one another, so that each counts.
LINES = frozenset({"nvlink", "pcie", "fabric"})
# Scores: the budget's e-value weighs as a level of 8 does; from 5 on it may confirm (4.3).
_FULL, _ENTRY, _GREATEST = 8.0, 5.0, 12.0


class Counters(ChannelState):
    """Channel C. State is kept for signals that count errors only."""

    def __init__(self, table: Table) -> None:
        self._device_positions = table.devices.positions(lambda row: row.errors)
        self._node_positions = table.nodes.positions(lambda row: row.errors)
        super().__init__(
            Memory(dict.fromkeys(NAMES, (self._device_positions.size,))),
            Memory(dict.fromkeys(NAMES, (self._node_positions.size,))),
        )
        self._table = table

    def evidence(self, tick: Tick) -> list[Evidence]:
        """Counters whose e-value is five eighths of the way to the budget's, or beyond."""
        devices = _Component(
            Subject.DEVICE,
            self._table.devices,
            self._device_positions,
            self.devices,
            tick.device_increase,
            evaluated_devices(tick),
        )
        nodes = _Component(
            Subject.NODE,
            self._table.nodes,
            self._node_positions,
            self.nodes,
            tick.node_increase,
            evaluated_nodes(tick),
        )
        watched = sum(
            component.positions.size * component.evaluated.size for component in (devices, nodes)
        )
        # alpha = the budget over what is watched for a day; alarm at e > 1 / alpha (4.2, C).
        alarm = float(np.log(max(watched, 1) / BUDGET_A_DAY))
        return [*_of_component(tick, devices, alarm), *_of_component(tick, nodes, alarm)]


class _Component(NamedTuple):
    """The counters of devices or of nodes."""

    subject: Subject
    level: Level
    positions: Indices
    memory: Memory
    # float64[S, R], of all signals of the level.
    increase: Floats
    # bool[R]
    evaluated: Bools


def _of_component(tick: Tick, component: _Component, alarm: float) -> list[Evidence]:
    level, positions, kept = component.level, component.positions, component.memory.floats
    increase = component.increase[positions]
    if not increase.size:
        return []
    now = tick.frame.now
    finite = ~np.isnan(increase) & component.evaluated
    errors = np.where(finite, np.maximum(increase, 0.0), 0.0)
    # A window begins where the increase of this tick began.
    start_windows(kept, now - tick.step_s)
    end_windows(kept, now - tick.step_s)
    exposed = np.where(finite, tick.step_s, 0.0)
    kept["own_s"] += exposed
    new = (errors > 0) & ~(now - kept["last"] < EPISODE_S)
    kept["episodes"] += new
    add_errors(kept, errors, now)
    kept["last"] = np.where(errors > 0, now, kept["last"])
    evidence_e = of_episodes(kept, now)
    lines = np.array([level.rows[position].family in LINES for position in positions])[:, None]
    evidence_e = np.where(lines, np.maximum(evidence_e, of_windows(kept, now)), evidence_e)
    score = np.minimum(evidence_e / alarm * _FULL, _GREATEST)
    speaks = finite & (score >= _ENTRY)
    kept["begun"] = np.where(score >= _ENTRY, np.fmin(kept["begun"], now), np.nan)
    if not speaks.any():
        return []
    full = np.full((len(level.rows), increase.shape[1]), np.nan)
    since = full.copy()
    full[positions] = np.where(speaks, score, np.nan)
    since[positions] = kept["begun"]
    families = level.families(lambda row: row.errors)
    return by_family(
        Channel.COUNTER,
        Weight.STATISTICAL,
        component.subject,
        families,
        score=full,
        since=since,
        now=now,
    )
