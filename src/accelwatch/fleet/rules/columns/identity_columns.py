"""Fields, owners and labels of devices by row, looked up again only for rows that have changed."""

import math
from collections.abc import Iterable

import numpy as np

from accelwatch.base.slices import LongWork
from accelwatch.expr.vocabulary.detector_names import DETECTOR_FIELDS
from accelwatch.expr.vocabulary.names import IDENTITY, Type
from accelwatch.expr.vocabulary.rule_names import LABEL_PREFIX
from accelwatch.fleet.rules.columns.columns import Indices, Texts
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.rows import grown

# Fields that change by themselves.
_ELSEWHERE = frozenset({"state", "health", "node_state", "sample_age_s", *DETECTOR_FIELDS})
# Rows that are looked up before control is yielded.
_AT_ONCE = 512


class IdentityColumns:
    """The fields that rules read."""

    def __init__(self, fleet: Fleet, keys: Iterable[str]) -> None:
        self._fleet = fleet
        requested = sorted(set(keys) - _ELSEWHERE)
        self._texts = {key: _Column() for key in requested if IDENTITY.get(key) is not Type.NUMBER}
        self._numbers = {key: np.empty(0) for key in requested if key not in self._texts}
        self._stamps = np.empty(0, dtype=np.int64)

    async def refresh(self, rows: Indices, work: LongWork) -> None:
        """Read those of these rows that have changed since."""
        table = self._fleet.table
        size = table.rows.size
        self._stamps = grown(self._stamps, size, -1)
        old = rows[self._stamps[rows] != table.changed[rows]].tolist()
        for key in self._numbers:
            self._numbers[key] = grown(self._numbers[key], size, math.nan)
        for start in range(0, len(old), _AT_ONCE):
            chunk = old[start : start + _AT_ONCE]
            self._stamps[chunk] = table.changed[chunk]
            for key, column in self._texts.items():
                column.update(size, chunk, [self._text(key, row) for row in chunk])
            for key, numbers in self._numbers.items():
                numbers[chunk] = [self._number(key, row) for row in chunk]
            await work.yield_control()

    def text(self, key: str, size: int) -> Texts:
        """A column of text."""
        column = self._texts.get(key)
        return Texts(np.full(size, -1, dtype=np.intp), ()) if column is None else column.texts(size)

    def number(self, key: str, size: int) -> Floats:
        """A column of numbers."""
        column = self._numbers.get(key)
        return np.full(size, math.nan) if column is None else grown(column, size, math.nan)

    def _text(self, key: str, row: int) -> str | None:
        """What a device or its owners do not say, a label of its node may."""
        table = self._fleet.table
        device, shown = table.devices[row], table.occupancy[row].shown
        slots = table.at_number[int(table.node[row])]
        if device is None:
            return None
        if key.startswith(LABEL_PREFIX):
            return slots.labels.get(key.removeprefix(LABEL_PREFIX))
        if key in ("node", "host"):
            return slots.node
        name = "name" if key == "device" else key
        value = shown.get(key) or getattr(device, name, None) or slots.labels.get(key)
        if value is None and key == "partition":
            value = shown.get("queue")
        return None if value is None else str(value)

    def _number(self, key: str, row: int) -> float:
        device = self._fleet.table.devices[row]
        value = None if device is None else getattr(device, key, None)
        return math.nan if value is None else float(value)


class _Column:
    """Words by row; the same object as long as nothing has changed."""

    def __init__(self) -> None:
        self._codes: Indices = np.empty(0, dtype=np.intp)
        self._code_of: dict[str, int] = {}
        self._texts: Texts | None = None

    def update(self, size: int, rows: list[int], values: list[str | None]) -> None:
        """What rows are called now."""
        codes = grown(self._codes, size, -1)
        now = [
            -1 if value is None else self._code_of.setdefault(value, len(self._code_of))
            for value in values
        ]
        if len(codes) != len(self._codes) or (codes[rows] != now).any():
            self._codes = codes.copy()
            self._codes[rows] = now
            self._texts = None

    def texts(self, size: int) -> Texts:
        """The column; words that no row has any more are left out."""
        if self._texts is None or len(self._texts.codes) != size:
            self._codes = grown(self._codes, size, -1)
            self._tidy()
            self._texts = Texts(self._codes, tuple(self._code_of))
        return self._texts

    def _tidy(self) -> None:
        used = np.unique(self._codes[self._codes >= 0]).tolist()
        if len(self._code_of) > 2 * len(used) + 64:
            values = list(self._code_of)
            new_codes = np.full(len(values) + 1, -1, dtype=np.intp)
            new_codes[used] = np.arange(len(used))
            self._codes = new_codes[self._codes]
            self._code_of = {values[code]: at for at, code in enumerate(used)}
