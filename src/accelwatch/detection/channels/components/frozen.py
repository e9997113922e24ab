"""Values that stand still while those of their peers move: a stuck sensor, a wedged driver."""

import numpy as np

from accelwatch.detection.arrays import Bools
from accelwatch.detection.channels.components.memory import Memory
from accelwatch.detection.channels.components.table import Level
from accelwatch.detection.signals.signal import Form
from accelwatch.detection.tick import Tick

# Ticks without any change (detection.md 4.2, S).
_TICKS = 10


def is_frozen(memory: Memory, level: Level, tick: Tick) -> Bools:
    """Learn a tick; bool[R]: a gauge of the row stood still in ten ticks in which its group moved.

    A tick counts where the median of peers moved by more than the sensor's step: a healthy sensor of
    the same work then moves too. Samples that did not come count for nothing.
    """
    kept, value, median = memory.floats, tick.devices.value, tick.devices.median
    gauges = np.array([row.form is Form.GAUGE and not row.errors for row in level.rows])[:, None]
    step = np.array([row.step for row in level.rows])[:, None]
    sampled = tick.frame.device_sampled
    fresh = ~(sampled <= kept["sampled"]) & np.isfinite(sampled)
    finite = gauges & ~np.isnan(value) & ~np.isnan(median) & fresh
    moved = finite & (np.abs(median - kept["median"]) > step)
    same = finite & (value == kept["value"])
    count = np.maximum(memory.codes["frozen"], 0)
    count = np.where(finite & ~same, 0, np.minimum(count + (same & moved), _TICKS))
    memory.codes["frozen"] = count.astype(np.int16)
    kept["value"] = np.where(finite, value, kept["value"])
    kept["median"] = np.where(finite, median, kept["median"])
    kept["sampled"] = np.where(fresh, sampled, kept["sampled"])
    return np.asarray((finite & (count >= _TICKS)).any(axis=0))
