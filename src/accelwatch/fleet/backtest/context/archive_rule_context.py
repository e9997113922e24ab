"""An archive as the ground of rules."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from accelwatch.alerting.incidents.model.incident import Facts
from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.expr.needs import Needs
from accelwatch.fleet.backtest.calendar import Jobs
from accelwatch.fleet.backtest.context.archive_states import UNREADABLE
from accelwatch.fleet.backtest.context.columns import ArchiveColumns
from accelwatch.fleet.backtest.context.device_groups import DeviceGroups as Belonging
from accelwatch.fleet.backtest.context.device_index import DeviceIndex
from accelwatch.fleet.backtest.context.event_history import ArchiveEventHistory
from accelwatch.fleet.rules.columns.columns import Indices
from accelwatch.fleet.rules.columns.rule_context import (
    BY,
    Firing,
    first_of_group,
    grouped_entities,
    name_of,
)
from accelwatch.fleet.table.belief import Bools
from accelwatch.schema.metrics import Series

# What states say.
_STATE_SERIES = frozenset({"device_up", "device_suspended", "health"})


class ArchiveRuleContext:
    """Rows of an archive, brought forward by who reads it."""

    def __init__(self, archive: Archive, step_s: float, also: Collection[Series] = ()) -> None:
        """`also` are series that columns have beside those of rules.

        Raises ArchiveError for jobs that cannot be read.
        """
        self._recorded = archive.series()
        self._also = frozenset(also)
        self.device_index = DeviceIndex(step_s)
        jobs = archive.jobs()
        self.has_jobs = bool(jobs)
        self._all_nodes_of: dict[str, set[str]] = {}
        for job in jobs:
            self._all_nodes_of.setdefault(job.job, set()).add(job.node)
        self.belonging = Belonging(self.device_index, Jobs(jobs))
        self.event_history = ArchiveEventHistory(archive.events(), self.device_index, self._skew_s)
        self.table_view: ArchiveColumns | None = None
        # Unix seconds.
        self.now = 0.0

    def absent(self, series: Collection[Series]) -> frozenset[Series]:
        """Those of these series that the archive has no column of."""
        return self.not_recorded(self._recorded, series)

    @staticmethod
    def not_recorded(recorded: Collection[Series], series: Collection[Series]) -> frozenset[Series]:
        """Those of these series that an archive with columns of some has none of."""
        return frozenset(
            key for key in series if key not in recorded and key[0] not in _STATE_SERIES
        )

    def columns(self, needs: Needs, firing: Firing) -> ArchiveColumns:
        """All columns that rules read. Raises WindowsError when the windows need too much memory."""
        absent = self.absent(needs.series)
        unreadable = {key for key in self._recorded if key[0] == UNREADABLE}
        recorded = replace(
            needs,
            series=(needs.series - absent) | self._also | unreadable,
            windows=frozenset(window for window in needs.windows if window.series not in absent),
        )
        self.table_view = ArchiveColumns(
            self.device_index, self.belonging, self.event_history, recorded, firing
        )
        return self.table_view

    def _skew_s(self, node: str) -> float:
        number = self.device_index.number(node)
        return (
            0.0
            if number is None or self.table_view is None
            else self.table_view.samples.skew_s(number)
        )

    def monotonic(self) -> float:
        """Seconds that only grow."""
        return self.now

    def wall(self) -> float:
        """Unix seconds of the archive."""
        return self.now

    def row_of(self, entity: Entity, here: Bools) -> int | None:
        """The row that answers for an entity: of several the first that is here."""
        if entity.scope is Scope.DEVICE:
            return self.device_index.row(entity.node, entity.device)
        named = self.belonging.by(BY[entity.scope])
        return first_of_group(name_of(entity), named.values, named.codes, here)

    def rows_of(self, node: str) -> Sequence[int]:
        """The rows of a node's devices."""
        return self.device_index.rows(node)

    def node_at(self, row: int) -> str:
        """The node of the device in a row."""
        return self.device_index.devices[row].node

    def has_job_ended(self, job: str) -> bool:
        """Whether a job is over."""
        return not self.belonging.nodes_of(job)

    def device_id(self, node: str, name: str) -> str | None:
        """The id of a device by its id; None where there is none."""
        return None if self.device_index.row(node, name) is None else name

    def entities(self, scope: Scope, rows: Indices) -> Iterator[tuple[Entity, int]]:
        """Whom rows stand for, each once."""
        if scope is Scope.DEVICE:
            for row in rows.tolist():
                device = self.device_index.devices[row]
                yield Entity(scope=scope, node=device.node, device=device.device), row
            return
        named = self.belonging.by(BY[scope])
        yield from grouped_entities(scope, named.values, named.codes, rows)

    def facts(self, entity: Entity) -> Facts:
        """What is known of an entity now."""
        rows = self._rows(entity)
        owners = [owner for row in rows if (owner := self.belonging.owner(row)) is not None]
        device = (
            self.device_index.devices[rows[0]] if rows and entity.scope is Scope.DEVICE else None
        )
        nodes = {self.device_index.devices[row].node for row in rows}
        if entity.scope is Scope.JOB:
            nodes |= set(self.belonging.nodes_of(entity.job))
        return Facts(
            device_name="" if device is None else device.device,
            model="" if device is None else device.model,
            vendor="" if device is None else device.device.partition(":")[0],
            jobs=tuple(sorted({owner.job for owner in owners})),
            users=tuple(sorted({owner.user for owner in owners if owner.user})),
            nodes=tuple(sorted(nodes)),
        )

    def devices_of(self, job: str | None, nodes: Sequence[str]) -> int:
        """How many devices a job has, or these nodes have."""
        of_job = self._all_nodes_of.get(job or "", set())
        return sum(len(self.device_index.rows(node)) for node in (of_job or nodes))

    def _rows(self, entity: Entity) -> list[int]:
        if entity.scope is Scope.DEVICE:
            row = self.device_index.row(entity.node, entity.device)
            return [] if row is None else [row]
        if entity.scope is Scope.NODE:
            return self.device_index.rows(entity.node)
        return [
            row
            for node in self.belonging.nodes_of(entity.job)
            for row in self.device_index.rows(node)
        ]
