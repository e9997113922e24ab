"""Counters made rates: resets, lost samples, and counters that are refreshed slower than read."""

from typing import NamedTuple

import numpy as np

from accelwatch.detection.arrays import Bools, Floats
from accelwatch.detection.baselines.state import RowMemory
from accelwatch.detection.signals.layout import Layout

# A counter is refreshed a little early or late; it is due after this share of its usual period.
_DUE = 0.9
_LATE = 1.5
# Refreshed more slowly than this many intervals is not refreshed but quiet.
_SLOWEST = 6


class Rates(NamedTuple):
    """Of all S signals; R rows."""

    # float64[S, R]: gauges as read, counters a second.
    value: Floats
    # float64[S, R]: increase of counters since the sample before, only of a new one; NaN for others.
    increase: Floats


def rates(
    layout: Layout, rows: RowMemory, read: Floats, sampled: Floats, interval_s: float
) -> Rates:
    """The values of a tick; `read` is float64[S, R], `sampled` float64[R] in Unix seconds.

    Time is counted between samples, not ticks. What is lost between two samples is spread over the
    time between them. A counter that fell was reset: what it counted in between is unknown.
    """
    raw = read[layout.counters]
    finite = np.isfinite(raw) & np.isfinite(sampled)
    # False where there was no sample before: NaN compares so.
    newer = finite & (sampled > rows.read_at)
    first = finite & np.isnan(rows.read_at)
    with np.errstate(invalid="ignore"):
        difference = raw - rows.raw
    reset = newer & (difference < 0)
    grown = newer & (difference > 0)
    same = newer & (difference == 0)

    rate = rows.rate
    _grow(rows, grown, difference, sampled, interval_s)
    # Without a change a slow counter may just not be due; until then its rate holds.
    waits = same & (sampled - rows.changed_at < _DUE * rows.refresh_s)
    rate[same & ~waits] = 0.0
    rate[reset] = np.nan
    starts = first | reset
    rows.changed_at[starts] = np.broadcast_to(sampled, raw.shape)[starts]
    moved = newer | first
    np.copyto(rows.raw, raw, where=moved)
    np.copyto(rows.read_at, np.broadcast_to(sampled, raw.shape), where=moved)

    value = read.copy()
    value[layout.counters] = np.where(finite, rate, np.nan)
    increase = np.full(read.shape, np.nan)
    increase[layout.counters] = np.where(grown | same, difference, np.nan)
    return Rates(value, increase)


def _grow(
    rows: RowMemory, grown: Bools, difference: Floats, sampled: Floats, interval_s: float
) -> None:
    """Rate of counters that grew; learns how often each is refreshed."""
    since_read = sampled - rows.read_at
    since_change = sampled - rows.changed_at
    # Samples without a change lay between the last change and this.
    rested = rows.read_at > rows.changed_at
    pause = np.where(rested & (since_change <= _SLOWEST * interval_s), since_change, 0.0)
    # Twice in a row, since a pause alone is a pause of the work.
    refresh = np.minimum(pause, rows.pause_s)
    slow = (rows.refresh_s > 0) | (refresh > 0)
    usual = np.maximum(rows.refresh_s, refresh)
    complete = slow & (since_change <= _LATE * usual)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = difference / np.where(complete, since_change, since_read)
    np.copyto(rows.rate, rate, where=grown, casting="same_kind")
    np.copyto(rows.pause_s, pause, where=grown, casting="same_kind")
    np.copyto(rows.refresh_s, refresh, where=grown, casting="same_kind")
    np.copyto(rows.changed_at, np.broadcast_to(sampled, grown.shape), where=grown)
