"""Heat of whole nodes: air and water that get warmer spare none of a node's devices.

One device of a node is judged by its own sensor. What most devices of a node have is known much better
than that, so that a row of racks is seen while it heats, before its first device is hot enough to be
accused.
"""

from collections.abc import Mapping

import numpy as np

from accelwatch.detection.arrays import Floats, Indices
from accelwatch.detection.evidence import Channel, Subject, Weight
from accelwatch.detection.findings.explaining import Tables
from accelwatch.detection.findings.finding import Level
from accelwatch.detection.findings.suspects import Accusation, Piece, Suspect, strongest
from accelwatch.detection.fusion.strength import AGREE
from accelwatch.detection.signals.signal import Direction
from accelwatch.detection.tick import Tick

HEAT = "thermal"
# Devices of a node share a part of their noise, so that more of them prove no more than four do.
_INDEPENDENT = 4
_POWER = ("power_watts",)


def heat_of_node(tick: Tick, tables: Tables, node: int) -> float:
    """Standard deviations of the heat that more than half of a node's devices have; NaN for unknown."""
    rows = np.flatnonzero(tick.frame.node_of == node)
    heat = _heat(tick.devices.z[:, rows], tables)
    return float(_of_nodes(heat, np.zeros(len(rows), dtype=np.intp), 1)[0])


def _of_nodes(heat: Floats, node_of: Indices, count: int) -> Floats:
    """float64[count]: of each node the heat of more than half of its devices, by their number."""
    of_node = np.bincount(node_of, minlength=count)
    # The hottest of each node first, unknown ones last.
    order = np.lexsort((-np.where(np.isnan(heat), -np.inf, heat), node_of))
    starts = np.cumsum(of_node) - of_node
    existing = np.flatnonzero(of_node)
    level = np.full(count, np.nan)
    level[existing] = heat[order[starts[existing] + of_node[existing] // 2]]
    return level * np.sqrt(np.minimum(of_node, _INDEPENDENT))


def warm_nodes(tick: Tick, tables: Tables, before: Mapping[Accusation, float]) -> list[Suspect]:
    """Nodes that are warm as a whole: enough to find what they share, and no blame.

    `before` has since when each node suffered in each family, Unix seconds.
    """
    heat = _heat(tick.devices.z, tables)
    level = _of_nodes(heat, tick.frame.node_of, len(tick.frame.node_state))
    signal = next((at for at, row in enumerate(tables.devices) if row.family == HEAT), -1)
    warm: list[Suspect] = []
    for node in np.flatnonzero((level >= AGREE) & ~tick.frame.maintenance).tolist():
        rows = np.flatnonzero(tick.frame.node_of == node)
        rows = rows[heat[rows] >= AGREE / 2]
        since = before.get((tick.frame.names.nodes[node], HEAT), tick.frame.now)
        pieces = [_piece(row, float(heat[row]), since, signal) for row in rows.tolist()]
        suspect = Suspect(node, (), Level.WATCH, float(level[node]), since, strongest(pieces))
        warm.append(suspect)
    return warm


def _piece(row: int, score: float, since: float, signal: int) -> Piece:
    weight, subject = Weight.STATISTICAL, Subject.DEVICE
    return Piece(Channel.PEER, weight, HEAT, subject, row, score, since, signal, "", "")


def _heat(z: Floats, tables: Tables) -> Floats:
    """float64[R]: the greatest deviation of a device's heat; 0 where it draws more, which heats it."""
    deviations = [
        -z[at] if row.direction is Direction.LOW else z[at]
        for at, row in enumerate(tables.devices)
        if row.family == HEAT and row.direction is not Direction.BOTH
    ]
    if not deviations:
        return np.full(z.shape[1], np.nan)
    heat: Floats = np.fmax.reduce(deviations)
    power = next((at for at, row in enumerate(tables.devices) if row.series == _POWER), -1)
    draws_more = z[power] >= AGREE / 2 if power >= 0 else np.zeros(z.shape[1], dtype=np.bool_)
    return np.where(draws_more & (heat > 0), 0.0, heat)
