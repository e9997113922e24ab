"""One row of columns as an environment of the scalar code, for a small fleet and for `explain`."""

import math
from dataclasses import dataclass

import numpy as np

from accelwatch.alerting.rules.finding_evidence import evidence_of_finding
from accelwatch.alerting.rules.verdict import Evidence
from accelwatch.expr.checking.tree import EventPattern
from accelwatch.expr.environment import Group
from accelwatch.expr.vocabulary.detector_names import DETECTOR_FIELDS
from accelwatch.expr.vocabulary.kleene import MISSING, Key, Missing, Value
from accelwatch.expr.vocabulary.names import IDENTITY, Type
from accelwatch.fleet.rules.columns.columns import Columns
from accelwatch.fleet.table.belief import Floats
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.metrics import Series
from accelwatch.schema.provenance import Provenance


@dataclass(frozen=True, slots=True)
class RowEnvironment:
    """A device; two are equal if they are the same row of the same columns."""

    columns: Columns
    row: int

    @property
    def now(self) -> float:
        """Unix seconds."""
        return self.columns.now

    def lookup(self, key: Key) -> Value | Missing:
        """A current value."""
        if isinstance(key, tuple) or _is_number(key):
            value = self._at(self.columns.number(key))
            return MISSING if value is None else value
        texts = self.columns.text(key)
        code = int(texts.codes[self.row])
        return MISSING if code < 0 else texts.values[code]

    def window(
        self, kind: str, key: Series, seconds: int, quantile: float | None, *, of_job: bool = False
    ) -> float | None:
        """A window."""
        return self._at(self.columns.window(kind, key, seconds, quantile, of_job=of_job))

    def last(self, pattern: EventPattern) -> float | None:
        """When an event was last."""
        return self._at(self.columns.last(pattern))

    def latest(self, pattern: EventPattern) -> ErrorEvent | None:
        """The event that was last."""
        return self.columns.latest(pattern, self.row)

    def occurrences(self, pattern: EventPattern, seconds: int) -> int | None:
        """How many there were."""
        count = self._at(self.columns.occurrences(pattern, seconds))
        return None if count is None else int(count)

    def group(self, by: str) -> Group | None:
        """The rows of its group."""
        groups = self.columns.groups(by)
        code = -1 if groups is None else int(groups.codes[self.row])
        if groups is None or code < 0:
            return None
        rows = np.flatnonzero(groups.codes == code).tolist()
        return Group([RowEnvironment(self.columns, row) for row in rows], rows.index(self.row))

    def absence(self, key: Key) -> str:
        """Why there is no current value."""
        return self.columns.absence(self.row, key)

    def provenance(self, key: Key | None) -> Provenance:
        """The class of the source that a value is from."""
        return self.columns.provenance(self.row, key)

    def group_provenance(self, by: str) -> Provenance:
        """The weakest class of source in its group."""
        groups = self.columns.groups(by)
        code = -1 if groups is None else int(groups.codes[self.row])
        if groups is None or code < 0:
            return self.columns.provenance(self.row, None)
        return self.columns.weakest(np.flatnonzero(groups.codes == code))

    def firing(self, rule: str) -> bool | None:
        """Whether another rule is firing."""
        fired = self.columns.firing(rule)
        return None if fired is None else bool(fired[self.row])

    def detector_evidence(self, subject: str) -> tuple[Evidence, ...]:
        """What the detector has found of it as a `subject`."""
        finding = self.columns.finding(subject, self.row)
        return () if finding is None else evidence_of_finding(finding)

    def coverage(self, key: Series, seconds: int, *, of_job: bool = False) -> float | None:
        """Share of the samples of a window that there are."""
        return self._at(self.columns.coverage(key, seconds, of_job=of_job))

    def _at(self, column: Floats) -> float | None:
        value = float(column[self.row])
        return None if math.isnan(value) else value


def _is_number(key: str) -> bool:
    detected = DETECTOR_FIELDS.get(key)
    if detected is not None:
        return detected.type is not Type.STRING
    return IDENTITY.get(key) is Type.NUMBER
