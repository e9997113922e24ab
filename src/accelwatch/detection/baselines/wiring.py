"""How devices are plugged in: risers give all cards of a node fewer lanes than other nodes give."""

import numpy as np

from accelwatch.detection.arrays import Floats, Indices
from accelwatch.detection.frame import Frame
from accelwatch.detection.signals.layout import Layout
from accelwatch.detection.tick import Residuals

# Devices of a model on a node that say how it is wired: two do not fail together.
_ALIKE = 2


def alike_of(frame: Frame) -> Indices:
    """intp[R]: a code of each device's node and model."""
    codes = frame.node_of * (int(frame.model.max(initial=0)) + 2) + frame.model + 1
    alike: Indices = np.unique(codes, return_inverse=True)[1]
    return alike


def attainable(best: Floats, most: Floats, alike: Indices) -> Floats:
    """float64[R]: what a link can have: as much as `most` of its peers, less where its node gives less.

    A node gives less where none of its devices of the model (`alike_of`), two at least, ever had as
    much: `best` is the greatest value of each, float64[R]. Then it gives what the best of them had.
    """
    finite = ~np.isnan(best)
    highest = np.full(best.size, -np.inf)
    np.maximum.at(highest, alike[finite], best[finite])
    readings = np.bincount(alike[finite], minlength=best.size)
    gives_less = (highest[alike] < most) & (readings[alike] >= _ALIKE)
    return np.where(gives_less, highest[alike], most)


def bound_by_slots(layout: Layout, residuals: Residuals, frame: Frame) -> None:
    """Bound `z` of devices' links, in place: none is farther away than from what its node gives."""
    alike = alike_of(frame)
    for best, position in zip(residuals.best, layout.by_slot.tolist(), strict=True):
        median, z = residuals.median[position], residuals.z[position]
        bound = attainable(best, median, alike)
        away = np.abs(bound - residuals.value[position]) / residuals.scale[position]
        np.copyto(z, np.clip(z, -away, away), where=bound < median)
