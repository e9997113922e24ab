"""Stages of a job that nobody states: a gap between its nodes in power or in NVLink traffic."""

import numpy as np

from accelwatch.detection.arrays import Bools, Floats, Indices
from accelwatch.detection.baselines.grouping import job_of_nodes
from accelwatch.detection.baselines.phases import HOLD_S, SETTLE_S
from accelwatch.detection.baselines.state import DetectorState, StageState
from accelwatch.detection.frame import Frame
from accelwatch.detection.signals.device_signals import DEVICE_SIGNALS
from accelwatch.detection.signals.layout import DEVICE_LAYOUT

# Codes of stages that are inferred lie below -1, so that they are none of those that are stated.
_INFERRED = -10
# What a device of no known job is compared with: those that work, or those that rest.
_WORKS = -2
# Looked for this often, and believed when found the same so often: half an hour of the same gap, since
# a fault of several nodes has one as well. A gap that comes with a phase of the job is its own: then
# it is looked for at each tick on hold, so that stages are known when the hold ends.
_EVERY_S = 600.0
_TIMES = 3
# One or two slow nodes are no stage.
_LEAST = 3
# Shares of the level by which stages differ at least: nodes of one stage differ by 0.2-0.7 % in
# power (0.4-1.8 % a device, eight a node), and by about 1 % in traffic over ten minutes.
_POWER_GAP = 0.03
_TRAFFIC_GAP = 0.05
# A gap is clear when it is this many times as wide as the three nodes at its edge are apart.
_CLEAR = 3.0
# A value that is older than this many intervals is not known any more.
_STALE = 3.0
# Load above which a device works and below which it rests; between them it does what it did.
_BUSY_LOAD, _IDLE_LOAD = 0.5, 0.05

_SERIES = [DEVICE_SIGNALS[position].series[0] for position in DEVICE_LAYOUT.phases]
_POWER = _SERIES.index("power_watts")
_LOAD = _SERIES.index("utilization_ratio")
_TRAFFIC = _SERIES.index("interconnect_bytes_total")


def stages_of(state: DetectorState, frame: Frame) -> Indices:
    """intp[N]: the stage as stated, else as inferred (below -1), else -1."""
    stages = state.stages
    _note_working(stages, state.devices.rows.recent[_LOAD])
    _forget_changed(stages, frame)
    due = frame.now >= stages.next_at
    if due:
        stages.next_at = frame.now + _EVERY_S
    checked = _settling(state, frame) | due
    if checked.any():
        _infer(state, frame, checked)
    inferred = stages.stage[frame.node_of]
    by_gap = np.where(inferred >= 0, _INFERRED - inferred, -1)
    pool = np.where(stages.working, _WORKS, -1)
    return np.where(frame.stage >= 0, frame.stage, np.where(frame.job >= 0, by_gap, pool))


def stage_text(key: str) -> str:
    """What people call the stage of a group's key: `inferred 1`, `working`, empty without stages."""
    code = int(key) if key.removeprefix("-").isdecimal() and key.startswith("-") else 0
    if code <= _INFERRED:
        return f"inferred {_INFERRED - code + 1}"
    return {-1: "", _WORKS: "working"}.get(code, key)


def _note_working(stages: StageState, load: Floats) -> None:
    before = np.zeros(len(load), dtype=np.bool_)
    common = min(len(load), len(stages.working))
    before[:common] = stages.working[:common]
    stages.working = np.where(before, ~(load < _IDLE_LOAD), load > _BUSY_LOAD)


def _forget_changed(stages: StageState, frame: Frame) -> None:
    """What is known of the nodes of a job is void when one joins it or leaves it."""
    code = job_of_nodes(frame)
    job = tuple(frame.names.jobs[at] if at >= 0 else "" for at in code.tolist())
    if job == stages.job:
        return
    before = stages.job + ("",) * (len(job) - len(stages.job))
    moved = {name for pair in zip(job, before, strict=False) if pair[0] != pair[1] for name in pair}
    keeps = np.flatnonzero([name not in moved for name in job[: len(stages.job)]])
    stages.stage = _kept(stages.stage, keeps, len(job), -1)
    stages.proposed = _kept(stages.proposed, keeps, len(job), -1)
    stages.times = _kept(stages.times, keeps, len(job), 0)
    stages.job = job


def _kept(before: Indices, keeps: Indices, rows: int, fill: int) -> Indices:
    after = np.full(rows, fill, dtype=np.intp)
    after[keeps] = before[keeps]
    return after


def _settling(state: DetectorState, frame: Frame) -> Bools:
    """bool[M]: nodes whose devices learn the level of a new phase."""
    code, hold_until = state.devices.code, state.devices.groups.hold_until
    left = np.append(hold_until, np.nan)[code] - frame.now
    settling = np.zeros(len(frame.node_state), dtype=np.bool_)
    settling[frame.node_of[(left > 0) & (left <= HOLD_S - SETTLE_S)]] = True
    return settling


