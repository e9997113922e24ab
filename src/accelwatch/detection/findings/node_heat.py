"""Heat of whole nodes: air and water that get warmer spare none of a node's devices.

One device of a node is judged by its own sensor. What most devices of a node have is known much better
than that, so that a row of racks is seen while it heats, before its first device is hot enough to be
accused.
"""

from collections.abc import Mapping

import numpy as np

from accelwatch.detection.arrays import Bools, Floats
from accelwatch.detection.baselines.warming import RISEN, of_most
from accelwatch.detection.evidence import Channel, Subject, Weight
from accelwatch.detection.findings.explaining import Tables
from accelwatch.detection.findings.finding import Level
from accelwatch.detection.findings.suspects import Accusation, Piece, Suspect, strongest
from accelwatch.detection.fusion.families import family_of
from accelwatch.detection.fusion.strength import AGREE, AGREE_S
from accelwatch.detection.signals.signal import Direction
from accelwatch.detection.tick import Tick

HEAT = "thermal"
_POWER = ("power_watts",)


def heat_of_node(tick: Tick, tables: Tables, node: int) -> float:
    """Standard deviations of the heat that more than half of a node's devices have, or by which it has
    become warmer; NaN for unknown.
    """
    rows = np.flatnonzero(tick.frame.node_of == node)
    heat = _heat(tick.devices.z[:, rows], tables)
    level = of_most(heat, np.zeros(len(rows), dtype=np.intp), 1)[0]
    return float(level if tick.warmed is None else np.fmax(level, tick.warmed[node]))


def warm_nodes(tick: Tick, tables: Tables, before: Mapping[Accusation, float]) -> list[Suspect]:
    """Nodes that are warm as a whole: enough to find what they share, and no blame.

    `before` has since when each node suffered in each family, Unix seconds.
    """
    frame = tick.frame
    heat = _heat(tick.devices.z, tables)
    level = of_most(heat, frame.node_of, len(frame.node_state))
    rises, risen = _risen(tick, before)
    signal = next((at for at, row in enumerate(tables.devices) if row.family == HEAT), -1)
    warm: list[Suspect] = []
    suffers = (level >= AGREE) | rises
    for node in np.flatnonzero(suffers & ~frame.maintenance).tolist():
        rows = np.flatnonzero(frame.node_of == node)
        score = heat[rows]
        started = frame.now
        if rises[node]:
            # All of it has risen, and by a mean: that has lasted.
            score = np.fmax(score, np.fmax(risen[node], AGREE / 2))
            started -= AGREE_S
        since = min(before.get((frame.names.nodes[node], HEAT), started), started)
        pieces = [
            _piece(row, float(of_row), since, signal)
            for row, of_row in zip(rows.tolist(), score, strict=True)
            if of_row >= AGREE / 2
        ]
        greatest = max(piece.score for piece in pieces)
        warm.append(Suspect(node, (), Level.WATCH, greatest, since, strongest(pieces)))
    return warm


def _risen(tick: Tick, before: Mapping[Accusation, float]) -> tuple[Bools, Floats]:
    """bool[M]: nodes that have become warmer; by how much, NaN for unknown.

    Who is warm stays so until it is back half of the way; for a while also where nothing is known of it,
    since a job that saves says nothing of the air.
    """
    frame = tick.frame
    if tick.warmed is None:
        return np.zeros(len(frame.node_state), dtype=np.bool_), np.full(
            len(frame.node_state), np.nan
        )
    lasts_s = np.array([frame.now - before.get((name, HEAT), np.nan) for name in frame.names.nodes])
    rises = tick.warmed >= np.where(np.isnan(lasts_s), RISEN, RISEN / 2)
    return rises | (np.isnan(tick.warmed) & (lasts_s < family_of(HEAT).within_s)), tick.warmed


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
