"""What a training does over a day: it rests, loads, trains, saves every few hours, and starts anew."""

import numpy as np

from support.detection.cluster import LOAD, REST, SAVE, TRAIN, Cluster, Work
from support.detection.simulated import INTERVAL_S


class Sessions:
    """Phases of a fleet, which each node enters some seconds before or after the others.

    Lengths are those of the design's generator: a save every two and a half hours for 3 to 9 minutes,
    a load of about 33 minutes, 6 to 25 minutes between sessions of some hours.
    """

    def __init__(self, fleet: Cluster, seed: int, *, jitter_s: float = 60.0) -> None:
        self._fleet, self._rng, self._jitter_s = fleet, np.random.default_rng(seed), jitter_s
        self._plan: list[tuple[float, Work]] = [(0.0, REST)]
        self._late = np.zeros((1, fleet.nodes))
        self._until = 360.0

    def __call__(self, tick: int) -> None:
        """Give each node what it does at a tick."""
        now = tick * INTERVAL_S
        while self._until <= now + 2 * self._jitter_s:
            self._session()
        starts = np.array([start for start, _ in self._plan])[:, np.newaxis] + self._late
        at = (starts <= now).sum(axis=0) - 1
        self._fleet.work = [self._plan[max(position, 0)][1] for position in at.tolist()]

    def _session(self) -> None:
        rng = self._rng
        self._add(LOAD, 60.0 * 33.0 * rng.lognormal(0.0, 0.3))
        for _ in range(int(rng.integers(1, 3))):
            self._add(TRAIN, 3600.0 * rng.uniform(1.0, 2.5))
            self._add(SAVE, 60.0 * rng.uniform(3.0, 9.0))
        self._add(TRAIN, 3600.0 * rng.uniform(0.2, 1.0))
        self._add(REST, 60.0 * rng.uniform(6.0, 25.0))

    def _add(self, work: Work, length_s: float) -> None:
        late = self._rng.uniform(-self._jitter_s, self._jitter_s, (1, self._fleet.nodes))
        self._plan.append((self._until, work))
        self._late = np.concatenate((self._late, late))
        self._until += length_s
