"""Who is to blame for a job that hangs: the device that differs, or whose traffic stopped first."""

import numpy as np

from accelwatch.detection.arrays import Bools, Floats, Indices
from accelwatch.detection.channels.components.building import of_rows
from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.frame import DeviceState, Frame, NodeState
from accelwatch.detection.tick import Tick

# Everybody else is at 0.9 and more: one at less than half of it does not wait, but is dead
# (detection.md 5.3: "culprit has util 0 or missing process").
_IDLE = 0.5
# More than a quarter that differ are not one culprit but another part of the job.
_FEW = 0.25
# Stopping times come from samples: only a whole interval of difference means something. It names a
# node as a hint (level between 5, which combines, and 8, which weighs alone: 4.3).
_HINT = 6.0


def evidence(
    tick: Tick, rows: Indices, load: Floats, stopped: Floats, started: float
) -> list[Evidence]:
    """Of a job of these devices: nodes that are silent, else devices that differ, else the node that
    stopped first, if one did.

    `load` and `stopped` (Unix seconds; NaN: it did not) are float64[N].
    """
    frame = tick.frame
    silent = silent_nodes(frame, rows)
    if silent.size:
        return of_rows(
            Channel.HANG,
            Weight.DECISIVE,
            Subject.NODE,
            "other",
            _mask(silent, frame.maintenance.size),
            since=np.full(frame.maintenance.size, started),
            now=frame.now,
            score=12.0,
            advice="reboot",
            cause="node_silent",
        )
    gone = np.isin(frame.device_state[rows], (DeviceState.LOST, DeviceState.UNREADABLE))
    differs = rows[gone | (load[rows] < _IDLE)]
    since = np.full(frame.job.size, started)
    if 0 < differs.size <= max(1.0, _FEW * rows.size):
        return of_rows(
            Channel.HANG,
            Weight.DECISIVE,
            Subject.DEVICE,
            "compute",
            _mask(differs, frame.job.size),
            since=since,
            now=frame.now,
            score=12.0,
            advice="exclude",
            cause="hang_culprit",
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


def silent_nodes(frame: Frame, rows: Indices) -> Indices:
    """Nodes of these devices that do not answer; none where they are too many to be one's own matter."""
    nodes = np.unique(frame.node_of[rows])
    silent: Indices = nodes[frame.node_state[nodes] == NodeState.DOWN]
    return silent if silent.size <= max(1.0, _FEW * nodes.size) else silent[:0]


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
