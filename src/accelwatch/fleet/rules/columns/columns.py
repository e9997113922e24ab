"""The input of the vector code of rules: columns, all as long as there are rows, and groups of rows."""

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from accelwatch.detection.findings.finding import Finding
from accelwatch.expr.checking.tree import EventPattern
from accelwatch.expr.vocabulary.kleene import Key
from accelwatch.fleet.rules.columns.groups import Groups
from accelwatch.fleet.table.belief import Bools, Floats
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.metrics import Series
from accelwatch.schema.provenance import Provenance

Indices = npt.NDArray[np.intp]


class Texts(NamedTuple):
    """A column of text: each row's index among the different words."""

    # -1 where there is none.
    codes: Indices
    values: tuple[str, ...]


class Columns(Protocol):
    """All devices at one moment. Numbers are NaN where there is none, and otherwise finite.

    A column that is not kept has no values; nothing here raises for it. Arrays belong to whoever
    gives them and are not written to.
    """

    @property
    def size(self) -> int:
        """How many rows there are."""
        ...

    @property
    def now(self) -> float:
        """Unix seconds."""
        ...

    def number(self, key: Key) -> Floats:
        """A quantity of the device or its host, or a field that is a number."""
        ...

    def text(self, key: str) -> Texts:
        """A field or label; the very same object as long as it has not changed."""
        ...

    def window(
        self, kind: str, key: Series, seconds: int, quantile: float | None, *, of_job: bool = False
    ) -> Floats:
        """What a `WindowKind` gives; NaN without half of the samples.

        With `of_job` samples from before the job of a device started do not count.
        """
        ...

    def coverage(self, key: Series, seconds: int, *, of_job: bool = False) -> Floats:
        """Share of the samples of such a window that there are; NaN where there never was one."""
        ...

    def last(self, pattern: EventPattern) -> Floats:
        """Unix seconds of the last match, minus infinity without one, NaN where that is not known."""
        ...

    def occurrences(self, pattern: EventPattern, seconds: int) -> Floats:
        """How many matches there were."""
        ...

    def latest(self, pattern: EventPattern, row: int) -> ErrorEvent | None:
        """The last match of a row, whose time `last` returns; None without one."""
        ...

    def absence(self, row: int, key: Key, /) -> str:
        """Why a row has no current value; empty where that is not known."""
        ...

    def provenance(self, row: int, key: Key | None, /) -> Provenance:
        """The class of the source of a row's value; without a key the weakest of all of its sources."""
        ...

    def weakest(self, rows: Indices, /) -> Provenance:
        """The weakest class of source among rows."""
        ...

    def groups(self, by: str) -> Groups | None:
        """The rows in groups; None where nothing is known of such groups."""
        ...

    def firing(self, rule: str) -> Bools | None:
        """Where another rule is firing; None where there is no such rule."""
        ...

    def finding(self, subject: str, row: int, /) -> Finding | None:
        """What the detector has found of a row as a `subject`; empty for the narrowest."""
        ...


def factored(texts: list[str | None]) -> Texts:
    """A column of text out of one a row."""
    values = sorted({text for text in texts if text is not None})
    code_of: dict[str | None, int] = {value: at for at, value in enumerate(values)}
    codes = np.array([code_of.get(text, -1) for text in texts], dtype=np.intp)
    return Texts(codes, tuple(values))
