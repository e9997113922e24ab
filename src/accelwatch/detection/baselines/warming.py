"""Nodes that have become warmer within the last half hour than others that do the same work.

What each device is usually off by takes hours to learn, and each new job begins it anew. That the air of
some nodes gets warmer shows without it: most devices of each of them rise against what they themselves
had a few minutes ago, which their peers do not.
"""

import numpy as np

from accelwatch.detection.arrays import Bools, Floats, Indices
from accelwatch.detection.baselines.medians import Observed, quartiles
from accelwatch.detection.baselines.state import LevelState

# Air and water take half an hour to heat: what rises more slowly is a drift.
_BEFORE_S = 1800.0
# With samples of 30 s a mean of the last four.
_NOW_S = 60.0
# A job that begins or goes on heats all of its devices, each in its own time; by then they are warm.
_SETTLED_S = 600.0
# Sensors have 1 degree, and a reading alternates between two neighbours; a mean of four has half.
_DEVIATION = 0.5
# Devices of a node share a part of their noise, so that more of them prove no more than four do.
_INDEPENDENT = 4
# A median absolute deviation as a standard deviation of a normal distribution.
_BY_MEDIAN = 1.4826


def of_most(value: Floats, node_of: Indices, count: int) -> Floats:
    """float64[count]: what more than half of each node's devices have, in standard deviations of one."""
    of_node = np.bincount(node_of, minlength=count)
    # The greatest of each node first, unknown ones last.
    order = np.lexsort((-np.where(np.isnan(value), -np.inf, value), node_of))
    starts = np.cumsum(of_node) - of_node
    existing = np.flatnonzero(of_node)
    level = np.full(count, np.nan)
    level[existing] = value[order[starts[existing] + of_node[existing] // 2]]
    return level * np.sqrt(np.minimum(of_node, _INDEPENDENT))


def warmed(level: LevelState, tick: Observed, on_hold: Bools, busier: Bools, count: int) -> Floats:
    """float64[count]: by how many standard deviations each node has become warmer; NaN for unknown.

    `on_hold` and `busier` are bool[R]: rows whose group changes its phase, and those that draw more than
    their peers, which heats them.
    """
    _follow(level, tick, on_hold)
    rows, groups = level.rows, tick.grouping.groups
    settled = ~on_hold & (rows.warmth_s >= _SETTLED_S) & groups.comparable[groups.code]
    rise: Floats = np.where(settled, rows.warmth - rows.warmth_before, np.nan)
    rise -= quartiles(tick.grouping, rise).median[:, groups.code]
    # Air heats all that a device has.
    least: Floats = np.fmin.reduce(rise, axis=0, initial=np.nan)
    least = np.where(busier, np.minimum(least, 0.0), least)
    of_nodes = of_most(least, tick.node_of, count)
    finite = of_nodes[np.isfinite(of_nodes)]
    scatter = _BY_MEDIAN * float(np.median(np.abs(finite))) if finite.size else 0.0
    return of_nodes / max(_DEVIATION, scatter)


def _follow(level: LevelState, tick: Observed, on_hold: Bools) -> None:
    """Means of both lengths; in place. They begin anew where the work does."""
    rows = level.rows
    degrees = tick.value[level.layout.heat]
    rows.warmth_s[on_hold] = 0.0
    # The first samples weigh alike.
    most = np.maximum(rows.warmth_s + tick.step_s, 1e-9)
    for mean, length_s in ((rows.warmth, _NOW_S), (rows.warmth_before, _BEFORE_S)):
        gain = np.minimum(tick.step_s / np.minimum(most, length_s), 1.0)
        starts = np.isfinite(degrees) & ((rows.warmth_s == 0) | np.isnan(mean))
        moves = np.isfinite(degrees) & ~starts
        np.copyto(mean, mean + gain * (degrees - mean), where=moves, casting="same_kind")
        np.copyto(mean, degrees, where=starts, casting="same_kind")
    rows.warmth_s[np.isfinite(degrees).any(axis=0)] += tick.step_s
