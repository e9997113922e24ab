"""What rules are judged on: the rows of a live fleet or of an archive, and who stands in them."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.base.slices import LongWork
from accelwatch.expr.checking.tree import EventPattern
from accelwatch.expr.needs import Needs
from accelwatch.fleet.rules.columns.columns import Columns, Indices
from accelwatch.fleet.rules.columns.detector_facts import DetectorFacts
from accelwatch.fleet.table.belief import Bools
from accelwatch.schema.metrics import Series

# Where a rule is firing, by row; None where there is no such rule.
Firing = Callable[[str], Bools | None]
# By what the devices of an entity that is no device are grouped.
BY = {Scope.NODE: "node", Scope.JOB: "job", Scope.RACK: "rack"}


class TableViews(Columns, Protocol):
    """Columns that can be brought to the moment of the next tick."""

    # Of the detector that runs beside the rules; without one nothing is known.
    detector_facts: DetectorFacts

    @property
    def here(self) -> Bools:
        """Which rows are devices, present or expected."""
        ...

    async def refresh(self, work: LongWork) -> None:
        """Refresh everything, and add samples to the windows."""
        ...

    def newest(self, pattern: EventPattern) -> float:
        """When a pattern was matched last by anybody, Unix seconds; minus infinity: never."""
        ...

    def close(self) -> None:
        """Let go of the windows."""
        ...


class RunsDetector(Protocol):
    """Who runs a detector beside rules."""

    facts: DetectorFacts

    @property
    def needs(self) -> Needs:
        """What the columns of the rules have to provide besides."""
        ...

    def pause(self) -> None:
        """No rule needs its findings: nothing is known until it runs again."""
        ...

    async def detect(self, columns: TableViews, work: LongWork) -> None:
        """Run on columns that are up to date, if the interval is over. Raises nothing."""
        ...


class RuleContext(Protocol):
    """A fleet that rules are judged on."""

    def absent(self, series: Collection[Series]) -> frozenset[Series]:
        """Those of these series that will never be reported."""
        ...

    def columns(self, needs: Needs, firing: Firing) -> TableViews:
        """All columns that rules read. Raises WindowsError when the windows need too much memory."""
        ...

    def monotonic(self) -> float:
        """Seconds that only grow."""
        ...

    def wall(self) -> float:
        """Unix seconds, for people."""
        ...

    def row_of(self, entity: Entity, here: Bools) -> int | None:
        """The row that answers for an entity: of several the first that is here."""
        ...

    def entities(self, scope: Scope, rows: Indices) -> Iterator[tuple[Entity, int]]:
        """Whom rows stand for, each once, with a row of it."""
        ...

    def rows_of(self, node: str) -> Sequence[int]:
        """The rows of a node's devices."""
        ...

    def node_at(self, row: int) -> str:
        """The node of the device in a row."""
        ...

    def has_job_ended(self, job: str) -> bool:
        """Whether a job is known to be over; that no node reports it any more does not prove it."""
        ...

    def device_id(self, node: str, name: str) -> str | None:
        """The id of a device by its name or id; None where there is none."""
        ...


def first_of_group(
    name: str, names: tuple[str, ...], of_row: npt.NDArray[np.integer], here: Bools
) -> int | None:
    """The first row of a group that is here."""
    if name not in names:
        return None
    count = min(len(of_row), len(here))  # rows become more within a tick
    rows = np.flatnonzero((of_row[:count] == names.index(name)) & here[:count])
    return int(rows[0]) if len(rows) else None


def grouped_entities(
    scope: Scope, names: tuple[str, ...], of_row: npt.NDArray[np.integer], rows: Indices
) -> Iterator[tuple[Entity, int]]:
    """The nodes, jobs or racks of rows, each with its first."""
    numbers, firsts = np.unique(of_row[rows], return_index=True)
    for number, first in zip(numbers.tolist(), firsts.tolist(), strict=True):
        if number >= 0:
            yield Entity(scope=scope, **{BY[scope]: names[number]}), int(rows[first])


def name_of(entity: Entity) -> str:
    """What the group of an entity that is no device is called."""
    named: str = getattr(entity, BY[entity.scope])
    return named
