"""Who is to blame for a job that hangs: the device that differs, or whose traffic stopped first."""

from typing import NamedTuple

import numpy as np

from accelwatch.detection.arrays import Bools, Floats, Indices
from accelwatch.detection.channels.components.building import of_rows
from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.frame import DeviceState, NodeState
from accelwatch.detection.tick import Tick

# Everybody else is at 0.9 and more: one at less than half of it does not wait, but is dead
# (detection.md 5.3: "culprit has util 0 or missing process").
_IDLE = 0.5
# More than a quarter that differ are not one culprit but another part of the job.
_FEW = 0.25
# Stopping times come from samples: only a whole interval of difference means something. It names a
# node as a hint (level between 5, which combines, and 8, which weighs alone: 4.3).
_HINT = 6.0


# Two samples are missing when the newest is nearly two intervals old: samples and ticks are not
# simultaneous, and jitter by a second or so. One alone is missed all the time.
_MISSED = 1.75


class Culprits(NamedTuple):
    """Who stands out in a job: rows of nodes that do not answer, and of devices that do nothing."""

    # One at most (`longest_silent`).
    silent: Indices
    differing: Indices


def evidence(
    tick: Tick, rows: Indices, culprits: Culprits, stopped: Floats, started: float
) -> list[Evidence]:
    """Of a job of these devices: devices that differ, else nodes that are silent, else the node that
    stopped first, if one did. Of many nodes one always misses two samples: who answers and does nothing
    is known better.

    `stopped` (Unix seconds; NaN: it did not) is float64[N].
    """
    frame = tick.frame
    if culprits.differing.size:
        return of_rows(
            Channel.HANG,
            Weight.DECISIVE,
            Subject.DEVICE,
            "compute",
            _mask(culprits.differing, frame.job.size),
            since=np.full(frame.job.size, started),
            now=frame.now,
            score=12.0,
            advice="exclude",
            cause="hang_culprit",
        )
    if culprits.silent.size:
        return of_rows(
            Channel.HANG,
            Weight.DECISIVE,
            Subject.NODE,
            "other",
            _mask(culprits.silent, frame.maintenance.size),
            since=np.full(frame.maintenance.size, started),
            now=frame.now,
            score=12.0,
            advice="reboot",
            cause="node_silent",
        )
    first = _first_node(frame.node_of[rows], stopped[rows], frame.interval_s)
    if first < 0:
        return []
    return of_rows(
        Channel.HANG,
        Weight.STATISTICAL,
        Subject.NODE,
        "compute",
        _mask(np.array([first]), frame.maintenance.size),
        since=np.full(frame.maintenance.size, np.nanmin(stopped[rows])),
        now=frame.now,
        score=_HINT,
        advice="exclude",
        cause="stopped_first",
    )


def silent_nodes(tick: Tick, rows: Indices) -> Indices:
    """Nodes of these devices that do not answer; none where they are too many to be one's own matter."""
    frame = tick.frame
    nodes = np.unique(frame.node_of[rows])
    # At a hub that looks less often than nodes are read, two ticks.
    late_s = _MISSED * max(frame.interval_s, tick.step_s)
    late = np.isfinite(frame.node_sampled) & (frame.now - frame.node_sampled >= late_s)
    silent: Indices = nodes[(late | (frame.node_state == NodeState.DOWN))[nodes]]
    return silent if silent.size <= max(1.0, _FEW * nodes.size) else silent[:0]


def longest_silent(tick: Tick, silent: Indices) -> Indices:
    """Of silent nodes the one that has missed a sample more than any other; none where several have
    missed as many.
    """
    order = silent[np.argsort(tick.frame.node_sampled[silent], kind="stable")]
    if order.size < 2:
        return order
    first, second = tick.frame.node_sampled[order[:2]]
    return order[:1] if second - first >= tick.frame.interval_s else order[:0]


def differing(tick: Tick, rows: Indices, load: Floats, learned: Bools) -> Indices:
    """Devices, of these, that do nothing or are not there; none where they are another part of the job.

    `load` is float64[N], and `learned` bool[N]: whose load was known. If it no longer is although their
    node answers, they cannot be read.
    """
    lost = np.isin(tick.frame.device_state[rows], (DeviceState.LOST, DeviceState.UNREADABLE))
    lost |= np.isnan(load[rows]) & learned[rows]
    differs: Indices = rows[lost | (load[rows] < _IDLE)]
    return differs if differs.size <= max(1.0, _FEW * rows.size) else differs[:0]


def _mask(rows: Indices, size: int) -> Bools:
    mask = np.zeros(size, dtype=np.bool_)
    mask[rows] = True
    return mask


def _first_node(nodes: Indices, stopped: Floats, interval_s: float) -> int:
    """The node whose traffic stopped an interval before all others'; -1 where none did."""
    finite = ~np.isnan(stopped)
    names = np.unique(nodes[finite])
    if names.size < 2:
        return -1
    started = np.array([stopped[finite & (nodes == name)].min() for name in names])
    order = np.argsort(started)
    ahead = started[order[1]] - started[order[0]] >= interval_s
    return int(names[order[0]]) if ahead else -1
