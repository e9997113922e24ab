"""What is left of a value without what its peers and its own habit explain."""

import numpy as np

from accelwatch.detection.arrays import Bools, Codes, Floats
from accelwatch.detection.baselines.grouping import MEMBERS, Grouping
from accelwatch.detection.baselines.medians import Observed, quartiles
from accelwatch.detection.baselines.other_work import excuse_other_work
from accelwatch.detection.baselines.state import COARSE_PHASES, LevelState, Singles
from accelwatch.detection.tick import Residuals

# Own offsets change with dust and paste, over days; half a day follows the day's wave only in part.
_OFFSET_S = 12 * 3600.0
# As if each row had been watched for so long and had no offset: a fault that is there from the
# beginning is flagged before it is learned.
_PRIOR_S = 1200.0
# A row whose group is another has habits from elsewhere: they weigh no more than this.
_ELSEWHERE_S = 1200.0
_DEVIATION_S = 3600.0
# By chance the deviation of five devices or more does not double for long.
_SUDDEN = 2.0
# A median absolute deviation, and a mean one, as a standard deviation of a normal distribution.
_BY_MEDIAN = 1.4826
_BY_MEAN = 1.2533
# Between the quartiles of a normal distribution are so many standard deviations.
_BY_QUARTILES = 1.349
_CLIP = 12.0
# What is farther out than this does not pull the offset by more.
_PULL = 3.0


def forget_elsewhere(level: LevelState, grouping: Grouping, changed: Bools) -> None:
    """Habits of rows whose group has changed weigh little; their phase starts over."""
    if not changed.any():
        return
    rows, code = level.rows, grouping.groups.code
    for seconds in (rows.learned_s, rows.compared_s):
        seconds[:, changed] = np.minimum(seconds[:, changed], _ELSEWHERE_S)
    # What all members were off by in the group that they left says nothing in this: without it, the
    # stages of a job would be blind until each had learned that it is a stage. Of a few the median is
    # the habit of each, which they keep for when they have peers again.
    joined = changed & grouping.groups.comparable[code]
    for offset in rows.offset:
        common = quartiles(grouping, offset).median
        offset[:, joined] -= common[:, code[joined]].astype(np.float32)
    rows.joined_s[:, changed] = 0.0
    rows.recent[:, changed] = np.nan
    rows.variance[:, changed] = 0.0
    rows.watched_s[changed] = 0.0
    rows.warmth_s[changed] = 0.0


def residuals(level: LevelState, tick: Observed, on_hold: Bools, frozen: Bools) -> Residuals:
    """Of a level; `on_hold` is bool[G], `frozen` bool[R]: rows that are not to be learned from."""
    grouping, value, peers = tick.grouping, tick.value, tick.peers
    code = grouping.groups.code
    phase = level.groups.phase[code]
    # A signal that too few have has no peers, though its group has.
    alone = ~grouping.groups.comparable | (peers.counts < MEMBERS)
    median, low, high = (
        np.where(alone, np.nan, column).take(code, axis=1)
        for column in (peers.median, peers.low, peers.high)
    )
    usual = _of_phase(level.rows.usual, phase)
    left = value - median
    offset = _of_phase(level.rows.offset, phase)
    left -= offset
    _follow_deviation(level, tick, left, on_hold)
    own = _own_scale(level, usual)
    by_peers = _scale(level, tick, alone, own)
    unlearned = _unlearned(level, _spread(median, low, high), offset, phase)
    scale = np.hypot(by_peers, unlearned)
    rows_on_hold = on_hold[code]
    # Habits that were learned while most of a group suffered say nothing of who is beside its peers and
    # has what it always had: nobody deviates by more than from the farther of both.
    away = np.fmax(np.abs(value - median), np.abs(value - usual))
    z = np.clip(np.clip(left, -away, away) / scale, -_CLIP, _CLIP)
    z[:, rows_on_hold] = np.nan
    # Peers that have left their level say nothing of the habit of one that keeps its own, however
    # large their noise is there.
    most = _PULL * np.hypot(np.fmin(by_peers, own), unlearned)
    pull = np.clip(left, -most, most)
    learns = ~(rows_on_hold | frozen)
    excuse_other_work(level, tick, left, scale, phase=phase, learns=learns)
    _learn(level, tick, pull, phase, learns)
    return Residuals(
        value,
        median,
        low,
        high,
        z,
        scale,
        usual.astype(np.float64),
        grouping.groups,
        rows_on_hold,
        _best(level, value),
    )


def _best(level: LevelState, value: Floats) -> Floats:
    """float64[L, R]: the greatest values up to now, which are kept."""
    best = level.rows.best
    np.copyto(best, np.fmax(best, value[level.layout.by_slot]), casting="same_kind")
    return best.astype(np.float64)


