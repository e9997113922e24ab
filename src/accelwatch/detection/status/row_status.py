"""The status of rows: group, hold, own past, what channels report, the farthest signals. Pure."""

import numpy as np

from accelwatch.detection.arrays import Floats
from accelwatch.detection.baselines.grouping import MEMBERS, SHARED_STAGE
from accelwatch.detection.baselines.stages import stage_text
from accelwatch.detection.baselines.state import GroupKey, LevelState
from accelwatch.detection.detector import Detector
from accelwatch.detection.evidence import Subject
from accelwatch.detection.fusion.fuse import SILENT_INTERVALS
from accelwatch.detection.fusion.row_levels import ALERTED, NONE, WATCHED
from accelwatch.detection.status.documents import GroupStatus, RowStatus, SignalStatus
from accelwatch.detection.status.family_status import (
    Observed,
    families_of,
    name_of,
    quiet_channels,
    signals_of,
)
from accelwatch.detection.tick import Groups, Residuals, Tick

# As many as a person reads.
_MOST_SIGNALS = 5
_LEVELS = {NONE: "none", WATCHED: "watch", ALERTED: "alert"}
# By code of a coarse phase.
_PHASES = ("idle", "light", "busy")


def status_of_node(detector: Detector, node: str) -> tuple[RowStatus, ...]:
    """A node, the jobs that it works for, then its devices; none of a node that is not known.

    The detector must not process a frame meanwhile: what it has learned is read in place.
    """
    tick = detector.tick
    if tick is None or not node or node not in tick.frame.names.nodes:
        return ()
    frame, row = tick.frame, tick.frame.names.nodes.index(node)
    devices = [
        device
        for device in np.flatnonzero(frame.node_of == row).tolist()
        if frame.names.devices[device]
    ]
    jobs = sorted({int(frame.job[device]) for device in devices} - {-1})
    observed = Observed.of(detector, tick)
    return (
        _of_row(detector, observed, Subject.NODE, row),
        *(_of_job(detector, observed, job) for job in jobs),
        *(_of_row(detector, observed, Subject.DEVICE, device) for device in devices),
    )


def _of_job(detector: Detector, observed: Observed, job: int) -> RowStatus:
    families = families_of(observed, Subject.JOB, job)
    level, ends_below = _level(detector, Subject.JOB, job)
    return RowStatus(
        subject=Subject.JOB.value,
        name=observed.tick.frame.names.jobs[job],
        level=level,
        ends_below=ends_below,
        families=families,
        quiet_channels=quiet_channels(families),
    )


def _of_row(detector: Detector, observed: Observed, subject: Subject, row: int) -> RowStatus:
    """Of a node or a device."""
    tick, of_device = observed.tick, subject is Subject.DEVICE
    frame = tick.frame
    state = detector.rows.devices if of_device else detector.rows.nodes
    residuals = tick.devices if of_device else tick.nodes
    sampled = float((frame.device_sampled if of_device else frame.node_sampled)[row])
    node_row = int(frame.node_of[row]) if of_device else row
    node, device = frame.names.nodes[node_row], frame.names.devices[row] if of_device else ""
    code = int(residuals.groups.code[row])
    level, ends_below = _level(detector, subject, row)
    left_s = float(state.groups.hold_until[code]) - frame.now
    age_s = frame.now - sampled
    families = families_of(observed, subject, row)
    return RowStatus(
        subject=subject.value,
        node=node,
        device=device,
        name=device or node,
        level=level,
        ends_below=ends_below,
        group=_group(state.keys[code], residuals.groups, code),
        on_hold=bool(residuals.on_hold[row]),
        hold_left_s=left_s if left_s > 0 else None,
        maintenance=bool(frame.maintenance[node_row]),
        sample_age_s=max(age_s, 0.0) if np.isfinite(age_s) else None,
        silent=bool(age_s > SILENT_INTERVALS * frame.interval_s),
        phase=_PHASES[int(state.groups.phase[code])],
        learned_s=_learned(state, row),
        families=families,
        quiet_channels=quiet_channels(families),
        signals=_signals(tick, subject, row),
    )


def _level(detector: Detector, subject: Subject, row: int) -> tuple[str, float | None]:
    """The level, and the score below which it may end."""
    fusion = detector.fusion
    if fusion is None:
        return _LEVELS[NONE], None
    levels = {
        Subject.DEVICE: fusion.devices,
        Subject.NODE: fusion.nodes,
        Subject.JOB: fusion.jobs,
    }[subject]
    level = int(levels.level[row])
    return _LEVELS[level], None if level == NONE else float(levels.clear_below[row])


def _group(key: GroupKey, groups: Groups, code: int) -> GroupStatus:
    job, stage, model = key
    members, nodes = int(groups.size[code]), int(groups.nodes[code])
    shared, comparable = stage == SHARED_STAGE, bool(groups.comparable[code])
    reason = ""
    if shared:
        reason = "it works for several jobs at once"
    elif members < MEMBERS:
        reason = f"its group has fewer than {MEMBERS} members"
    elif not comparable:
        reason = "all members of its group are on one node"
    return GroupStatus(
        job=job,
        stage="" if shared else stage_text(stage),
        model=model,
        members=members,
        nodes=nodes,
        comparable=comparable,
        reason=reason,
    )


def _learned(state: LevelState, row: int) -> dict[str, float]:
    seconds = state.rows.learned_s[:, row].tolist()
    return dict(zip(_PHASES, seconds, strict=True))


def _signals(tick: Tick, subject: Subject, row: int) -> tuple[SignalStatus, ...]:
    """Those with the largest z; then, where z is not known, those that are farthest from usual."""
    level: Residuals = tick.devices if subject is Subject.DEVICE else tick.nodes
    signals, z = signals_of(subject), level.z[:, row]
    from_usual = np.abs(level.value[:, row] - level.usual[:, row]) / level.scale[:, row]
    by_peers = np.isfinite(z)
    away = np.nan_to_num(np.where(by_peers, np.abs(z), from_usual), nan=-1.0)
    order = np.lexsort((-away, ~by_peers))
    positions = [at for at in order.tolist() if away[at] >= 0]
    return tuple(
        SignalStatus(
            name=name_of(signals[at]),
            family=signals[at].family,
            value=_number(level.value, at, row),
            expected=_number(level.median, at, row),
            low=_number(level.low, at, row),
            high=_number(level.high, at, row),
            usual=_number(level.usual, at, row),
            z=_number(level.z, at, row),
        )
        for at in positions[:_MOST_SIGNALS]
    )


def _number(values: Floats, at: int, row: int) -> float | None:
    value = float(values[at, row])
    return value if np.isfinite(value) else None
