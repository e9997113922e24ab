"""Who is compared with whom: devices of one job, stage and model; nodes of one job and set of models."""

from typing import NamedTuple

import numpy as np

from accelwatch.detection.arrays import Indices
from accelwatch.detection.baselines.state import GroupKey
from accelwatch.detection.frame import Frame
from accelwatch.detection.tick import Groups

# The job of a node that works for several.
SHARED = -2
# The same in the key of its group.
SHARED_STAGE = "shared"
# Of fewer, a median is that of two or three; on one node, all suffer from what the node has.
MEMBERS = 5
NODES = 2
# More models than bits of a set are one model.
_MODELS = 62


class Grouping(NamedTuple):
    """Groups, what they are called, and rows in order of them, so that each group is a slice."""

    groups: Groups
    keys: tuple[GroupKey, ...]
    # intp[rows]: the row at each position; intp[groups + 1]: where each group begins.
    order: Indices
    starts: Indices


def device_groups(frame: Frame, stage: Indices) -> Grouping:
    """Groups of devices; `stage` as `stages_of` gives it."""
    code, first = _distinct(frame.job, stage, frame.model)
    names = frame.names
    keys = tuple(
        (
            _text(names.jobs, int(frame.job[row])),
            _text(names.stages, int(stage[row])) or str(stage[row]),
            _text(names.models, int(frame.model[row])),
        )
        for row in first
    )
    job = frame.job[first]
    # Devices of one node share its cooling and power, so that they are peers only where there is no
    # other node, and only by a job: without one, nobody says that they do the same work. What befalls
    # all of them at once is then nobody's deviation.
    nodes = np.where(frame.single_node & (job >= 0), 1, NODES)
    return _grouping(code, keys, job, frame.node_of, nodes)


def node_groups(frame: Frame) -> Grouping:
    """Groups of nodes; nodes of several jobs at once have nobody to be compared with."""
    rows = len(frame.node_state)
    job = job_of_nodes(frame)
    models = np.zeros(rows, dtype=np.intp)
    bit = np.where(frame.model >= 0, 1 << np.clip(frame.model, 0, _MODELS), 0)
    np.bitwise_or.at(models, frame.node_of, bit)
    code, first = _distinct(job, models, np.zeros_like(job))
    names = frame.names
    keys = tuple(
        (
            _text(names.jobs, int(job[row])),
            SHARED_STAGE if job[row] == SHARED else "",
            _texts(names.models, int(models[row])),
        )
        for row in first
    )
    nodes = np.full(len(keys), NODES, dtype=np.intp)
    return _grouping(code, keys, job[first], np.arange(rows, dtype=np.intp), nodes)


def job_of_nodes(frame: Frame) -> Indices:
    """intp[M]: the job of each node, though some of its devices rest; -1 without, or `SHARED`."""
    rows = len(frame.node_state)
    greatest = np.full(rows, -1, dtype=np.intp)
    np.maximum.at(greatest, frame.node_of, frame.job)
    least = greatest.copy()
    works = frame.job >= 0
    np.minimum.at(least, frame.node_of[works], frame.job[works])
    return np.where(least != greatest, SHARED, greatest)


def _distinct(*columns: Indices) -> tuple[Indices, Indices]:
    """Code of each row's combination, and the first row of each code."""
    combined = np.zeros(len(columns[0]), dtype=np.intp)
    for column in columns:
        # Codes are made small before each step, so that a product of two does not overflow.
        _, small = np.unique(column, return_inverse=True)
        _, combined = np.unique(combined * (len(column) + 1) + small, return_inverse=True)
    _, first = np.unique(combined, return_index=True)
    return combined, first


def _grouping(
    code: Indices, keys: tuple[GroupKey, ...], job: Indices, node: Indices, least_nodes: Indices
) -> Grouping:
    """`least_nodes` is intp[groups]: on how many nodes a group has to be to be compared."""
    count = len(keys)
    size = np.bincount(code, minlength=count)
    # Each pair of group and node once.
    pairs = np.unique(code * (int(node.max(initial=0)) + 1) + node)
    nodes = np.bincount(pairs // (int(node.max(initial=0)) + 1), minlength=count)
    comparable = (size >= MEMBERS) & (nodes >= least_nodes) & (job != SHARED)
    groups = Groups(code, size, nodes, np.maximum(job, -1), comparable)
    order = np.argsort(code, kind="stable")
    starts = np.concatenate(([0], np.cumsum(size)))
    return Grouping(groups, keys, order, starts)


def _text(texts: tuple[str, ...], code: int) -> str:
    return texts[code] if 0 <= code < len(texts) else ""


def _texts(texts: tuple[str, ...], bits: int) -> str:
    return "+".join(text for position, text in enumerate(texts[:_MODELS]) if bits >> position & 1)
