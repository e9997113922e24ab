"""Rates of errors: what a counter had, what it has, and the e-value that it has become faster.

The statistic is a Bayes factor of two gamma priors on the rate: the known one (own and fleet's past)
against the same one some times faster. It is an e-value: under the known rate its mean is 1, so it
exceeds 1/alpha with probability alpha at most, however often one looks within its window.
"""

import numpy as np

from accelwatch.detection.arrays import Floats

# Errors within an hour are one episode: 94 % of gaps between single-bit errors are shorter (4.2, C).
EPISODE_S = 3600.0
# The e-value restarts each day: its rate is that of a day, and the alarm's budget too (4.2, C).
DAY_S = 86400.0
# Errors each day are usual when people had a weekend and a day to see to them.
_USUAL_AFTER_S = 3 * DAY_S
# Errors of lines are independent of one another, those of a cell are not (it is read again and again):
# of lines, the errors of ten minutes count; the precursors of 5.3 last from two minutes on. Those of an
# hour tell of a line that has fewer, and had hardly any.
BURST_S = 600.0
_WINDOWS = {"burst": BURST_S, "hour": 3600.0}
# A burst ends with a pause of so many of the pauses before, of which one in 20,000 is as long by chance.
_PAUSES, _LONGEST_S = 10.0, 1800.0
# Of the pauses of late, the last five or so.
_FOLLOWS = 0.2
# How much faster a failing row has errors: lines x10-100 (5.3), remaps some a day instead of none.
_TIMES_EPISODES = 100.0
_TIMES_BURST = 10.0
# Shape of the fleet's prior: few cards carry most errors, so it is broad (4.2; 2. "bursty, few cards").
_FLEET_SHAPE = 0.5
# Of a line's rate, at most so much is thought known: healthy rates wander by 1/sqrt(2) = 70 %.
_BURST_SHAPE = 2.0
# A line is judged after an hour: healthy lines of a fleet differ by orders of magnitude, and six windows
# of ten minutes estimate its own rate as well as the shape above assumes.
_BURST_LEARNED_S = 3600.0
# What a fleet is thought to have before it has been watched: an episode a row in four weeks.
_FIRST_EXPOSURE_S = 28 * DAY_S
# A line's own rate: an error a row in 10 h, before anything is known.
_FIRST_BURST_S = 36000.0
# The own past fades within a month, the time in which 37 % fail again (row 7).
_OWN_MEMORY_S = 30 * DAY_S

NAMES = (
    "last",
    "day",
    "begun",
    "episodes",
    "own_episodes",
    "own_s",
    "own_errors",
    "pause_s",
    *(f"{window}{suffix}" for window in _WINDOWS for suffix in ("", "_s", "_before")),
)


def log_e(shape: Floats, rate_s: Floats, events: Floats, seconds: Floats, times: float) -> Floats:
    """Natural logarithm of the e-value of so many events in so many seconds.

    The known rate is gamma of this shape over `rate_s` seconds; the other is `times` as fast.
    """
    # The likelihoods of Poisson counts under both gammas; factorials cancel.
    ratio = np.log((rate_s + seconds) / (rate_s / times + seconds))
    value: Floats = (shape + events) * ratio - shape * np.log(times)
    return value


def start_windows(kept: dict[str, Floats], starts: float) -> None:
    """Rows that were not there before begin their day and their ten minutes now."""
    dates = {"day", *(f"{window}_s" for window in _WINDOWS)}
    for name in dates:
        kept[name] = np.where(np.isnan(kept[name]), starts, kept[name])
    for name in kept.keys() - dates - {"last", "begun", "pause_s"}:
        kept[name][np.isnan(kept[name])] = 0.0


def add_errors(kept: dict[str, Floats], errors: Floats, now: float) -> None:
    """Count the errors of a tick in the windows of lines; `last` is still that of those before."""
    pause_s, before = now - kept["last"], kept["pause_s"]
    mean = np.where(np.isnan(before), pause_s, before + _FOLLOWS * (pause_s - before))
    kept["pause_s"] = np.where((errors > 0) & ~np.isnan(pause_s), mean, before)
    for window in _WINDOWS:
        kept[window] += errors


