"""Fields, owners and labels of devices by row, looked up again only for rows that have changed."""

import math
from collections.abc import Iterable

import numpy as np

from accelwatch.base.slices import LongWork
from accelwatch.expr.vocabulary.names import IDENTITY, Type
from accelwatch.expr.vocabulary.rule_names import LABEL_PREFIX
from accelwatch.fleet.rules.columns import Places, Texts
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.rows import grown

_ELSEWHERE = frozenset({"state", "health", "node_state", "sample_age_s"})
"""Fields that change by themselves."""
_AT_ONCE = 512
"""Rows that are looked up without a rest."""


class Said:
    """The fields that rules ask for."""

    def __init__(self, fleet: Fleet, keys: Iterable[str]) -> None:
        self._fleet = fleet
        asked = sorted(set(keys) - _ELSEWHERE)
        self._texts = {key: _Column() for key in asked if IDENTITY.get(key) is not Type.NUMBER}
        self._numbers = {key: np.empty(0) for key in asked if key not in self._texts}
        self._stamps = np.empty(0, dtype=np.int64)

    async def bring(self, rows: Places, work: LongWork) -> None:
        """Look at those of these rows that have changed since."""
        table = self._fleet.table
        size = table.rows.size
        self._stamps = grown(self._stamps, size, -1)
        old = rows[self._stamps[rows] != table.changed[rows]].tolist()
        for key in self._numbers:
            self._numbers[key] = grown(self._numbers[key], size, math.nan)
        for begin in range(0, len(old), _AT_ONCE):
            part = old[begin : begin + _AT_ONCE]
            self._stamps[part] = table.changed[part]
            for key, column in self._texts.items():
                column.put(size, part, [self._text(key, row) for row in part])
            for key, numbers in self._numbers.items():
                numbers[part] = [self._number(key, row) for row in part]
            await work.rest()

    def text(self, key: str, size: int) -> Texts:
        """A column of text."""
        column = self._texts.get(key)
        return Texts(np.full(size, -1, dtype=np.intp), ()) if column is None else column.texts(size)

    def number(self, key: str, size: int) -> Floats:
        """A column of numbers."""
        found = self._numbers.get(key)
        return np.full(size, math.nan) if found is None else grown(found, size, math.nan)

    def _text(self, key: str, row: int) -> str | None:
        """What a device or its owners do not say, a label of its node may."""
        table = self._fleet.table
        device, shown = table.devices[row], table.occupancy[row].shown
        seats = table.at_number[int(table.node[row])]
        if device is None:
            return None
        if key.startswith(LABEL_PREFIX):
            return seats.labels.get(key.removeprefix(LABEL_PREFIX))
        if key in ("node", "host"):
            return seats.node
        name = "name" if key == "device" else key
        found = shown.get(key) or getattr(device, name, None) or seats.labels.get(key)
        if found is None and key == "partition":
            found = shown.get("queue")
        return None if found is None else str(found)

    def _number(self, key: str, row: int) -> float:
        device = self._fleet.table.devices[row]
        found = None if device is None else getattr(device, key, None)
        return math.nan if found is None else float(found)


class _Column:
    """Words by row; the same object as long as nothing has changed."""

    def __init__(self) -> None:
        self._codes: Places = np.empty(0, dtype=np.intp)
        self._words: dict[str, int] = {}
        self._texts: Texts | None = None

    def put(self, size: int, rows: list[int], said: list[str | None]) -> None:
        """What rows are called now."""
        codes = grown(self._codes, size, -1)
        now = [-1 if one is None else self._words.setdefault(one, len(self._words)) for one in said]
        if len(codes) != len(self._codes) or (codes[rows] != now).any():
            self._codes = codes.copy()
            self._codes[rows] = now
            self._texts = None

    def texts(self, size: int) -> Texts:
        """As columns are asked for it; words that nobody has any more are left out."""
        if self._texts is None or len(self._texts.codes) != size:
            self._codes = grown(self._codes, size, -1)
            self._tidy()
            self._texts = Texts(self._codes, tuple(self._words))
        return self._texts

    def _tidy(self) -> None:
        used = np.unique(self._codes[self._codes >= 0]).tolist()
        if len(self._words) > 2 * len(used) + 64:
            words = list(self._words)
            place = np.full(len(words) + 1, -1, dtype=np.intp)
            place[used] = np.arange(len(used))
            self._codes = place[self._codes]
            self._words = {words[code]: at for at, code in enumerate(used)}
