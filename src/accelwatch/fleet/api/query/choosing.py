"""Which devices a filter lets through: over columns where it can be, else device by device."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from accelwatch.expr import Expression, Key
from accelwatch.fleet.api.query.names import Subject, lookup, named
from accelwatch.fleet.api.query.vector import Texts, UnfitError, truths
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.fleet_status import FleetStatus, status_number
from accelwatch.fleet.state.rows.table import Memo
from accelwatch.fleet.table.belief import Bools, Floats
from accelwatch.fleet.table.pick import LARGE
from accelwatch.fleet.table.state_codes import HEALTHS, NODE_STATES, STATES
from accelwatch.schema.metrics import Series

_STATES = np.array(STATES, dtype=object)
_HEALTHS = np.array(HEALTHS, dtype=object)
_NODE_STATES = np.array(NODE_STATES, dtype=object)


def series_of(expression: Expression | None) -> list[Series]:
    """The quantities that a filter reads."""
    return (
        [] if expression is None else [name for name in expression.names if isinstance(name, tuple)]
    )


def subject_at(fleet: Fleet, now: FleetStatus, at: int) -> Subject:
    """A device of the moment as an expression sees it."""
    table, row = fleet.table, int(now.rows[at])
    device = table.devices[row]
    assert device is not None
    slots = table.at_number[int(table.node[row])]
    age = float(now.age_s[at])
    return Subject(
        node=slots.node,
        node_state=NODE_STATES[int(now.node_state[at])],
        labels=slots.labels,
        device=device,
        present=table.present[row],
        age_s=None if math.isnan(age) else age,
    )


def chosen(fleet: Fleet, now: FleetStatus, expression: Expression | None) -> Bools:
    """Which devices of a status a filter lets through; the table has its series already."""
    if expression is None:
        return np.ones(len(now.rows), dtype=np.bool_)
    rows = _Rows(fleet, now)
    try:
        mask = np.broadcast_to(truths(expression.tree, rows).true, now.rows.shape).copy()
    except UnfitError:
        doubtful: Iterator[int] = iter(range(len(now.rows)))
        mask = np.zeros(len(now.rows), dtype=np.bool_)
    else:
        doubtful = iter(np.flatnonzero(rows.large).tolist())
    for at in doubtful:
        mask[at] = expression.evaluate(lookup(subject_at(fleet, now, at))) is True
    return mask


class _Rows:
    """Columns of a moment as an expression names them; a silent node's quantities are unknown."""

    def __init__(self, fleet: Fleet, now: FleetStatus) -> None:
        self._fleet = fleet
        self._now = now
        # Devices with an integer among the requested values that no double holds.
        self.large: Bools = np.zeros(len(now.rows), dtype=np.bool_)

    def number(self, key: Key) -> Floats:
        now = self._now
        if isinstance(key, str):
            if key == "sample_age_s":
                return now.age_s
            answers = [named(self._subject(at), key) for at in range(len(now.rows))]
            return np.array(
                [answer if isinstance(answer, int | float) else math.nan for answer in answers]
            )
        column = self._fleet.table.planes.column(key)
        self.large |= (column.tags[now.rows] == LARGE) & now.speaks
        values = np.where(now.speaks, column.values[now.rows], math.nan)
        instead = status_number(key, now.state, now.health)
        return values if instead is None else np.where(np.isnan(values), instead, values)

    def text(self, key: str) -> Texts:
        now = self._now
        if key == "state":
            return _STATES[now.state]
        if key == "health":
            return _HEALTHS[now.health]
        if key == "node_state":
            return _NODE_STATES[now.node_state]
        table = self._fleet.table
        memo = table.texts.setdefault(key, Memo()).of(table.rows.size)
        old = np.flatnonzero(memo.stamps[now.rows] != table.changed[now.rows])
        if len(old):
            rows = now.rows[old]
            memo.texts[rows] = self._texts_of(key, old.tolist())
            memo.stamps[rows] = table.changed[rows]
        return memo.texts[now.rows]

    def _texts_of(self, key: str, positions: Sequence[int]) -> Texts:
        answers = [named(self._subject(at), key) for at in positions]
        texts = np.empty(len(answers), dtype=object)
        texts[:] = [answer if isinstance(answer, str) else None for answer in answers]
        return texts

    def _subject(self, at: int) -> Subject:
        return subject_at(self._fleet, self._now, at)