def end_windows(kept: dict[str, Floats], starts: float) -> None:
    """What ended becomes own past: of days, but also of single windows of lines.

    A day in which a row speaks goes on until a day without an episode, and then is no part of the
    healthy past: what has errors each day would end and begin with each. After a weekend it is what
    the row always has.
    """
    speaks = ~np.isnan(kept["begun"])
    calm = ~(starts - kept["last"] < DAY_S)
    lasts_s = starts - kept["day"]
    day_over = (lasts_s >= DAY_S) & (~speaks | calm | (lasts_s >= _USUAL_AFTER_S))
    flagged = day_over & speaks & calm
    kept["own_s"] = np.where(flagged, np.maximum(kept["own_s"] - lasts_s, 0.0), kept["own_s"])
    kept["episodes"] = np.where(flagged, 0.0, kept["episodes"])
    fading = np.where(day_over, np.exp(-DAY_S / _OWN_MEMORY_S), 1.0)
    kept["own_episodes"] = (kept["own_episodes"] + day_over * kept["episodes"]) * fading
    kept["own_s"] *= fading
    kept["own_errors"] *= fading
    kept["episodes"] = np.where(day_over, 0.0, kept["episodes"])
    kept["day"] = np.where(day_over, starts, kept["day"])
    # A window that speaks is no part of the healthy past (frozen while flagged).
    healthy = (starts - kept["burst_s"] >= BURST_S) & np.isnan(kept["begun"])
    kept["own_errors"] += np.where(healthy, kept["burst"], 0.0)
    for window, length_s in _WINDOWS.items():
        over = starts - kept[f"{window}_s"] >= length_s
        if not over.any():
            continue
        of_it = _of_window(kept, window, starts)
        kept[f"{window}_before"] = np.where(over, of_it, kept[f"{window}_before"])
        kept[window] = np.where(over, 0.0, kept[window])
        kept[f"{window}_s"] = np.where(over, starts, kept[f"{window}_s"])


def of_episodes(kept: dict[str, Floats], now: float) -> Floats:
    """Logarithm of the e-value of the day's episodes, float64[S, R]."""
    # The fleet's mean rate a counter, of all others and of today too: an error that all devices have
    # on the first day is news of none. Then what the row itself had before today.
    observed_s = np.maximum(kept["own_s"] - (now - kept["day"]), 0.0)
    fleet = (_of_others(kept["own_episodes"] + kept["episodes"]) + 1.0) / (
        _of_others(kept["own_s"]) + _FIRST_EXPOSURE_S
    )
    shape = _FLEET_SHAPE + kept["own_episodes"]
    rate_s = _FLEET_SHAPE / fleet + observed_s
    return log_e(shape, rate_s, kept["episodes"], now - kept["day"], _TIMES_EPISODES)


def _of_others(amount: Floats) -> Floats:
    """float64[S, R]: the sum over all rows but each itself."""
    others: Floats = amount.sum(axis=1, keepdims=True) - amount
    return others


def of_windows(kept: dict[str, Floats], now: float) -> Floats:
    """Logarithm of the e-value of a line's ten minutes, of its hour, or of those before: a burst does
    not end with a window but with a pause.
    """
    values = [
        np.maximum(_of_window(kept, window, now), kept[f"{window}_before"]) for window in _WINDOWS
    ]
    is_over = now - kept["last"] >= np.fmin(_PAUSES * kept["pause_s"], _LONGEST_S)
    return np.where(is_over, 0.0, np.maximum.reduce(values))


def _of_window(kept: dict[str, Floats], window: str, now: float) -> Floats:
    fleet = (kept["own_errors"].sum(axis=1) + 1.0) / (kept["own_s"].sum(axis=1) + _FIRST_BURST_S)
    own = (_FLEET_SHAPE + kept["own_errors"]) / (_FLEET_SHAPE / fleet[:, None] + kept["own_s"])
    shape = np.full_like(own, _BURST_SHAPE)
    seconds = now - kept[f"{window}_s"]
    value = log_e(shape, shape / own, kept[window], seconds, _TIMES_BURST)
    return np.where(kept["own_s"] >= _BURST_LEARNED_S, value, 0.0)
