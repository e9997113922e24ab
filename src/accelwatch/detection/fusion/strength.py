"""What all channels together say of rows: the strongest in each family, and what it is enough for."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from accelwatch.detection.arrays import Bools, Floats, Indices
from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.frame import Frame
from accelwatch.detection.fusion.families import FAMILIES, Family, position_of

# Two families that agree: in 55 simulated days of 63 nodes, 2 of 12 families above 4 for two minutes
# gave 0.02 false alarms a day.
AGREE = 5.0
AGREE_S = 120.0
# One family alone: above 8 for four minutes gave 0.08 a day, for ten minutes 0.02.
ALONE = 8.0
ALONE_S = 240.0
_ALONE_MILD_S = 600.0
# Devices of a node that suffer alike: three, and half of them.
LEAST_DEVICES, MOST_DEVICES = 3, 0.5
WATCH = 6.0
WATCH_S = 120.0
CONFIRMING_S = 600.0
# What is further away says no more: residuals are clipped there, and one channel must not outshout all.
MOST_SCORE = 12.0
# No past is so bad that it lowers a threshold by more than a fifth.
_LEAST_PRIOR = 0.8

_OF_WORK = np.array([family.of_work for family in FAMILIES])
_OF_NODE = [family.of_node for family in FAMILIES]


class Strength(NamedTuple):
    """F families, R rows of one subject."""

    # float64[F, R]: the greatest score; 0 where nothing is said.
    score: Floats
    # float64[F, R]: Unix seconds at which the earliest evidence began; infinity where there is none.
    since: Floats
    # bool[F, R]: strong and long enough to agree with another family.
    agrees: Bools
    # bool[F, R]: agrees, and for as long as one family alone needs.
    lasts: Bools
    # bool[F, R]: agrees with one that does, and is never the only one.
    confirms: Bools
    # bool[F, R]: strong and long enough to wake somebody alone; to be watched alone.
    alone: Bools
    watched: Bools
    decisive: Bools
    # float64[F, R]: factor of thresholds by budget and prior.
    factor: Floats


def pending_s(family: Family) -> float:
    """Seconds that a family has to be above `ALONE` before it wakes somebody without any other."""
    return _ALONE_MILD_S if family.is_mild else ALONE_S


def factors(raised: Floats, prior: Floats) -> Floats:
    """Factors of thresholds, float64[F, R], by budget (float64[F]) and past (float64[R])."""
    return raised[:, np.newaxis] * np.clip(prior, _LEAST_PRIOR, 1.0)[np.newaxis, :]


def strength(
    frame: Frame, evidence: Sequence[Evidence], subject: Subject, factor: Floats
) -> Strength:
    """The evidence on the rows of a subject; `factor` as `factors` gives it."""
    shape = factor.shape
    agrees, lasts, confirms, alone, watched, decisive = (
        np.zeros(shape, dtype=np.bool_) for _ in range(6)
    )
    score, since = np.zeros(shape), np.full(shape, np.inf)
    result = Strength(score, since, agrees, lasts, confirms, alone, watched, decisive, factor)
    for item in evidence:
        position = position_of(item.family)
        if item.channel is Channel.PRIOR:
            continue
        lifted = is_lifted(item)
        if (Subject.NODE if lifted else item.subject) is subject:
            _add(result, item, position, frame.node_of[item.rows] if lifted else item.rows)
    return result


def causes(families: Bools) -> Indices:
    """How many different things families, bool[F, R], say of rows, intp[R]: those of work are one."""
    of_work: Bools = np.logical_or.reduce(families[_OF_WORK], axis=0)
    return np.asarray(families[~_OF_WORK].sum(axis=0) + of_work)


def with_most_devices(nodes: Strength, devices: Strength, node_of: Indices) -> Strength:
    """Of nodes, with what most of each one's devices have in common.

    Noise befalls one device, a fan or a port all of its node: that three devices and half of all agree
    in a family is as much as two families of one. Not of work: a node may do another part of it.
    """
    count = nodes.score.shape[1]
    of_node = np.bincount(node_of, minlength=count)
    alone, score, since = nodes.alone.copy(), nodes.score.copy(), nodes.since.copy()
    for position in np.flatnonzero(devices.lasts.any(axis=1) & ~_OF_WORK):
        rows = np.flatnonzero(devices.lasts[position])
        hit = np.bincount(node_of[rows], minlength=count)
        most = (hit >= LEAST_DEVICES) & (hit >= MOST_DEVICES * of_node)
        rows = rows[most[node_of[rows]]]
        alone[position] |= most
        np.maximum.at(score[position], node_of[rows], devices.score[position, rows])
        np.minimum.at(since[position], node_of[rows], devices.since[position, rows])
    return nodes._replace(alone=alone, score=score, since=since)


def is_lifted(item: Evidence) -> bool:
    """Whether what a device says is about its node.

    A device that cannot be read is decisive, and is to blame itself.
    """
    of_node = _OF_NODE[position_of(item.family)]
    return of_node and item.subject is Subject.DEVICE and item.weight is not Weight.DECISIVE


def _add(to: Strength, item: Evidence, position: int, rows: Indices) -> None:
    """Each piece is judged by its own score and time.

    The greatest score of a family may be younger than a lesser one that has lasted long enough.
    Several devices may be lifted to one node, so nothing here may rely on a row being there once.
    """
    scores = np.minimum(item.score, MOST_SCORE)
    np.maximum.at(to.score[position], rows, scores)
    np.minimum.at(to.since[position], rows, item.since)
    score, lasted = scores / to.factor[position, rows], item.sustained_s
    if item.weight is Weight.DECISIVE:
        to.decisive[position, rows] = True
        to.agrees[position, rows] = True
        return
    if item.weight is Weight.CONFIRMING:
        # What many wait for confirms nothing of one of them, and is worth a look sooner if it is strong.
        is_shared = item.advice == "wait"
        if not is_shared:
            # Its channel has waited for two samples already.
            to.confirms[position, rows[score >= AGREE]] = True
        soon = is_shared & (score >= ALONE) & (lasted >= WATCH_S)
        to.watched[position, rows[soon | (lasted >= CONFIRMING_S)]] = True
        return
    to.agrees[position, rows[(score >= AGREE) & (lasted >= AGREE_S)]] = True
    to.lasts[position, rows[(score >= AGREE) & (lasted >= ALONE_S)]] = True
    to.alone[position, rows[(score >= ALONE) & (lasted >= pending_s(FAMILIES[position]))]] = True
    to.watched[position, rows[(score >= WATCH) & (lasted >= WATCH_S)]] = True
