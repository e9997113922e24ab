"""An archive as the ground of rules."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from accelwatch.alerting.incidents.incident import Facts
from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.archive.history.reader import Archive
from accelwatch.expr.needs import Needs
from accelwatch.fleet.backtest.calendar import Jobs
from accelwatch.fleet.backtest.columns import UNREADABLE, ArchiveColumns
from accelwatch.fleet.backtest.heard import Heard
from accelwatch.fleet.backtest.places import Places as Belonging
from accelwatch.fleet.backtest.roster import Roster
from accelwatch.fleet.rules.columns import Places
from accelwatch.fleet.rules.ground import BY, Firing, first_of_group, grouped_entities, name_of
from accelwatch.fleet.table.belief import Bools
from accelwatch.schema.metrics import Series

_STANDING = frozenset({"device_up", "device_suspended", "health"})
"""What states say."""


class ArchiveGround:
    """Rows of an archive, brought forward by who reads it."""

    def __init__(self, archive: Archive, step_s: float, also: Collection[Series] = ()) -> None:
        """`also` are series that columns have beside those of rules.

        Raises ArchiveError for jobs that cannot be read.
        """
        self._told = archive.series()
        self._also = frozenset(also)
        self.roster = Roster(step_s)
        jobs = archive.jobs()
        self.has_jobs = bool(jobs)
        self._all_nodes_of: dict[str, set[str]] = {}
        for one in jobs:
            self._all_nodes_of.setdefault(one.job, set()).add(one.node)
        self.belonging = Belonging(self.roster, Jobs(jobs))
        self.heard = Heard(archive.events(), self.roster, self._skew_s)
        self.moments: ArchiveColumns | None = None
        self.now = 0.0
        """Unix seconds."""

    def absent(self, series: Collection[Series]) -> frozenset[Series]:
        """Those of these series that the archive has no column of."""
        return self.untold(self._told, series)

    @staticmethod
    def untold(told: Collection[Series], series: Collection[Series]) -> frozenset[Series]:
        """Those of these series that an archive with columns of some has none of."""
        return frozenset(one for one in series if one not in told and one[0] not in _STANDING)

    def columns(self, needs: Needs, firing: Firing) -> ArchiveColumns:
        """All that rules ask for. Raises WindowsError when the windows take too much memory."""
        absent = self.absent(needs.series)
        words = {one for one in self._told if one[0] == UNREADABLE}
        told = replace(
            needs,
            series=(needs.series - absent) | self._also | words,
            windows=frozenset(one for one in needs.windows if one.series not in absent),
        )
        self.moments = ArchiveColumns(self.roster, self.belonging, self.heard, told, firing)
        return self.moments

    def _skew_s(self, node: str) -> float:
        number = self.roster.number(node)
        return 0.0 if number is None or self.moments is None else self.moments.skew_s(number)

    def monotonic(self) -> float:
        """Seconds that only grow."""
        return self.now

    def wall(self) -> float:
        """Unix seconds of the archive."""
        return self.now

    def row_of(self, entity: Entity, here: Bools) -> int | None:
        """The row that answers for an entity: of several the first that is here."""
        if entity.scope is Scope.DEVICE:
            return self.roster.row(entity.node, entity.device)
        named = self.belonging.by(BY[entity.scope])
        return first_of_group(name_of(entity), named.words, named.codes, here)

    def rows_of(self, node: str) -> Sequence[int]:
        """The rows of a node's devices."""
        return self.roster.rows(node)

    def node_at(self, row: int) -> str:
        """The node of the device in a row."""
        return self.roster.devices[row].node

    def has_ended(self, job: str) -> bool:
        """Whether a job is over."""
        return not self.belonging.nodes_of(job)

    def device_id(self, node: str, name: str) -> str | None:
        """The id of a device by its id; None where there is none."""
        return None if self.roster.row(node, name) is None else name

    def entities(self, scope: Scope, rows: Places) -> Iterator[tuple[Entity, int]]:
        """Whom rows stand for, each once."""
        if scope is Scope.DEVICE:
            for row in rows.tolist():
                device = self.roster.devices[row]
                yield Entity(scope=scope, node=device.node, device=device.device), row
            return
        named = self.belonging.by(BY[scope])
        yield from grouped_entities(scope, named.words, named.codes, rows)

    def facts(self, entity: Entity) -> Facts:
        """What is known of an entity now."""
        rows = self._rows(entity)
        owners = [owner for row in rows if (owner := self.belonging.owner(row)) is not None]
        device = self.roster.devices[rows[0]] if rows and entity.scope is Scope.DEVICE else None
        nodes = {self.roster.devices[row].node for row in rows}
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
        return sum(len(self.roster.rows(node)) for node in (of_job or nodes))

    def _rows(self, entity: Entity) -> list[int]:
        if entity.scope is Scope.DEVICE:
            row = self.roster.row(entity.node, entity.device)
            return [] if row is None else [row]
        if entity.scope is Scope.NODE:
            return self.roster.rows(entity.node)
        return [
            row for node in self.belonging.nodes_of(entity.job) for row in self.roster.rows(node)
        ]
