"""Nodes that do another part of their job's work: how they differ is what they are compared with.

A fault has an onset. A node that differs from its first minutes beside its peers on, in what follows
from work, and with most of its devices alike, has been given other work: another stage that shows no
gap, the node that reads the data, a job whose ranks differ.
"""

import numpy as np

from accelwatch.detection.arrays import Bools, Codes, Floats
from accelwatch.detection.baselines.medians import Observed
from accelwatch.detection.baselines.state import COARSE_PHASES, LevelState

# The first minutes beside peers, after the hold of a change of phase: as long as that.
_FIRST_S = 300.0
# As far as what has any weight (detection.md 4.3), for most of a node's devices, two at least.
_FAR, _MOST, _LEAST = 5.0, 0.5, 2


def excuse_other_work(
    level: LevelState, tick: Observed, left: Floats, scale: Floats, *, phase: Codes, learns: Bools
) -> None:
    """Make the mean of the first minutes the offset of rows that do other work, in place.

    `left` and `scale` are float64[S, R]; `learns` is bool[R].
    """
    rows, work = level.rows, level.layout.work
    groups = tick.grouping.groups
    joined = rows.joined_s[phase, np.arange(len(phase))]
    new = learns & (joined < _FIRST_S) & groups.comparable[groups.code]
    if not new.any() or not work.any():
        return
    away = np.where(new, left[work] / scale[work], np.nan)
    # Most in the same direction.
    far = np.concatenate((away >= _FAR, away <= -_FAR))
    if not far.any():
        return
    other = _of_most(tick, far).any(axis=0) & new
    gain = tick.step_s / (joined + tick.step_s) if tick.step_s > 0 else np.zeros(len(phase))
    changes = work[:, np.newaxis] & other & np.isfinite(left)
    for each in range(COARSE_PHASES):
        offset = rows.offset[each]
        here = changes & (phase == each)
        np.copyto(offset, offset + gain * left, where=here, casting="same_kind")


def _of_most(tick: Observed, far: Bools) -> Bools:
    """bool[S, R]: rows of nodes most of whose members of the same group are far."""
    code = tick.grouping.groups.code
    _, member_of = np.unique(
        code * (int(tick.node_of.max(initial=0)) + 1) + tick.node_of, return_inverse=True
    )
    members = np.bincount(member_of)
    hit = np.array([np.bincount(member_of, each, minlength=len(members)) for each in far])
    most = (hit > _MOST * members) & (hit >= _LEAST)
    return np.asarray(most[:, member_of])
