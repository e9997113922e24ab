"""The first passes over a frame, in their order."""

import math
from typing import NamedTuple

import numpy as np

from accelwatch.detection.arrays import Bools, Floats, Indices
from accelwatch.detection.baselines.grouping import Grouping, device_groups, node_groups
from accelwatch.detection.baselines.medians import Observed, quartiles
from accelwatch.detection.baselines.phases import LOAD, POWER, gate, phase_of
from accelwatch.detection.baselines.rates import Rates, rates
from accelwatch.detection.baselines.repeats import repeated
from accelwatch.detection.baselines.residuals import forget_elsewhere, residuals
from accelwatch.detection.baselines.stages import stages_of
from accelwatch.detection.baselines.state import DetectorState
from accelwatch.detection.baselines.warming import warmed
from accelwatch.detection.baselines.wiring import bound_by_slots
from accelwatch.detection.frame import Frame
from accelwatch.detection.tick import Residuals, Tick

# A value that is older than this many intervals is not known any more.
_STALE = 3.0
# Devices of no job do each their own work: they are compared while their loads are as close as this,
# as power follows load almost in proportion and differs by 10 % with as much of it.
_SAME_LOAD = 0.1
# The share of a job's devices that hold the nodes of it: a stage of eight, some of it lost.
_ON_HOLD = 0.05
# Who draws more than its peers by half of what has any weight is warmer by that.
_BUSIER = 2.5


class Flagged(NamedTuple):
    """Rows with an open finding, from which no habits are learned."""

    # bool[N] and bool[M], of the tick before; shorter when rows came since.
    devices: Bools
    nodes: Bools


NOTHING_FLAGGED = Flagged(np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.bool_))


def advance(state: DetectorState, frame: Frame, flagged: Flagged = NOTHING_FLAGGED) -> Tick:
    """The tick that channels read, from a frame; updates `state` in place."""
    state.fit(frame)
    elapsed_s = frame.interval_s if math.isnan(state.now) else max(frame.now - state.now, 0.0)
    state.now = frame.now
    # After a pause, and with a state from a file, what was learned weighs as much as before.
    step_s = min(elapsed_s, _STALE * frame.interval_s)
    state.repeats, of_devices, of_nodes = repeated(state.repeats, frame)
    current = _without(frame, of_devices[frame.node_of], of_nodes)
    devices, device_increase, warmed_nodes = _devices(state, current, flagged.devices, step_s)
    nodes, node_increase = _nodes(state, current, flagged.nodes, step_s, devices)
    return Tick(
        frame,
        elapsed_s,
        devices,
        nodes,
        device_increase,
        node_increase,
        of_devices | of_nodes,
        warmed_nodes,
    )


def _without(frame: Frame, devices: Bools, nodes: Bools) -> Frame:
    """A frame in which the values of some rows are unknown."""
    if not (devices.any() or nodes.any()):
        return frame
    return frame._replace(
        devices=np.where(devices, np.nan, frame.devices),
        nodes=np.where(nodes, np.nan, frame.nodes),
    )


def _devices(
    state: DetectorState, frame: Frame, flagged: Bools, step_s: float
) -> tuple[Residuals, Floats, Floats]:
    """Residuals and increases, and by how much each node has become warmer."""
    level = state.devices
    read = _current(
        rates(level.layout, level.rows, frame.devices, frame.device_sampled, frame.interval_s),
        frame,
        frame.device_sampled,
    )
    grouping = device_groups(frame, stages_of(state, frame))
    forget_elsewhere(level, grouping, level.regroup(grouping.keys, grouping.groups.code))
    peers = quartiles(grouping, read.value)
    level.groups.phase[:] = phase_of(level.groups.phase, peers)
    out = frame.maintenance[frame.node_of]
    tick = Observed(grouping, read.value, peers, frame.node_of, out, frame.now, step_s)
    other_work = _differs_in_load(grouping, read.value[LOAD], peers.median[LOAD])
    frozen = out | other_work | _fitted(flagged, len(out))
    result = residuals(level, tick, gate(level, tick), frozen)
    result.z[:, other_work] = np.nan
    bound_by_slots(level.layout, result, frame)
    busier = other_work | (result.z[POWER] >= _BUSIER)
    warm = warmed(level, tick, result.on_hold, busier, len(frame.node_state))
    return result, read.increase, warm


def _differs_in_load(grouping: Grouping, load: Floats, median: Floats) -> Bools:
    """bool[R]: rows of no job that have another load than the median, float64[G], of their group."""
    code = grouping.groups.code
    differs: Bools = np.abs(load - median[code]) > _SAME_LOAD
    return differs & (grouping.groups.job[code] < 0)


def _nodes(
    state: DetectorState, frame: Frame, flagged: Bools, step_s: float, devices: Residuals
) -> tuple[Residuals, Floats]:
    """Residuals and increases; a node is in the phase of its devices, and on hold with them."""
    level = state.nodes
    read = _current(
        rates(level.layout, level.rows, frame.nodes, frame.node_sampled, frame.interval_s),
        frame,
        frame.node_sampled,
    )
    grouping = node_groups(frame)
    forget_elsewhere(level, grouping, level.regroup(grouping.keys, grouping.groups.code))
    with_devices = grouping.groups.code[frame.node_of]
    level.groups.phase[:] = 0
    np.maximum.at(level.groups.phase, with_devices, state.devices.groups.phase[devices.groups.code])
    every = np.arange(len(frame.node_state), dtype=np.intp)
    peers, out = quartiles(grouping, read.value), frame.maintenance
    tick = Observed(grouping, read.value, peers, every, out, frame.now, step_s)
    on_hold = gate(level, tick) | (_share(grouping, with_devices, devices.on_hold) > _ON_HOLD)
    load = _mean_of_nodes(frame, devices.value[LOAD])
    median = quartiles(grouping, load[np.newaxis]).median[0]
    other_work = _differs_in_load(grouping, load, median)
    result = residuals(level, tick, on_hold, out | other_work | _fitted(flagged, len(out)))
    result.z[:, other_work] = np.nan
    return result, read.increase


def _mean_of_nodes(frame: Frame, of_devices: Floats) -> Floats:
    """float64[M]: the mean of each node's devices; NaN where none is known."""
    count = len(frame.node_state)
    total = np.bincount(frame.node_of, np.nan_to_num(of_devices), minlength=count)
    finite = np.bincount(frame.node_of, np.isfinite(of_devices), minlength=count)
    mean = np.full(count, np.nan)
    np.divide(total, finite, out=mean, where=finite > 0)
    return mean


def _share(grouping: Grouping, with_devices: Indices, on_hold: Bools) -> Floats:
    """float64[G]: the share of the devices of each group of nodes that is on hold."""
    count = len(grouping.keys)
    all_ = np.bincount(with_devices, minlength=count)
    return np.bincount(with_devices, on_hold, minlength=count) / np.maximum(all_, 1)


def _current(read: Rates, frame: Frame, sampled: Floats) -> Rates:
    """Without values whose sample is old."""
    read.value[:, ~(frame.now - sampled <= _STALE * frame.interval_s)] = np.nan
    return read


def _fitted(flagged: Bools, rows: int) -> Bools:
    fitted = np.zeros(rows, dtype=np.bool_)
    common = min(rows, len(flagged))
    fitted[:common] = flagged[:common]
    return fitted