def _follow_deviation(level: LevelState, tick: Observed, left: Floats, on_hold: Bools) -> None:
    """The deviation of a group follows over an hour, at once when it doubles; not while on hold."""
    deviation = level.groups.deviation
    now = quartiles(tick.grouping, np.abs(left)).median
    gain = 1.0 - np.exp(-tick.step_s / _DEVIATION_S)
    # Most members suddenly deviate when they come into a phase whose offsets are not learned yet.
    fresh = np.isnan(deviation) | (now > _SUDDEN * deviation)
    next_ = np.where(fresh, now, deviation + gain * (now - deviation))
    np.copyto(deviation, next_, where=np.isfinite(now) & ~on_hold)


def _of_phase(table: Singles, phase: Codes) -> Singles:
    """float32[S, R] out of float32[3, S, R]: what each row has in its phase."""
    result: Singles = table[-1].copy()
    for each in range(COARSE_PHASES - 1):
        columns = np.flatnonzero(phase == each)
        result[:, columns] = table[each][:, columns]
    return result


def _own_scale(level: LevelState, usual: Singles) -> Singles:
    """float32[S, R]: by the own past."""
    step, relative = level.layout.step[:, np.newaxis], level.layout.relative[:, np.newaxis]
    own = np.fmax(step.astype(np.float32), relative.astype(np.float32) * np.abs(usual))
    np.fmax(own, np.float32(_BY_MEAN) * level.rows.spread, out=own)
    return own


def _scale(level: LevelState, tick: Observed, alone: Bools, own: Singles) -> Floats:
    """float64[S, R]: by peers where there are some, else `own`."""
    step, relative = level.layout.step[:, np.newaxis], level.layout.relative[:, np.newaxis]
    floor = np.maximum(step, relative * np.abs(tick.peers.median))
    by_peers = np.fmax(_BY_MEDIAN * level.groups.deviation, floor)
    by_peers[alone] = np.nan
    scale = by_peers.take(tick.grouping.groups.code, axis=1)
    np.copyto(scale, own, where=np.isnan(scale))
    return scale


def _spread(median: Floats, low: Floats, high: Floats) -> Floats:
    """Standard deviation of the members by their quartiles; 0 without peers.

    By the nearer of both: a node that leaves a group of four pulls one of them.
    """
    half = np.minimum(high - median, median - low)
    return np.nan_to_num(2.0 * half / _BY_QUARTILES)


def _unlearned(level: LevelState, spread: Floats, offset: Singles, phase: Codes) -> Floats:
    """float64[S, R]: how far rows may be off by a habit that is not learned yet; 0 without peers.

    Devices in health differ for ever, by degrees and by a share of power: who is new in a group is
    compared with how its members differ from one another, the less the longer it is known. A habit from
    another group may be one of that group, however large it is.
    """
    idle, light, busy = level.rows.compared_s
    compared = np.where(phase == 0, idle, np.where(phase == 1, light, busy))
    habit = np.maximum(spread, np.abs(offset))
    off: Floats = habit * _PRIOR_S / (compared + _PRIOR_S)
    return off


def _learn(level: LevelState, tick: Observed, pull: Floats, phase: Codes, learns: Bools) -> None:
    """Own offset, level and deviation of rows that learn, in the phase in which they are."""
    rows, value, step_s = level.rows, tick.value, tick.step_s
    # Alone a row learns its level, and nothing of how it differs from others.
    compared_now = tick.grouping.groups.comparable[tick.grouping.groups.code]
    for each in range(COARSE_PHASES):
        here = learns & (phase == each)
        if not here.any():
            continue
        learned, compared = rows.learned_s[each], rows.compared_s[each]
        gain = step_s / np.minimum(compared + _PRIOR_S, _OFFSET_S)
        offset, usual = rows.offset[each], rows.usual[each]
        finite = here & np.isfinite(pull)
        np.copyto(offset, offset + gain * pull, where=finite, casting="same_kind")
        own = step_s / np.clip(learned + step_s, max(step_s, 1e-9), _OFFSET_S)
        away = value - usual
        first = here & np.isfinite(value) & np.isnan(usual)
        finite = here & np.isfinite(away)
        _follow_spread(rows.spread, np.abs(away), own, finite)
        np.copyto(usual, usual + own * away, where=finite, casting="same_kind")
        np.copyto(usual, value, where=first, casting="same_kind")
        learned[here] += step_s
        compared[here & compared_now] += step_s
        rows.joined_s[each, here & compared_now] += step_s


def _follow_spread(spread: Singles, away: Floats, gain: Floats, finite: Bools) -> None:
    next_ = np.where(np.isnan(spread), away, spread + gain * (away - spread))
    np.copyto(spread, next_, where=finite, casting="same_kind")
