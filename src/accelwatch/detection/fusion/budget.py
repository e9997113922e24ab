"""How far thresholds are raised so that a family's false alarms stay within their budget.

After every false alarm a family's thresholds rise by a step; they fall back so slowly that the two are
in balance at just the budgeted number of false alarms a day.
"""

from typing import NamedTuple

import numpy as np

from accelwatch.detection.arrays import Floats, Indices
from accelwatch.detection.fusion.families import FAMILIES

# False alarms of a family that a fleet may have in a day, whatever its size: 13 families make 0.26.
FALSE_ALARMS_PER_DAY = 0.02
# Share by which a false alarm raises thresholds. Three of them take a threshold of 8 standard deviations
# to 9.3: in benchmarks of residuals that is ten times fewer alarms.
STEP = 0.05
# No threshold is raised further: scores are clipped at 12, and 8 x 1.4 = 11.2 can still be reached.
MOST = 1.4
_DAY_S = 86400.0


class Budget(NamedTuple):
    """What the controller keeps."""

    # float64[families]: the factor of thresholds, 1 to `MOST`.
    factor: Floats
    # Unix seconds of its last change.
    at: float


def fresh(now: float) -> Budget:
    """Nothing is raised."""
    return Budget(np.ones(len(FAMILIES)), now)


def adjusted(budget: Budget, now: float, false_alarms: Indices) -> Budget:
    """The factors after the time since, in which there were so many false alarms of each family.

    A factor is never below 1: a controller that lowered thresholds would look for alarms until it has
    found as many as it may.
    """
    days = max(0.0, now - budget.at) / _DAY_S
    factor = budget.factor + STEP * (false_alarms - FALSE_ALARMS_PER_DAY * days)
    return Budget(np.clip(factor, 1.0, MOST), max(now, budget.at))
