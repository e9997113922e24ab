"""Own drift: a row leaves its own past slowly. Two-sided CUSUM of five-minute means of z.

Covers thermal paste, fans, links that decay over hours and days.
"""

import numpy as np

from accelwatch.detection.arrays import Floats
from accelwatch.detection.channels.components.building import (
    by_family,
    evaluated_devices,
    evaluated_nodes,
)
from accelwatch.detection.channels.components.memory import ChannelState, Memory
from accelwatch.detection.channels.components.table import Level, Table
from accelwatch.detection.channels.peer import compared
from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.signals.signal import Direction
from accelwatch.detection.tick import Residuals, Tick

# Means over so long: shorter noise averages out (detection.md 4.2, O).
MEAN_S = 300.0
# Allowed drift in standard deviations of a sample: half of the least shift of interest (1.5), as is
# usual for a CUSUM; 0.75 is the default of 4.2.
ALLOWED = 0.75
# Peer-conditioned residuals are correlated over tau = 13 min or so (4.4). Means of 5 min then have a
# long-run variance of about 4.5, and a false crossing comes every exp(2 * 0.75 * h / 4.5) means or so:
# 5e8 means for h = 60. 33,000 series of 63 nodes make 9.5e6 means a day: 0.02 crossings, the budget of
# a family (4.3). A shift of 2 sd takes 4 h, the clip of 12 takes half an hour.
THRESHOLD = 60.0
# The score at the threshold: what weighs alone when it lasts (4.3).
_FULL = 8.0
# From this share of the threshold on it may confirm another family: 5 of 8 as for z (4.3).
_ENTRY = 0.625
# No longer than the clip of z, so that it also ends.
_GREATEST = 1.5
# Means of fewer samples than this share of the window are dropped: missing samples are no evidence.
_FILLED = 0.5


def _memory(signals: int) -> Memory:
    names = ("sum", "count", "up", "down", "up_since", "down_since", "spoiled")
    return Memory(dict.fromkeys(names, (signals,)))


class Drift(ChannelState):
    """Channel O."""

    def __init__(self, table: Table) -> None:
        super().__init__(_memory(len(table.devices.rows)), _memory(len(table.nodes.rows)))
        self._table = table
        self._window = -1

    def evidence(self, tick: Tick) -> list[Evidence]:
        """Sums at five eighths of the threshold or more, for each family."""
        now = tick.frame.now
        window = int(now // MEAN_S)
        closes = self._window not in (-1, window)
        self._window = window
        results: list[Evidence] = []
        for memory, level, residuals, evaluated, subject in (
            (
                self.devices,
                self._table.devices,
                tick.devices,
                evaluated_devices(tick),
                Subject.DEVICE,
            ),
            (self.nodes, self._table.nodes, tick.nodes, evaluated_nodes(tick), Subject.NODE),
        ):
            if closes:
                _close(memory, tick)
            _add(memory, residuals, np.where(evaluated, residuals.z, np.nan))
            score, since = _crossings(memory, level)
            # Nothing is said of a row that cannot be judged now.
            score = np.where(evaluated & ~residuals.held, score, np.nan)
            families = level.families(compared)
            weight = Weight.STATISTICAL
            results += by_family(
                Channel.DRIFT, weight, subject, families, score=score, since=since, now=now
            )
        return results


def _add(memory: Memory, residuals: Residuals, z: Floats) -> None:
    """Add a sample to the mean that is being made."""
    finite = ~np.isnan(z)
    kept = memory.floats
    kept["sum"] = np.nan_to_num(kept["sum"]) + np.where(finite, z, 0.0)
    kept["count"] = np.nan_to_num(kept["count"]) + finite
    # A mean that lies across a change of phase is of neither phase.
    kept["spoiled"] = np.maximum(np.nan_to_num(kept["spoiled"]), residuals.held * 1.0)


def _close(memory: Memory, tick: Tick) -> None:
    """Put the mean of the window that ended into the sums, and begin the next one."""
    kept = memory.floats
    least = max(1.0, _FILLED * MEAN_S / tick.frame.interval_s)
    count = np.nan_to_num(kept["count"])
    usable = (count >= least) & (np.nan_to_num(kept["spoiled"]) == 0)
    mean = np.divide(kept["sum"], count, out=np.zeros_like(count), where=count > 0)
    for side, sign in (("up", 1.0), ("down", -1.0)):
        before = np.nan_to_num(kept[side])
        after = np.clip(before + sign * mean - ALLOWED, 0.0, _GREATEST * THRESHOLD)
        kept[side] = np.where(usable, after, before)
        # The onset: when the sum left 0 for the last time.
        started = np.where(before > 0, kept[f"{side}_since"], tick.frame.now - MEAN_S)
        kept[f"{side}_since"] = np.where(kept[side] > 0, started, np.nan)
    for name in ("sum", "count", "spoiled"):
        kept[name] = np.zeros_like(count)


def _crossings(memory: Memory, level: Level) -> tuple[Floats, Floats]:
    """Score and onset, float64[S, R]; NaN for sums that are still small."""
    kept = memory.floats
    signs = [row.direction for row in level.rows]
    high = np.array([sign is not Direction.LOW for sign in signs])[:, None]
    low = np.array([sign is not Direction.HIGH for sign in signs])[:, None]
    up = np.where(high, np.nan_to_num(kept["up"]), 0.0)
    down = np.where(low, np.nan_to_num(kept["down"]), 0.0)
    worst = np.maximum(up, down)
    score = np.where(worst >= _ENTRY * THRESHOLD, worst / THRESHOLD * _FULL, np.nan)
    since = np.where(up >= down, kept["up_since"], kept["down_since"])
    return score, np.where(np.isnan(score), np.nan, since)
