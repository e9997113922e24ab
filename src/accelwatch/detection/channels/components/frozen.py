"""Values that stand still while those of their peers move: a stuck sensor, a wedged driver."""

import numpy as np

from accelwatch.detection.arrays import Bools
from accelwatch.detection.channels.components.memory import Memory
from accelwatch.detection.channels.components.table import Level
from accelwatch.detection.signals.signal import Form
from accelwatch.detection.tick import Tick

# Ticks without any change (detection.md 4.2, S).
_TICKS = 10
_MOST = 0.5


def is_frozen(memory: Memory, level: Level, tick: Tick) -> Bools:
    """Learn a tick; bool[R]: a gauge of the row stood still in ten ticks in which its group moved.

    A tick counts where the median of peers moved by more than the sensor's step, and so did most of
    them: a healthy sensor of the same work then moves too. A median also moves where others join and
    leave, as devices without a job do. Samples that did not come count for nothing.
    """
    kept, value, median = memory.floats, tick.devices.value, tick.devices.median
    gauges = np.array([row.form is Form.GAUGE and not row.errors for row in level.rows])[:, None]
    step = np.array([row.step for row in level.rows])[:, None]
    sampled = tick.frame.device_sampled
    fresh = ~(sampled <= kept["sampled"]) & np.isfinite(sampled)
    finite = gauges & ~np.isnan(value) & ~np.isnan(median) & fresh
    moved = finite & (np.abs(median - kept["median"]) > step)
    moved &= _most_moved(finite & (np.abs(value - kept["value"]) > step), finite, tick)
    same = finite & (value == kept["value"])
    count = np.maximum(memory.codes["frozen"], 0)
    count = np.where(finite & ~same, 0, np.minimum(count + (same & moved), _TICKS))
    memory.codes["frozen"] = count.astype(np.int16)
    kept["value"] = np.where(finite, value, kept["value"])
    kept["median"] = np.where(finite, median, kept["median"])
    kept["sampled"] = np.where(fresh, sampled, kept["sampled"])
    return np.asarray((finite & (count >= _TICKS)).any(axis=0))


def _most_moved(moved: Bools, finite: Bools, tick: Tick) -> Bools:
    """bool[S, R]: whether more than half of the members of a row's group that have a value moved."""
    code, count = tick.devices.groups.code, len(tick.devices.groups.size)
    cells = np.arange(len(moved))[:, None] * count + code
    shape = len(moved), count
    of_finite = np.bincount(cells[finite], minlength=shape[0] * count).reshape(shape)
    of_moved = np.bincount(cells[moved], minlength=shape[0] * count).reshape(shape)
    return np.asarray((of_moved > _MOST * of_finite)[:, code])
