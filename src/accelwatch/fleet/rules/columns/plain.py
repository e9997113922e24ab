"""Columns out of arrays that are there already: for back-tests, benchmarks and tests."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from accelwatch.detection.findings.finding import Finding
from accelwatch.expr.checking.tree import EventPattern
from accelwatch.expr.vocabulary.kleene import Key
from accelwatch.fleet.rules.columns.columns import Indices, Texts
from accelwatch.fleet.rules.columns.groups import Groups
from accelwatch.fleet.table.belief import Bools, Floats
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.metrics import Series
from accelwatch.schema.provenance import Provenance

# Kind, series, seconds and quantile of a window.
WindowKey = tuple[str, Series, int, float | None]


@dataclass(slots=True)
class PlainColumns:
    """What is not given has no values."""

    size: int
    now: float
    numbers: Mapping[Key, Floats] = field(default_factory=dict)
    texts: Mapping[str, Texts] = field(default_factory=dict)
    windows: Mapping[WindowKey, Floats] = field(default_factory=dict)
    lasts: Mapping[EventPattern, Floats] = field(default_factory=dict)
    events: Mapping[tuple[EventPattern, int], ErrorEvent] = field(default_factory=dict)
    counts: Mapping[tuple[EventPattern, int], Floats] = field(default_factory=dict)
    grouped: Mapping[str, Groups] = field(default_factory=dict)
    fired: Mapping[str, Bools] = field(default_factory=dict)
    coverages: Mapping[tuple[Series, int], Floats] = field(default_factory=dict)

    def number(self, key: Key) -> Floats:
        """A column of numbers."""
        column = self.numbers.get(key)
        return self._nothing() if column is None else column

    def text(self, key: str) -> Texts:
        """A column of text."""
        column = self.texts.get(key)
        return column or Texts(np.full(self.size, -1, dtype=np.intp), ())

    def window(
        self,
        kind: str,
        key: Series,
        seconds: int,
        quantile: float | None,
        *,
        of_job: bool = False,  # noqa: ARG002 - what is given is given for all
    ) -> Floats:
        """A window that was worked out before."""
        column = self.windows.get((kind, key, seconds, quantile))
        return self._nothing() if column is None else column

    def coverage(
        self,
        key: Series,
        seconds: int,
        *,
        of_job: bool = False,  # noqa: ARG002 - as above
    ) -> Floats:
        """Share of samples of a series within so many seconds."""
        column = self.coverages.get((key, seconds))
        return self._nothing() if column is None else column

    def last(self, pattern: EventPattern) -> Floats:
        """When an event was last."""
        column = self.lasts.get(pattern)
        return self._nothing() if column is None else column

    def occurrences(self, pattern: EventPattern, seconds: int) -> Floats:
        """How many there were."""
        column = self.counts.get((pattern, seconds))
        return self._nothing() if column is None else column

    def latest(self, pattern: EventPattern, row: int) -> ErrorEvent | None:
        """An event that was given with its row."""
        return self.events.get((pattern, row))

    def groups(self, by: str) -> Groups | None:
        """Rows in groups."""
        return self.grouped.get(by)

    def absence(self, _row: int, _key: Key) -> str:
        """Not known."""
        return ""

    def provenance(self, _row: int, _key: Key | None) -> Provenance:
        """Who composed them is not known."""
        return Provenance.UNKNOWN

    def weakest(self, _rows: Indices) -> Provenance:
        """Who composed them is not known."""
        return Provenance.UNKNOWN

    def finding(self, subject: str, row: int, /) -> Finding | None:  # noqa: ARG002 - no detector
        """Nothing."""
        return None

    def firing(self, rule: str) -> Bools | None:
        """Where another rule is firing."""
        return self.fired.get(rule)

    def _nothing(self) -> Floats:
        return np.full(self.size, np.nan)
