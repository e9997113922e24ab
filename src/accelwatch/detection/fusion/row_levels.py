"""The level of each row from tick to tick: it rises at once and ends only after it has been calm."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from accelwatch.detection.arrays import Bools, Codes, Floats, Indices

NONE, WATCHED, ALERTED = 0, 1, 2
# A level ends when the score has been below half of the threshold that raised it for so long.
CALM_S = 300.0
# An alarm of one family that ends within this, and that nothing else has confirmed, was a false one.
FALSE_WITHIN_S = 1800.0


class RowLevels(NamedTuple):
    """R rows of one subject."""

    # int16[R]: `NONE`, `WATCHED`, `ALERTED`.
    level: Codes
    # float64[R]: the score below which it may end.
    clear_below: Floats
    # float64[R]: Unix seconds since when it has been calm; NaN while it is not.
    calm_since: Floats
    # intp[R]: the family that raised the alarm all by itself; -1 where there was more.
    alone: Indices
    # float64[R]: Unix seconds at which the alarm was raised; NaN without one.
    alerted_at: Floats
    # intp[R]: whose past this is.
    generation: Indices


class Rise(NamedTuple):
    """The level that the evidence of this tick calls for, by row."""

    level: Codes
    clear_below: Floats
    # The greatest score of any family.
    score: Floats
    decisive: Bools
    # Of the only family that is enough; -1 where several agree, something is decisive, or none is.
    alone: Indices
    # Whether more than one family agrees, or something is decisive.
    confirmed: Bools


def empty(size: int) -> RowLevels:
    """Rows of which nothing is known."""
    return RowLevels(
        np.zeros(size, dtype=np.int16),
        np.zeros(size),
        np.full(size, np.nan),
        np.full(size, -1, dtype=np.intp),
        np.full(size, np.nan),
        np.zeros(size, dtype=np.intp),
    )


def resized(before: RowLevels, generation: Indices) -> RowLevels:
    """For as many rows as there are now; rows that were given to others start over."""
    size = len(generation)
    kept = min(size, len(before.level))
    same = np.zeros(size, dtype=np.bool_)
    same[:kept] = before.generation[:kept] == generation[:kept]
    rows = np.flatnonzero(same)
    after = empty(size)
    copy(before, rows, after, rows)
    return after._replace(generation=generation.copy())


def copy(source: RowLevels, rows: Indices, target: RowLevels, positions: Indices) -> None:
    """Write rows of one at positions of another."""
    written = columns(target)
    for name, column in columns(source).items():
        written[name][positions] = column[rows]


def columns(levels: RowLevels) -> dict[str, npt.NDArray[Any]]:
    """The arrays by name."""
    return levels._asdict()


def forgotten(before: RowLevels, rows: Bools) -> RowLevels:
    """Without the levels of some rows."""
    if not rows.any():
        return before
    kept = np.flatnonzero(~rows)
    after = empty(len(rows))
    copy(before, kept, after, kept)
    return after._replace(generation=before.generation)


def risen(before: RowLevels, rise: Rise, paused: Bools, now: float) -> tuple[RowLevels, Indices]:
    """The levels after a tick; intp[R]: the family of an alarm that has just proved false, -1 for none.

    Nothing ends where rows are `paused`: silence and a change of phase say nothing of their health.
    """
    higher = rise.level > before.level
    level = np.maximum(before.level, rise.level)
    clear_below = np.where(higher, rise.clear_below, before.clear_below)
    alerts = higher & (level == ALERTED)
    alerted_at = np.where(alerts, now, before.alerted_at)
    alone = np.where(alerts, rise.alone, before.alone)
    alone = np.where(rise.confirmed, -1, alone)

    calm = (level > NONE) & ~rise.decisive & ~paused & (rise.score < clear_below)
    calm_since = np.where(
        calm, np.where(np.isnan(before.calm_since), now, before.calm_since), np.nan
    )
    ends = calm & (now - calm_since >= CALM_S)
    # Its calm at the end belongs to no alarm.
    false = ends & (alone >= 0) & (calm_since - alerted_at < FALSE_WITHIN_S)
    after = RowLevels(
        np.where(ends, NONE, level).astype(np.int16),
        np.where(ends, 0.0, clear_below),
        np.where(ends, np.nan, calm_since),
        np.where(ends, -1, alone),
        np.where(ends, np.nan, alerted_at),
        before.generation,
    )
    return after, np.where(false, alone, -1)
