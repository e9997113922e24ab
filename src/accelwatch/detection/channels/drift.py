"""Own drift: a row leaves its own past slowly. Two-sided CUSUM of five-minute means of z.

Covers thermal paste, fans, links that decay over hours and days.
"""

from collections.abc import Mapping

import numpy as np

from accelwatch.detection.arrays import Bools, Floats, or_zero
from accelwatch.detection.baselines.state_arrays import Array, Moves, StateArrays
from accelwatch.detection.channels.components.building import (
    Scored,
    evaluated_devices,
    evaluated_nodes,
    of_both,
)
from accelwatch.detection.channels.components.memory import ChannelState, Memory
from accelwatch.detection.channels.components.table import Level, Table
from accelwatch.detection.channels.peer import compared
from accelwatch.detection.evidence import Channel, Evidence
from accelwatch.detection.tick import Residuals, Tick

# Means over so long: shorter noise averages out (detection.md 4.2, O).
MEAN_S = 300.0
# Allowed drift in standard deviations of a sample: half of the least shift of interest (1.5), as is
# usual for a CUSUM; 0.75 is the default of 4.2.
ALLOWED = 0.75
# Peer-conditioned residuals are correlated over tau = 13 to 60 min (detection.md 5.2: 0.46-0.85 at ten
# minutes). Of 2,000 simulated AR(1) series of tau = 54 min over 30 days, 0.00085 a day crossed 100, and
# e-fold fewer for each 13.5 more: 6e-7 for 200, which is 0.02 a day (4.3) for the 33,000 series of 63
# nodes. Of tau = 30 min, 0.00002 a day crossed 100. A shift of 4 sd needs 5 h; the clip of 12, 1.5 h.
THRESHOLD = 200.0
# The score at the threshold: what weighs alone when it lasts (4.3).
_FULL = 8.0
# From this share of the threshold on it may confirm another family: 5 of 8 as for z (4.3).
_ENTRY = 0.625
# The greatest score is the clip of z.
_GREATEST = 1.5
# Means of fewer samples than this share of the window are dropped: missing samples are no evidence.
_FILLED = 0.5
_SIDES = ("up", "down")
# Of 16 bits; 113 days.
_MOST_MEANS = 32767


def _memory(signals: int) -> Memory:
    # What is being averaged, and the mean before; sums of both sides, and for how many means they have
    # been above 0. Times are counted in means: there are two a series, and this is a quarter of Unix
    # seconds.
    return Memory(
        {**dict.fromkeys(("sum", "mean", "up", "down"), (signals,)), "spoiled": ()},
        dict.fromkeys(("count", "up_means", "down_means"), (signals,)),
    )


class Drift(ChannelState):
    """Channel O."""

    def __init__(self, table: Table) -> None:
        super().__init__(_memory(len(table.devices.rows)), _memory(len(table.nodes.rows)))
        self._table = table
        self._device_families = table.devices.families(compared)
        self._node_families = table.nodes.families(compared)
        # Number of the mean that is being made; -1 before the first tick.
        self._window = -1

    def evidence(self, tick: Tick) -> list[Evidence]:
        """Sums at five eighths of the threshold or more, for each family."""
        now = tick.frame.now
        window = int(now // MEAN_S)
        if self._window not in (-1, window):
            least = max(1.0, _FILLED * MEAN_S / tick.frame.interval_s)
            _close(self.devices, least)
            _close(self.nodes, least)
        self._window = window
        device_score, device_since = _scores(
            self.devices, self._table.devices, tick.devices, evaluated_devices(tick), now
        )
        node_score, node_since = _scores(
            self.nodes, self._table.nodes, tick.nodes, evaluated_nodes(tick), now
        )
        return of_both(
            Channel.DRIFT,
            Scored(self._device_families, device_score, device_since),
            Scored(self._node_families, node_score, node_since),
            now,
        )

    def state_arrays(self) -> StateArrays:
        """Rows, and the mean that is being made."""
        return super().state_arrays()._replace(other={"window": np.array([self._window])})

    def restore(self, other: Mapping[str, Array], moves: Moves) -> None:
        """The mean goes on, or ends with the next tick."""
        del moves
        if self._window < 0:
            self._window = int(other["window"].astype(np.intp)[0])


def _scores(
    memory: Memory, level: Level, residuals: Residuals, evaluated: Bools, now: float
) -> tuple[Floats, Floats]:
    """Add a sample to the mean that is being made; score and onset of rows that are evaluated now."""
    z = np.where(evaluated, residuals.z, np.nan)
    finite = ~np.isnan(z)
    floats, codes = memory.floats, memory.codes
    floats["sum"] = or_zero(floats["sum"]) + np.where(finite, z, 0.0)
    codes["count"] = np.maximum(codes["count"], 0) + finite
    # A mean that lies across a change of phase is of neither phase.
    floats["spoiled"] = np.maximum(or_zero(floats["spoiled"]), residuals.on_hold * 1.0)
    score, since = _crossings(memory, level, now)
    # A sum that was made beside peers says nothing of a row that has none now: nobody knows whether it
    # still differs.
    return np.where(finite & ~residuals.on_hold, score, np.nan), since


def _close(memory: Memory, least: float) -> None:
    """Put the mean that ended into the sums if it has `least` samples, and start the next."""
    floats, codes = memory.floats, memory.codes
    count = np.maximum(codes["count"], 0)
    usable = (count >= least) & ~(floats["spoiled"] > 0)
    mean = np.divide(floats["sum"], count, out=np.zeros(count.shape), where=usable)
    floats["mean"] = np.where(usable, mean, floats["mean"])
    for side, sign in (("up", 1.0), ("down", -1.0)):
        before = or_zero(floats[side])
        after = np.clip(before + sign * mean - ALLOWED, 0.0, _GREATEST * THRESHOLD)
        # A row that is on the other side again has not drifted: it ends in minutes, not in days.
        after = np.where(sign * mean > 0, after, before / 2)
        after[after < ALLOWED] = 0.0
        floats[side] = np.where(usable, after, before)
        # The onset: when the sum left 0 for the last time.
        means = np.maximum(codes[f"{side}_means"], 0) + 1
        means = np.where(floats[side] > 0, np.minimum(means, _MOST_MEANS), 0)
        codes[f"{side}_means"] = means.astype(np.int16)
    floats["sum"] = np.zeros(count.shape)
    floats["spoiled"] = np.zeros(floats["spoiled"].shape)
    codes["count"] = np.zeros_like(codes["count"])


def _crossings(memory: Memory, level: Level, now: float) -> tuple[Floats, Floats]:
    """Score and onset, float64[S, R]; NaN for sums that are still small."""
    entry = _ENTRY * THRESHOLD
    if not max(
        np.fmax.reduce(memory.floats[side], axis=None, initial=0) >= entry for side in _SIDES
    ):
        # As nearly always.
        nothing = np.full(memory.floats["up"].shape, np.nan)
        return nothing, nothing
    high, low = level.sides
    # Who is back at what it had is not accused now, however large the sum still is.
    mean = memory.floats["mean"]
    up = np.where(high & (mean > ALLOWED), memory.floats["up"], 0.0)
    down = np.where(low & (mean < -ALLOWED), memory.floats["down"], 0.0)
    worst = np.fmax(up, down)
    score = np.where(worst >= entry, worst / THRESHOLD * _FULL, np.nan)
    means = np.where(up >= down, memory.codes["up_means"], memory.codes["down_means"])
    # Up to the end of the last mean, which is not now.
    return score, now - now % MEAN_S - means * MEAN_S
