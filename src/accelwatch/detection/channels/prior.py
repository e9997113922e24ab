"""What already failed fails again: the score of past incidents of a device, its slot and its node.

37 % of repaired nodes fail again within 28 days (detection.md 0, row 7). It lowers the thresholds of
other channels and is never evidence itself (4.2, K): a count of exclusions alone says little (1.4).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from accelwatch.detection.arrays import Floats
from accelwatch.detection.baselines.state_arrays import Array, Moves, StateArrays
from accelwatch.detection.channels.components.building import of_rows
from accelwatch.detection.channels.components.memory import ChannelState
from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.fading import PERIOD_S, faded
from accelwatch.detection.tick import Tick

# What is left of the weight of an incident without further reports.
_FORGOTTEN = faded(PERIOD_S)
# The score at which fusion lowers thresholds by all of the 20 % (4.2, K).
_FULL = 8.0
# Below a tenth of an incident there is nothing to say.
_LEAST = 0.1


class ConfirmedIncident(NamedTuple):
    """An incident that was confirmed. Keys name whom it concerned: `serial:`, `slot:`, `node:`."""

    # Unix seconds.
    time: float
    keys: tuple[str, ...]
    # 1 for a confirmed fault of hardware; less for a node that was only in the job that failed.
    weight: float = 1.0


class Prior(ChannelState):
    """Channel K. Its past belongs to serial numbers and slots, not to rows: no generation voids it.

    Devices are `device:ID` and nodes `node:NAME`; `also` gives further keys of a device's id, such as
    its serial number and its slot.
    """

    def __init__(self) -> None:
        super().__init__()
        self.also: Mapping[str, tuple[str, ...]] = {}
        self._scores: dict[str, tuple[float, float]] = {}

    def evidence(self, tick: Tick) -> list[Evidence]:
        """Scores of 0 to 8 of rows with a history; 8 lowers thresholds by all of the 20 %."""
        if not self._scores:
            return []
        names, now = tick.frame.names, tick.frame.now
        devices = [(f"device:{name}", *self.also.get(name, ())) for name in names.devices]
        nodes = [(f"node:{name}",) for name in names.nodes]
        return [
            *_evidence(Subject.DEVICE, self._levels(devices, now), now),
            *_evidence(Subject.NODE, self._levels(nodes, now), now),
        ]

    def replace(self, incidents: Iterable[ConfirmedIncident]) -> None:
        """These are all there are."""
        self._scores = {}
        self.record(incidents)

    def record(self, incidents: Iterable[ConfirmedIncident]) -> None:
        """Add incidents, in any order."""
        for incident in incidents:
            for key in incident.keys:
                score, at = self._scores.get(key, (0.0, incident.time))
                latest = max(at, incident.time)
                total = score * faded(latest - at) + incident.weight * faded(latest - incident.time)
                self._scores[key] = (total, latest)

    def _levels(self, rows: Sequence[Sequence[str]], now: float) -> Floats:
        # The key with the most counts: a serial number and its slot have the same incidents.
        scores = np.array([max(self._score(key, now) for key in keys) for keys in rows])
        # One incident of now is most of it, the second adds less: bounded, whatever the count.
        return np.asarray(_FULL * (1.0 - np.exp(-scores)), dtype=np.float64)

    def _score(self, key: str, now: float) -> float:
        score, at = self._scores.get(key, (0.0, now))
        left = faded(now - at)
        return score * left if left > _FORGOTTEN else 0.0

    def state_arrays(self) -> StateArrays:
        """Scores by key."""
        keys = np.array(list(self._scores), dtype=np.str_)
        scores = np.array(list(self._scores.values()), dtype=np.float64).reshape(-1, 2).T
        return StateArrays({}, {}, {"keys": keys, "scores": scores})

    def restore(self, other: Mapping[str, Array], moves: Moves) -> None:
        """Scores of before, unless incidents were recorded since the start: those were all there are."""
        del moves
        keys, scores = other["keys"].tolist(), other["scores"].astype(np.float64).tolist()
        before = {key: (score, at) for key, score, at in zip(keys, *scores, strict=True)}
        self._scores = self._scores or before


def _evidence(subject: Subject, level: Floats, now: float) -> list[Evidence]:
    since = np.full(level.size, now)
    channel, weight = Channel.PRIOR, Weight.CONFIRMING
    present = level >= _LEAST
    return of_rows(channel, weight, subject, "other", present, since=since, now=now, score=level)
