"""Nodes that have become warmer within the last half hour than others that do the same work.

What each device is usually off by takes hours to learn, and each new job begins it anew. That the air of
some nodes gets warmer shows without it: most devices of each of them rise against what they themselves
had a few minutes ago, which their peers do not.
"""

import numpy as np

from accelwatch.detection.arrays import Bools, Floats, Indices
from accelwatch.detection.baselines.medians import Observed, quartiles
from accelwatch.detection.baselines.state import LevelState, Singles

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
# Two families above 4 for two minutes gave 0.02 false alarms a day (detection.md 4.4). A finding needs
# three nodes, which share no noise.
RISEN = 4.0
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
    rows, groups = level.rows, tick.grouping.groups
    rows.warmth_s[on_hold] = 0.0
    degrees = tick.value[level.layout.heat]
    _follow(rows.warmth, degrees, rows.warmth_s, tick.step_s, _NOW_S)
    settled = ~on_hold & (rows.warmth_s >= _SETTLED_S) & groups.comparable[groups.code]
    rise: Floats = np.where(settled, rows.warmth - rows.warmth_before, np.nan)
    rise -= quartiles(tick.grouping, rise).median[:, groups.code]
    # Air heats all that a device has.
    least: Floats = np.fmin.reduce(rise, axis=0, initial=np.nan)
    least = np.where(busier, np.minimum(least, 0.0), least)
    of_nodes = of_most(least, tick.node_of, count)
    finite = of_nodes[np.isfinite(of_nodes)]
    scatter = _BY_MEDIAN * float(np.median(np.abs(finite))) if finite.size else 0.0
    score = of_nodes / max(_DEVIATION, scatter)
    # Who is warm is compared with what it had when it was not, up to the next phase.
    warm = score[tick.node_of] >= RISEN
    before = np.where(warm, np.nan, degrees)
    _follow(rows.warmth_before, before, rows.warmth_s, tick.step_s, _BEFORE_S)
    rows.warmth_s[np.isfinite(degrees).any(axis=0)] += tick.step_s
    return np.asarray(score)


def _follow(
    mean: Singles, degrees: Floats, lasts_s: Singles, step_s: float, length_s: float
) -> None:
    """A mean over so many seconds; in place. It starts anew where the work does."""
    # The first samples weigh alike.
    gain = np.minimum(step_s / np.clip(lasts_s + step_s, 1e-9, length_s), 1.0)
    starts = np.isfinite(degrees) & ((lasts_s == 0) | np.isnan(mean))
    moves = np.isfinite(degrees) & ~starts
    np.copyto(mean, mean + gain * (degrees - mean), where=moves, casting="same_kind")
    np.copyto(mean, degrees, where=starts, casting="same_kind")