def _infer(state: DetectorState, frame: Frame, checked: Bools) -> None:
    """Look for a gap in each job that states no stages and whose nodes work, where it is checked."""
    stages = state.stages
    job = job_of_nodes(frame)
    stated = np.zeros(len(job), dtype=np.bool_)
    stated[frame.node_of[frame.stage >= 0]] = True
    rests = np.zeros(len(job), dtype=np.bool_)
    rests[frame.node_of[~stages.working]] = True
    # What was read before a phase says nothing of it.
    read = frame.now - frame.device_sampled <= _STALE * frame.interval_s
    power, traffic = (
        _of_nodes(
            np.where(read, state.devices.rows.recent[position], np.nan), frame.node_of, len(job)
        )
        for position in (_POWER, _TRAFFIC)
    )
    open_ = (job >= 0) & ~stated
    model = np.full(len(job), -1, dtype=np.intp)
    np.maximum.at(model, frame.node_of, frame.model)
    # Another model draws another power in the same stage.
    kind = job * (len(frame.names.models) + 1) + model + 1
    for code in np.unique(kind[open_ & checked]).tolist():
        nodes = np.flatnonzero(open_ & (kind == code))
        # A job that loads, or of which nothing is known yet, says nothing about its stages. Some of
        # its nodes may be lost, so it is most of them that count.
        if rests[nodes].mean() < 0.5:
            _refine(stages, nodes, power, traffic)


def _refine(stages: StageState, nodes: Indices, power: Floats, traffic: Floats) -> None:
    """Look for a gap within each stage of a job that is believed: that two of them draw the same power
    says nothing of what a third sends.
    """
    _join(stages, nodes, power, traffic)
    before = stages.stage[nodes]
    for stage in np.unique(before).tolist():
        members = nodes[before == stage]
        if stage < 0 <= before.max():
            continue
        level = power[members]
        labels = _cut(level, _POWER_GAP)
        if not labels.any():
            level = traffic[members]
            labels = _cut(level, _TRAFFIC_GAP)
        if _is_believed(stages, members, labels):
            # The first keeps the name of all, so that what its members have learned still counts.
            newest = max(int(stages.stage[nodes].max()), 0)
            after = np.where(labels == 0, max(stage, 0), newest + labels)
            stages.stage[members] = np.where(level > 0, after, -1)
            stages.times[members] = 0


def _join(stages: StageState, nodes: Indices, power: Floats, traffic: Floats) -> None:
    """Nodes that were not read when stages were believed belong to the stage that they are most like.

    Which that is shows in all that is known of stages: a node whose traffic is not known yet, as after
    its first sample, waits for it.
    """
    joined = nodes[stages.stage[nodes] >= 0]
    late = nodes[stages.stage[nodes] < 0]
    if not joined.size or not late.size:
        return
    present = np.unique(stages.stage[joined])
    apart = np.zeros((len(late), len(present)))
    for level, gap in ((power, _POWER_GAP), (traffic, _TRAFFIC_GAP)):
        logs = np.log(np.where(level > 0, level, np.nan))
        of_stage = np.array([_median(logs[joined[stages.stage[joined] == at]]) for at in present])
        if not np.isnan(of_stage).all():
            apart += np.abs(logs[late, np.newaxis] - of_stage) / gap
    # What nothing is known of is like nobody.
    apart = np.where(np.isnan(apart), np.inf, apart)
    has_level = np.isfinite(apart).any(axis=1)
    stages.stage[late[has_level]] = present[apart[has_level].argmin(axis=1)]


def _median(values: Floats) -> float:
    """Of those that are known; NaN for none."""
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if finite.size else float("nan")


def _is_believed(stages: StageState, members: Indices, labels: Indices) -> bool:
    """Whether a split was found the same several times in a row."""
    if not (labels.any() and np.array_equal(stages.proposed[members], labels)):
        stages.times[members] = 0
    stages.proposed[members] = labels
    stages.times[members] += 1
    return bool(labels.any() and stages.times[members].min() >= _TIMES)


def _cut(level: Floats, least: float) -> Indices:
    """Labels from 0 by the gaps of one quantity, in order of it; nodes where it is unknown have 0."""
    labels = np.zeros(len(level), dtype=np.intp)
    common = np.flatnonzero(level > 0)
    if len(common) < 2 * _LEAST:
        return labels
    order = common[np.argsort(level[common], kind="stable")]
    logs = np.log(level[order])
    gap = np.diff(logs)
    # How far apart the nodes next to each gap are, on either side.
    apart = logs[_LEAST - 1 :] - logs[: 1 - _LEAST]
    edge = np.arange(_LEAST - 1, len(logs) - _LEAST)
    widest = np.maximum(apart[edge - _LEAST + 1], apart[edge + 1])
    cuts = np.zeros(len(logs), dtype=np.intp)
    cuts[edge + 1] = (gap[edge] > least) & (gap[edge] > _CLEAR * widest)
    labels[order] = np.cumsum(cuts)
    return labels


def _of_nodes(level: Floats, node_of: Indices, nodes: int) -> Floats:
    """The median of each node's devices; NaN where none is known."""
    order = np.lexsort((level, node_of))
    order = order[np.isfinite(level[order])]
    count = np.bincount(node_of[order], minlength=nodes)
    starts = np.cumsum(count) - count
    there = np.flatnonzero(count)
    median = np.full(nodes, np.nan)
    middle = level[order]
    low = starts[there] + (count[there] - 1) // 2
    high = starts[there] + count[there] // 2
    median[there] = (middle[low] + middle[high]) / 2
    return median
