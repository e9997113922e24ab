"""Which devices a filter lets through: over columns where it can be, else device by device."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from accelwatch.expr import Expression, Key
from accelwatch.fleet.api.names import Subject, lookup, named
from accelwatch.fleet.api.vector import Texts, UnfitError, truths
from accelwatch.fleet.names import NodeState
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.moment import Moment
from accelwatch.fleet.state.table import Memo
from accelwatch.fleet.table.belief import Bools, Floats
from accelwatch.fleet.table.pick import LARGE
from accelwatch.fleet.table.words import HEALTH, HEALTHS, STATE, STATES
from accelwatch.schema.device import UP
from accelwatch.schema.metrics import Series

_STATES = np.array(STATES, dtype=object)
_HEALTHS = np.array(HEALTHS, dtype=object)
_UP = [STATE[word] for word in UP]


def series_of(wanted: Expression | None) -> list[Series]:
    """The quantities that a filter reads."""
    return [] if wanted is None else [one for one in wanted.names if isinstance(one, tuple)]


def subject_at(fleet: Fleet, now: Moment, at: int) -> Subject:
    """A device of the moment as an expression sees it."""
    table, row = fleet.table, int(now.rows[at])
    device = table.devices[row]
    assert device is not None
    seats = table.at_number[int(table.node[row])]
    node = fleet.nodes.get(seats.node)
    age = float(now.age_s[at])
    return Subject(
        node=seats.node,
        node_state=NodeState.NEVER if node is None else fleet.state_of(node),
        labels=seats.labels,
        device=device,
        held=table.held[row],
        age_s=None if math.isnan(age) else age,
    )


def chosen(fleet: Fleet, now: Moment, wanted: Expression | None) -> Bools:
    """Which devices of a moment a filter lets through; its series were asked for before."""
    if wanted is None:
        return np.ones(len(now.rows), dtype=np.bool_)
    rows = _Rows(fleet, now)
    try:
        found = np.broadcast_to(truths(wanted.tree, rows).true, now.rows.shape).copy()
    except UnfitError:
        doubtful: Iterator[int] = iter(range(len(now.rows)))
        found = np.zeros(len(now.rows), dtype=np.bool_)
    else:
        doubtful = iter(np.flatnonzero(rows.large).tolist())
    for at in doubtful:
        found[at] = wanted.evaluate(lookup(subject_at(fleet, now, at))) is True
    return found


class _Rows:
    """Columns of a moment as an expression names them; a silent node's quantities are unknown."""

    def __init__(self, fleet: Fleet, now: Moment) -> None:
        self._fleet = fleet
        self._now = now
        self.large: Bools = np.zeros(len(now.rows), dtype=np.bool_)
        """Devices with an integer among what was asked for that no double holds."""

    def number(self, key: Key) -> Floats:
        now = self._now
        if isinstance(key, str):
            if key == "sample_age_s":
                return now.age_s
            told = [named(self._subject(at), key) for at in range(len(now.rows))]
            return np.array([one if isinstance(one, int | float) else math.nan for one in told])
        column = self._fleet.table.planes.column(key)
        self.large |= (column.marks[now.rows] == LARGE) & now.speaks
        values = np.where(now.speaks, column.values[now.rows], math.nan)
        instead = self._instead(key)
        return values if instead is None else np.where(np.isnan(values), instead, values)

    def _instead(self, key: Series) -> Floats | None:
        """What states say of a quantity that a device does not tell itself."""
        now = self._now
        if key[0] == "health" and len(key) == 2:
            return np.where(now.health == HEALTH.get(key[1], len(HEALTH)), 1.0, 0.0)
        if key == ("device_up",):
            return np.isin(now.state, _UP).astype(np.float64)
        if key == ("device_suspended",):
            return np.where(now.state == STATE["suspended"], 1.0, 0.0)
        return None

    def text(self, key: str) -> Texts:
        now = self._now
        if key == "state":
            return _STATES[now.state]
        if key == "health":
            return _HEALTHS[now.health]
        if key == "node_state":
            return self._told(key, range(len(now.rows)))
        table = self._fleet.table
        memo = table.texts.setdefault(key, Memo()).of(table.rows.size)
        old = np.flatnonzero(memo.stamps[now.rows] != table.changed[now.rows])
        if len(old):
            rows = now.rows[old]
            memo.texts[rows] = self._told(key, old.tolist())
            memo.stamps[rows] = table.changed[rows]
        return memo.texts[now.rows]

    def _told(self, key: str, places: Sequence[int]) -> Texts:
        told = [named(self._subject(at), key) for at in places]
        found = np.empty(len(told), dtype=object)
        found[:] = [one if isinstance(one, str) else None for one in told]
        return found

    def _subject(self, at: int) -> Subject:
        return subject_at(self._fleet, self._now, at)
