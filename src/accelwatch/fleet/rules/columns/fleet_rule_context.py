"""A hub's fleet as the ground of rules: its table says who stands in which row."""

from collections.abc import Collection, Iterator, Sequence

from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.expr.needs import Needs
from accelwatch.fleet.rules.columns.columns import Indices
from accelwatch.fleet.rules.columns.event_columns import IsNew
from accelwatch.fleet.rules.columns.live import FleetColumns
from accelwatch.fleet.rules.columns.rule_context import (
    BY,
    Firing,
    first_of_group,
    grouped_entities,
    name_of,
)
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.table.belief import Bools
from accelwatch.schema.metrics import Series


class FleetRuleContext:
    """Rows of a live fleet; the loop's thread only."""

    def __init__(self, fleet: Fleet, is_new: IsNew = lambda _: True) -> None:
        self._fleet = fleet
        self._is_new = is_new

    def absent(self, _series: Collection[Series]) -> frozenset[Series]:
        """None: any agent may report anything at any time."""
        return frozenset()

    def columns(self, needs: Needs, firing: Firing) -> FleetColumns:
        """All columns that rules read. Raises WindowsError when the windows need too much memory."""
        return FleetColumns(self._fleet, needs, firing, self._is_new)

    def monotonic(self) -> float:
        """Seconds that only grow."""
        return self._fleet.clock.monotonic()

    def wall(self) -> float:
        """Unix seconds, for people."""
        return self._fleet.clock.wall()

    def row_of(self, entity: Entity, here: Bools) -> int | None:
        """The row that answers for an entity: of several the first that is here."""
        if entity.scope is Scope.DEVICE:
            return self._fleet.table.rows.get((entity.node, entity.device))
        groups = self._fleet.groups.by(BY[entity.scope])
        return first_of_group(name_of(entity), groups.names, groups.of_row, here)

    def rows_of(self, node: str) -> Sequence[int]:
        """The rows of a node's devices."""
        slots = self._fleet.table.slots_of(node)
        return () if slots is None else slots.rows

    def node_at(self, row: int) -> str:
        """The node of the device in a row."""
        table = self._fleet.table
        return table.at_number[int(table.node[row])].node

    def has_job_ended(self, _job: str) -> bool:
        """Never known: owners may merely not be reported any longer."""
        return False

    def device_id(self, node: str, name: str) -> str | None:
        """The id of a device by its name or id; None where there is none."""
        slots = self._fleet.table.slots_of(node)
        for row in () if slots is None else slots.rows:
            device = self._fleet.table.devices[row]
            if device is not None and name in (device.name, device.id):
                return device.id
        return None

    def entities(self, scope: Scope, rows: Indices) -> Iterator[tuple[Entity, int]]:
        """Whom rows stand for, each once."""
        if scope is Scope.DEVICE:
            table = self._fleet.table
            for row in rows.tolist():
                device, slots = table.devices[row], table.at_number[int(table.node[row])]
                if device is not None:
                    yield Entity(scope=scope, node=slots.node, device=device.id), row
            return
        groups = self._fleet.groups.by(BY[scope])
        yield from grouped_entities(scope, groups.names, groups.of_row, rows)
