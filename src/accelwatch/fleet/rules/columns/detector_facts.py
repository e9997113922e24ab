"""The detector's findings, as columns that rules read: which finding concerns each row."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from accelwatch.alerting.rules.finding_facts import number_of, text_of
from accelwatch.detection.findings.finding import Finding
from accelwatch.expr.vocabulary.detector_names import DETECTOR_FIELDS, SUBJECTS, DetectorField
from accelwatch.expr.vocabulary.names import Type
from accelwatch.fleet.rules.columns.columns import Indices, Texts, factored
from accelwatch.fleet.table.belief import Floats
from accelwatch.fleet.table.rows import grown

# Positions among findings: nothing was found of a row, and nothing is known of who is in it now.
_NONE, _UNKNOWN = -1, -2
# By row of the table, so that another number says that somebody else is in it (`fleet.table.rows`).
Generations = npt.NDArray[np.uint32]


class DetectorFacts:
    """Columns of `DETECTOR_FIELDS`; nothing is known before `update`.

    A row whose device has left since the frame, and that was given to another, is unknown until the
    detector has observed the new one: `update` says whom it has observed, `refresh` who is there.
    """

    def __init__(self) -> None:
        self.findings: tuple[Finding, ...] = ()
        # By subject, and for the narrowest under the empty text: position in `findings`, -1 for none.
        self._at: dict[str, Indices] = {}
        # Of the present findings; columns of text stay the same object meanwhile.
        self._numbers: dict[str, Floats] = {}
        self._texts: dict[str, Texts] = {}
        # Whom findings are about, and who is in the rows now; None where rows keep their devices.
        self._observed: Generations | None = None
        self._present: Generations | None = None

    def refresh(self, present: Generations) -> None:
        """Who is in the rows now, before columns are read."""
        self._present = present
        at = {subject: self._of_present(rows) for subject, rows in self._at.items()}
        if any(at[subject] is not rows for subject, rows in self._at.items()):
            self._at, self._numbers, self._texts = at, {}, {}

    def update(
        self,
        findings: Sequence[Finding],
        at: Mapping[str, Indices],
        observed: Generations | None = None,
    ) -> None:
        """What goes on now; `at` has by subject, intp[rows], the position of a finding or -1.

        `observed` says who was in the rows of the frame that it was found in.
        """
        self._observed = observed
        at = {subject: self._of_present(rows) for subject, rows in at.items()}
        if tuple(findings) == self.findings and all(
            np.array_equal(rows, self._at.get(subject, ())) for subject, rows in at.items()
        ):
            return
        narrowest = np.full(max(map(len, at.values()), default=0), _NONE, dtype=np.intp)
        for subject in reversed(SUBJECTS):
            narrowest = np.where(at[subject] != _NONE, at[subject], narrowest)
        self.findings, self._at = tuple(findings), {**at, "": narrowest}
        self._numbers, self._texts = {}, {}

    def _of_present(self, at: Indices) -> Indices:
        """Positions without those of rows that are another's now; the same object where none is."""
        if self._observed is None or self._present is None:
            return at
        count = min(len(at), len(self._observed), len(self._present))
        reused = np.flatnonzero(
            (self._observed[:count] != self._present[:count]) & (at[:count] != _UNKNOWN)
        )
        if not len(reused):
            return at
        at = at.copy()
        at[reused] = _UNKNOWN
        return at

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
        position = _NONE if positions is None or row >= len(positions) else int(positions[row])
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
        # At the end as `_UNKNOWN` and `_NONE`: nothing found is no alert, and it has no onset.
        values += [np.nan, 0.0 if field.type is Type.FLAG else np.nan]
        column: Floats = np.array(values)[positions]
        return column

    def _text(self, field: DetectorField, size: int) -> Texts:
        positions = grown(self._at.get(field.subject, np.empty(0, dtype=np.intp)), size, _NONE)[
            :size
        ]
        values = factored([text_of(finding, field.field) or None for finding in self.findings])
        return Texts(np.append(values.codes, [-1, -1])[positions], values.values)
