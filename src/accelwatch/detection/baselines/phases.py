"""The gate: while a group changes what it does, its members cannot be compared with one another."""

import numpy as np

from accelwatch.detection.arrays import Bools, Codes, Floats
from accelwatch.detection.baselines.medians import Observed, Quartiles
from accelwatch.detection.baselines.state import GroupMemory, LevelState, RowMemory, Singles
from accelwatch.detection.signals.device_signals import DEVICE_SIGNALS

# Members leave a phase and enter the next over minutes, and are read at different moments.
HOLD_S = 300.0
# In the first part of it a level follows the samples; in the rest it learns the noise of the new phase.
SETTLE_S = 120.0
_RECENT_S = 600.0
_LEARN_S = 60.0
# Seconds before a level is worth comparing with.
_WARM_S = 150.0
_FAR = 8.0
_SHARE = 0.05
# Of the level, a deviation: phases differ by a third of their power and more (5.2). Where all wait for a
# slower device, steps are up to a third longer (5.3) and the others draw and move a little less: that
# is no phase, and the very moment at which they are to be compared.
_LEAST = 0.2 / _FAR
# One node that leaves the others is a fault, no phase, however few nodes there are.
_NODES = 2

# Share of the median device's time in which it works.
_IDLE, _LIGHT = 0.05, 0.5
# Share of the limit of power below which a device without a known load rests.
_RESTING = 0.25
_SERIES = [signal.series for signal in DEVICE_SIGNALS]
# Indices of the load and of the power in the signals of devices.
LOAD = _SERIES.index(("utilization_ratio",))
POWER = _SERIES.index(("power_watts",))
_LIMIT = _SERIES.index(("power_limit_watts", "enforced"))


def gate(level: LevelState, tick: Observed) -> Bools:
    """bool[G]: groups whose numeric channels are on hold."""
    groups, rows, layout = level.groups, level.rows, level.layout
    now, step_s = tick.now, tick.step_s
    on_hold = now < groups.hold_until
    observed = tick.value[layout.phases]
    moved = _members_moved(level, tick, observed)
    median = tick.peers.median[layout.phases]
    moved |= _median_moved(level, median)
    # A group that was not there before has just started to work.
    starts = (moved | np.isnan(groups.hold_until)) & ~on_hold
    groups.hold_until[starts] = now + HOLD_S
    on_hold |= starts
    settles = on_hold & (groups.hold_until - now > HOLD_S - SETTLE_S)
    _follow_groups(groups, median, on_hold, settles, step_s)
    code = tick.grouping.groups.code
    _follow_rows(rows, observed, on_hold[code], settles[code], step_s)
    return on_hold


def phase_of(before: Codes, peers: Quartiles) -> Codes:
    """int16[G]: 0 idle, 1 light, 2 busy, by the median device; what it was where nothing is known."""
    load = peers.median[LOAD]
    phase = np.where(load < _IDLE, 0, np.where(load < _LIGHT, 1, 2))
    drawn = peers.median[POWER] / peers.median[_LIMIT]
    by_power = np.where(np.isnan(drawn), before, np.where(drawn < _RESTING, 0, 2))
    return np.where(np.isnan(load), by_power, phase).astype(np.int16)


def _members_moved(level: LevelState, tick: Observed, observed: Floats) -> Bools:
    """bool[G]: more members than few, on several nodes, are far from where each was of late."""
    rows, groups = level.rows, tick.grouping.groups
    noise = np.maximum(np.sqrt(rows.variance), _floor(level, rows.recent))
    far = (np.abs(observed - rows.recent) > _FAR * noise).any(axis=0)
    far &= (rows.watched_s >= _WARM_S) & ~tick.out
    count = len(tick.grouping.keys)
    many = np.bincount(groups.code, far, minlength=count)
    pairs = np.unique(np.stack((groups.code[far], tick.node_of[far])), axis=1)
    nodes = np.bincount(pairs[0], minlength=count)
    # Members that have no peers on other nodes change their phase when most of them do.
    return np.where(
        groups.comparable & (groups.nodes >= _NODES),
        (many > _SHARE * groups.size) & (nodes >= _NODES),
        many > 0.5 * groups.size,
    )


def _median_moved(level: LevelState, median: Floats) -> Bools:
    """bool[G]: the median is far from where it was of late, by its own noise: less than members'."""
    groups = level.groups
    noise = np.maximum(np.sqrt(groups.variance), _floor(level, groups.level))
    moved: Bools = np.logical_or.reduce(np.abs(median - groups.level) > _FAR * noise)
    return moved


def _floor(level: LevelState, recent: Floats | Singles) -> Floats:
    layout = level.layout
    relative = np.maximum(layout.relative[layout.phases, np.newaxis], _LEAST)
    step = layout.step[layout.phases, np.newaxis]
    return np.asarray(np.maximum(step, relative * np.abs(recent)))


def _follow_groups(
    groups: GroupMemory, median: Floats, on_hold: Bools, settles: Bools, step_s: float
) -> None:
    gain = 1.0 - np.exp(-step_s / np.where(on_hold, _LEARN_S, _RECENT_S))
    _follow(groups.level, groups.variance, median, gain, settles)


def _follow_rows(
    rows: RowMemory, observed: Floats, on_hold: Bools, settles: Bools, step_s: float
) -> None:
    # The first samples weigh alike.
    first = step_s / (rows.watched_s + step_s) if step_s > 0 else 0.0
    gain = np.maximum(1.0 - np.exp(-step_s / np.where(on_hold, _LEARN_S, _RECENT_S)), first)
    _follow(rows.recent, rows.variance, observed, gain, settles)
    rows.watched_s[np.isfinite(observed).any(axis=0)] += step_s


def _follow(
    mean: Floats | Singles,
    variance: Floats | Singles,
    observed: Floats,
    gain: Floats,
    settles: Bools,
) -> None:
    """Exponentially weighted mean and variance; in place. A missing value changes nothing."""
    finite = np.isfinite(observed)
    away = observed - mean
    jumps = finite & (settles | np.isnan(mean))
    moves = finite & ~jumps
    np.copyto(variance, (1 - gain) * (variance + gain * away**2), where=moves, casting="same_kind")
    np.copyto(mean, mean + gain * away, where=moves, casting="same_kind")
    np.copyto(mean, observed, where=jumps, casting="same_kind")
