"""Nodes whose exporter sends the same page again: what it says is of the past, and unknown now."""

from typing import NamedTuple

import numpy as np

from accelwatch.detection.arrays import Bools, Floats, Indices, or_zero
from accelwatch.detection.frame import Frame
from accelwatch.detection.signals.layout import DEVICE_LAYOUT, NODE_LAYOUT, Layout

# Share of samples in which a page that is worth watching changes: of eight devices at work all do.
_LIVELY = 0.9
# Weight of a sample in that share: of the last ten or so.
_GAIN = 0.1
# After an hour of the same at 30 s it is a node at rest, whose page really does not change.
_AT_REST = 120
# Irregular weights, so that no two pages have the same sum by chance.
_RANDOM = np.random.default_rng(0)
_WEIGHTS_OF_DEVICES = _RANDOM.uniform(1.0, 2.0, DEVICE_LAYOUT.signals)
_WEIGHTS_OF_NODES = _RANDOM.uniform(1.0, 2.0, NODE_LAYOUT.signals)
# Two devices that exchange their values are another page; a node seldom has more than these.
_POSITIONS = 16


class Pages(NamedTuple):
    """Of one level, by node; M nodes. The page is all that a node's exporter reads of that level."""

    # float64[2, M]: sums that stand for the page: of its counters, and of its gauges.
    digest: Floats
    # float64[M]: Unix seconds of the newest sample.
    sampled: Floats
    # float64[M]: share of samples in which it changed.
    lively: Floats
    # intp[M]: how often in a row it was the same.
    same: Indices


class RepeatState(NamedTuple):
    """Both levels."""

    devices: Pages
    nodes: Pages


def fresh() -> RepeatState:
    """Nothing is known."""
    return RepeatState(_pages(0), _pages(0))


def repeated(before: RepeatState, frame: Frame) -> tuple[RepeatState, Bools, Bools]:
    """The state after a frame; bool[M] each: nodes that repeat what they said of their devices, and of
    themselves.
    """
    count = len(frame.node_state)
    sampled = np.full(count, -np.inf)
    np.maximum.at(sampled, frame.node_of, frame.device_sampled)
    position = 1.0 + np.arange(len(frame.node_of)) % _POSITIONS
    rows = _digest(DEVICE_LAYOUT, frame.devices, _WEIGHTS_OF_DEVICES) * position
    digest: Floats = np.array(
        [np.bincount(frame.node_of, each, minlength=count) for each in rows], dtype=np.float64
    )
    before = fitted(before, count)
    devices, of_devices = _after(before.devices, digest, sampled)
    nodes, of_nodes = _after(
        before.nodes,
        _digest(NODE_LAYOUT, frame.nodes, _WEIGHTS_OF_NODES),
        frame.node_sampled,
    )
    return RepeatState(devices, nodes), of_devices, of_nodes


def fitted(state: RepeatState, nodes: int) -> RepeatState:
    """With as many nodes."""
    return RepeatState(_fitted(state.devices, nodes), _fitted(state.nodes, nodes))


def _after(before: Pages, digest: Floats, sampled: Floats) -> tuple[Pages, Bools]:
    newer = sampled > before.sampled
    equal = newer & (digest == before.digest).all(axis=0)
    same = np.where(newer, np.where(equal, before.same + 1, 0), before.same)
    repeats = (same > 0) & (same <= _AT_REST) & (before.lively >= _LIVELY)
    counted = newer & ~repeats
    lively = before.lively + np.where(counted, _GAIN * (~equal - before.lively), 0.0)
    after = Pages(
        np.where(newer, digest, before.digest),
        np.fmax(sampled, before.sampled),
        np.where(same > _AT_REST, 0.0, lively),
        same,
    )
    return after, np.asarray(repeats)


def _digest(layout: Layout, values: Floats, weights: Floats) -> Floats:
    """float64[2, R]: of counters, and of all else, whose changes would be lost in sums with them."""
    weighted = or_zero(values) * weights[:, np.newaxis]
    of_counters: Floats = weighted[layout.counters].sum(axis=0)
    weighted[layout.counters] = 0.0
    return np.stack((of_counters, weighted.sum(axis=0)))


def _pages(nodes: int) -> Pages:
    return Pages(
        np.full((2, nodes), np.nan),
        np.full(nodes, -np.inf),
        np.zeros(nodes),
        np.zeros(nodes, dtype=np.intp),
    )


def _fitted(before: Pages, nodes: int) -> Pages:
    if len(before.same) == nodes:
        return before
    after, common = _pages(nodes), min(nodes, len(before.same))
    for new, old in zip(after, before, strict=True):
        new[..., :common] = old[..., :common]
    return after
