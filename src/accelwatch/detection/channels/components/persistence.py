"""The level that a signal has kept: in 8 of the last 10 ticks, without any assumption of noise."""

import numpy as np

from accelwatch.detection.arrays import Codes, Floats
from accelwatch.detection.channels.components.memory import Memory

# A deviation below this is of no weight in any combination (detection.md 4.3: two families at 5).
ENTRY = 5.0
# Window of ticks and the share of it in which the level must be kept (4.2, P: 8 of 10).
WINDOW = 10
_MISSES = 0.2
# A run that has missed so many ticks in a row cannot have 8 of 10, and is over.
_GAP = 3
# A level of fewer ticks is a transient: 4 ticks of 30 s are the 2 min of 4.3.
_LEAST = 4
# Levels are kept in tenths of a standard deviation in two bytes: z is clipped to 12 anyway.
_UNIT = 10.0
_UNKNOWN = -1


def memory(signals: int) -> Memory:
    """What `kept_level` needs for so many signals."""
    return Memory({"since": (signals,)}, {"recent": (WINDOW, signals)})


def kept_level(kept: Memory, badness: Floats, now: float) -> tuple[Floats, Floats]:
    """Add a tick; give the level kept in 80 % of the ticks of the run, and when the run began.

    `badness` is float64[S, R], NaN where unknown, which counts neither for nor against. Both results
    are float64[S, R], NaN where no run of four ticks or more lasts, this tick is unknown or the level
    is gone at this tick.
    """
    recent: Codes = kept.codes["recent"]
    recent[:-1] = recent[1:]
    unknown = np.isnan(badness)
    recent[-1] = np.where(unknown, _UNKNOWN, np.clip(np.nan_to_num(badness), 0, 3000) * _UNIT)
    entry = int(ENTRY * _UNIT)
    hit = (recent[-_GAP:] >= entry).any(axis=0)
    starts = hit & np.isnan(kept.floats["since"])
    since = np.where(hit, np.where(starts, now, kept.floats["since"]), np.nan)
    kept.floats["since"] = since
    # What came before the run is no part of it.
    recent[:-1, starts] = _UNKNOWN
    score = np.full(badness.shape, np.nan)
    # A run outlives two ticks that miss, but who is well now is not accused now: what has just ended
    # with its job would be explained by values that differ from nobody's.
    positions, rows = np.nonzero(hit & (badness >= ENTRY / 2))
    if positions.size:
        run = recent[:, positions, rows]
        finite = (run != _UNKNOWN).sum(axis=0)
        # Ascending, the unknown last: the level that all but a fifth of the ticks have reached.
        ordered = np.sort(np.where(run == _UNKNOWN, np.iinfo(np.int16).max, run), axis=0)
        level = ordered[(finite * _MISSES).astype(np.intp), np.arange(positions.size)] / _UNIT
        lasting = (finite >= _LEAST) & (level >= ENTRY)
        score[positions[lasting], rows[lasting]] = level[lasting]
    return score, np.where(np.isnan(score), np.nan, since)
