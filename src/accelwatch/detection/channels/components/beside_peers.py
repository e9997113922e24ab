"""Errors of rows beside those of their peers: what most of a group have is their work."""

import numpy as np

from accelwatch.detection.arrays import Bools, Floats
from accelwatch.detection.baselines.grouping import MEMBERS
from accelwatch.detection.channels.components.persistence import ENTRY
from accelwatch.detection.tick import Groups

# Half of what has any weight: a group whose median is as far off does other work than was learned.
_OTHER_WORK = ENTRY / 2
# A median absolute deviation as a standard deviation of a normal distribution.
_BY_MEDIAN = 1.4826


def beside_peers(errors: Floats, groups: Groups) -> tuple[Floats, Bools]:
    """Errors without what the median of each group has, in units of its scatter where that is more
    than 1; NaN where the group does other work than was learned. And which have peers, bool[S, R]:
    where enough of a group are known.
    """
    result = errors.copy()
    has_peers = np.zeros(errors.shape, dtype=np.bool_)
    for code in np.flatnonzero(groups.comparable):
        members = np.flatnonzero(groups.code == code)
        of_group = errors[:, members]
        for at, finite in enumerate(~np.isnan(of_group)):
            if finite.sum() < MEMBERS:
                continue
            median = np.median(of_group[at, finite])
            has_peers[at, members] = True
            result[at, members] -= median if abs(median) < _OTHER_WORK else np.nan
            # Work that has changed a little breaks the relation of each by another amount.
            scatter = _BY_MEDIAN * np.median(np.abs(result[at, members][finite]))
            result[at, members] /= max(1.0, scatter)
    return result, has_peers
