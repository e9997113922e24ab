"""What the detector has found, as columns that rules ask: which finding concerns each row."""

from collections.abc import Mapping, Sequence

import numpy as np

from accelwatch.alerting.rules.finding_facts import number_of, text_of
from accelwatch.detection.findings.finding import Finding
from accelwatch.expr.vocabulary.detector_names import DETECTOR_FIELDS, SUBJECTS, DetectorField
from accelwatch.expr.vocabulary.names import Type
from accelwatch.fleet.rules.columns.columns import Indices, Texts, factored
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.rows import grown


class DetectorFacts:
    """Columns of `DETECTOR_FIELDS`; nothing is known before `update`."""

    def __init__(self) -> None:
        self.findings: tuple[Finding, ...] = ()
        # By subject, and for the narrowest under the empty text: position in `findings`, -1 for none.
        self._at: dict[str, Indices] = {}
        # Of the present findings; columns of text stay the same object meanwhile.
        self._numbers: dict[str, Floats] = {}
        self._texts: dict[str, Texts] = {}

    def update(self, findings: Sequence[Finding], at: Mapping[str, Indices]) -> None:
        """What goes on now; `at` has by subject, intp[rows], the position of a finding or -1."""
        if tuple(findings) == self.findings and all(
            np.array_equal(rows, self._at.get(subject, ())) for subject, rows in at.items()
        ):
            return
        narrowest = np.full(max(map(len, at.values()), default=0), -1, dtype=np.intp)
        for subject in reversed(SUBJECTS):
            narrowest = np.where(at[subject] >= 0, at[subject], narrowest)
        self.findings, self._at = tuple(findings), {**at, "": narrowest}
        self._numbers, self._texts = {}, {}

    def clear(self) -> None:
        """Nothing is known any more."""
        self.findings, self._at, self._numbers, self._texts = (), {}, {}, {}

    def number(self, key: str, size: int) -> Floats:
        """A flag or number of each row."""
        values = self._numbers.get(key)
        if values is None:
            values = self._numbers[key] = self._number(DETECTOR_FIELDS[key])
        return grown(values, size, np.nan)[:size]

    def text(self, key: str, size: int) -> Texts:
        """A text of each row."""
        texts = self._texts.get(key)
        if texts is None or len(texts.codes) != size:
            texts = self._texts[key] = self._text(DETECTOR_FIELDS[key], size)
        return texts

    def of_row(self, subject: str, row: int) -> Finding | None:
        """The finding that concerns a row as a `subject`."""
        positions = self._at.get(subject)
        position = -1 if positions is None or row >= len(positions) else int(positions[row])
        return None if position < 0 else self.findings[position]

    def of_job(self, job: str) -> Finding | None:
        """The finding about a job."""
        return next(
            (each for each in self.findings if each.scope == "job" and each.job == job), None
        )

    def _number(self, field: DetectorField) -> Floats:
        positions = self._at.get(field.subject)
        if positions is None:
            return np.empty(0)
        values = [number_of(finding, field.field) for finding in self.findings]
        # Nothing found is no alert; it has no onset.
        values.append(0.0 if field.type is Type.FLAG else np.nan)
        column: Floats = np.array(values)[positions]
        return column

    def _text(self, field: DetectorField, size: int) -> Texts:
        positions = grown(self._at.get(field.subject, np.empty(0, dtype=np.intp)), size, -1)[:size]
        values = factored([text_of(finding, field.field) or None for finding in self.findings])
        return Texts(np.append(values.codes, -1)[positions], values.values)
