"""The signals that a finding rests on: what each is, what peers have, and what the row had before."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from accelwatch.detection.arrays import Floats
from accelwatch.detection.evidence import Subject
from accelwatch.detection.findings.finding import Signal
from accelwatch.detection.findings.suspects import Piece, strongest
from accelwatch.detection.signals.signal import ANY, SignalRow
from accelwatch.detection.tick import Residuals, Tick
from accelwatch.schema.metrics import Series
from accelwatch.schema.series import path_of

# As many as a person reads.
MOST = 5
# A signal that no channel has named is listed when it is as far from its peers as this.
_REMARKABLE = 3.0


class Tables(NamedTuple):
    """The signals of both levels, in the order of a tick's arrays."""

    devices: Sequence[SignalRow]
    nodes: Sequence[SignalRow]


class Explained(NamedTuple):
    """A signal, and what a sentence needs to know of it beside."""

    signal: Signal
    # Empty for an event or a rule.
    series: Series
    family: str
    # Others of the group; 0 without peers.
    peers: int


class _Position(NamedTuple):
    """Where a number stands in a tick."""

    subject: Subject
    row: int
    signal: int


def explained(tick: Tick, tables: Tables, pieces: Iterable[Piece]) -> tuple[Explained, ...]:
    """The strongest first, `MOST` at most: what channels say, then what else is remarkable."""
    # Of a large group there are thousands; those of the strongest suffice.
    ordered = strongest(pieces)[: 2 * MOST]
    matches = [_of_piece(tick, tables, piece) for piece in ordered]
    rows = dict.fromkeys((piece.subject, piece.row) for piece in ordered)
    since = min((piece.since for piece in ordered), default=tick.frame.now)
    for subject, row in rows:
        matches += _remarkable(tick, tables, subject, row, since)
    by_name: dict[str, Explained] = {}
    for each in matches:
        by_name.setdefault(each.signal.name, each)
    return tuple(by_name.values())[:MOST]


def _of_piece(tick: Tick, tables: Tables, piece: Piece) -> Explained:
    if piece.signal >= 0 and piece.subject is not Subject.JOB:
        position = _Position(piece.subject, piece.row, piece.signal)
        return _of_signal(tick, tables, position, piece.since, piece.channel)
    name = piece.cause or piece.family
    signal = Signal(
        name=name,
        value=None,
        expected=None,
        low=None,
        high=None,
        usual=None,
        z=None,
        since=piece.since,
        channel=piece.channel,
    )
    return Explained(signal, (), piece.family, 0)


def _remarkable(
    tick: Tick, tables: Tables, subject: Subject, row: int, since: float
) -> list[Explained]:
    """Other signals of a row that are far from its peers, the farthest first."""
    if subject is Subject.JOB:
        return []
    level = tick.devices if subject is Subject.DEVICE else tick.nodes
    away = np.nan_to_num(np.abs(level.z[:, row]))
    # Indices in ascending order where they are equally far: the same tick gives the same words.
    positions = np.argsort(-away, kind="stable")[:MOST]
    return [
        _of_signal(tick, tables, _Position(subject, row, position), since, "peer")
        for position in positions.tolist()
        if away[position] >= _REMARKABLE
    ]


def _of_signal(tick: Tick, tables: Tables, at: _Position, since: float, channel: str) -> Explained:
    row, position, of_device = at.row, at.signal, at.subject is Subject.DEVICE
    level = tick.devices if of_device else tick.nodes
    signal_row = (tables.devices if of_device else tables.nodes)[position]
    series = tuple(label for label in signal_row.series if label != ANY)
    signal = Signal(
        name=path_of(series),
        value=_number(level.value, position, row),
        expected=_number(level.median, position, row),
        low=_number(level.low, position, row),
        high=_number(level.high, position, row),
        usual=_number(level.usual, position, row),
        z=_number(level.z, position, row),
        since=since,
        channel=channel,
    )
    return Explained(signal, series, signal_row.family, _peers(level, row))


def _peers(level: Residuals, row: int) -> int:
    code = int(level.groups.code[row])
    if code < 0 or not level.groups.comparable[code]:
        return 0
    return int(level.groups.size[code]) - 1


def _number(values: Floats, position: int, row: int) -> float | None:
    """A number, or None for one that is not known."""
    value = float(values[position, row])
    return value if np.isfinite(value) else None
