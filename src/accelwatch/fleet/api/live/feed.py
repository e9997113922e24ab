"""What one set of fields and filter shows of the fleet, tick by tick; made once for all who watch."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
import numpy.typing as npt

from accelwatch.base.slices import LongWork
from accelwatch.expr import Expression
from accelwatch.fleet.api.live.tick_frames import TickFrames
from accelwatch.fleet.api.query.choosing import chosen, series_of, subject_at
from accelwatch.fleet.api.query.events import event_row
from accelwatch.fleet.api.query.names import Column, all_series, columns
from accelwatch.fleet.api.query.names import condition as compiled_condition
from accelwatch.fleet.api.query.showing import shown
from accelwatch.fleet.api.query.totals import Totals
from accelwatch.fleet.api.query.written import identity_fields
from accelwatch.fleet.api.summaries import fleet_document
from accelwatch.fleet.names import SPEAKING
from accelwatch.fleet.state.events import Noted
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.fleet_status import AT_ONCE, FleetStatus, refresh_nodes, status_of
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.state.rows.table import Indices
from accelwatch.fleet.table.rows import grown
from accelwatch.fleet.table.state_codes import HEALTHS, STATE, STATES
from accelwatch.fleet.wire import (
    DeviceNow,
    DeviceSlot,
    FleetDocument,
    FleetTick,
    NodeNow,
)
from accelwatch.web.http.stream import (
    framed,
)

# Characters of why a node is silent, in every tick.
_MAX_WHY = 200
_UNREACHABLE = STATE["unreachable"]


class Feed:
    """Ticks for one set of fields and filter."""

    def __init__(
        self, fleet: Fleet, columns: tuple[Column, ...], expression: Expression | None
    ) -> None:
        self._fleet = fleet
        self._columns = columns
        self.clients = 0
        self.ticks = TickFrames()
        self._expression = expression
        self._series = [*all_series(columns), *series_of(expression)]
        # By row, what the table's `changed` was when its slot was sent.
        self._announced_versions: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
        # Making a tick yields to the loop. A second one meanwhile would give out the same sequence
        # number twice, and viewers would miss a change.
        self._making = asyncio.Lock()

    @property
    def fields(self) -> tuple[str, ...]:
        """What the values of a device are, in order."""
        return tuple(name for name, _ in self._columns)

    @property
    def last_event(self) -> int:
        """Number of the newest event of the fleet."""
        return self._fleet.events.last

    async def start(self) -> None:
        """Have its numbers among those that are next decoded, for whomever that is."""
        self._fleet.table.planes.request(self._series, self._fleet.clock.monotonic())

    def close(self) -> None:
        """Nothing is held."""

    async def make(self, document: FleetDocument) -> None:
        """Make the next tick; one at a time."""
        async with self._making:
            await self._make(document)

    async def _make(self, document: FleetDocument) -> None:
        fleet = self._fleet
        devices: list[DeviceNow] = []
        nodes: list[NodeNow] = []
        work = LongWork()
        ready = await refresh_nodes(fleet, self._series, work.yield_control)
        await fleet.odd.refresh(work)
        for at in range(0, len(ready), AT_ONCE):
            batch = ready[at : at + AT_ONCE]
            nodes += [_node_now(fleet, node) for node in batch]
            devices += self._now(fleet, status_of(fleet, batch))
            await work.yield_control()
        self.ticks.publish(
            FleetTick(
                sequence=self.ticks.sequence + 1,
                time=fleet.clock.wall(),
                fleet=document,
                nodes=tuple(nodes),
                devices=tuple(devices),
            )
        )

    def _now(self, fleet: Fleet, now: FleetStatus) -> list[DeviceNow]:
        at = np.flatnonzero(chosen(fleet, now, self._expression))
        if not len(at):
            return []
        table, rows, state = fleet.table, now.rows[at], now.state[at]
        self._update_devices(fleet, now, at)
        ages = [None if math.isnan(age) else age for age in now.age_s[at].tolist()]
        return list(
            map(
                DeviceNow,
                rows.tolist(),
                [STATES[code] for code in state.tolist()],
                [HEALTHS[code] for code in now.health[at].tolist()],
                ages,
                zip(*shown(table, rows, state == _UNREACHABLE, self._columns), strict=True),
            )
        )

    def _update_devices(self, fleet: Fleet, now: FleetStatus, at: Indices) -> None:
        """Send the devices in the rows that have changed since they were sent."""
        table, rows = fleet.table, now.rows[at]
        self._announced_versions = grown(self._announced_versions, table.rows.size, -1)
        for position in np.flatnonzero(
            self._announced_versions[rows] != table.changed[rows]
        ).tolist():
            row = int(rows[position])
            identity = identity_fields(subject_at(fleet, now, int(at[position])))
            self._announced_versions[row] = table.changed[row]
            self.ticks.assign(DeviceSlot(slot=row, **identity))

    def events(self, media: str, after: int) -> bytes:
        """Events after a number as bytes: with a filter, of devices that it has let through."""
        return b"".join(
            [
                framed(event_row(noted), media)
                for noted in self._fleet.events.after(after)
                if self._shows(noted)
            ]
        )

    def _shows(self, noted: Noted) -> bool:
        if self._expression is None:
            return True
        row = self._fleet.table.rows.get((noted.node, noted.event.device_id))
        shown = None if row is None else self.ticks.devices.get(row)
        return shown is not None and shown[1].node == noted.node


class FleetFeeds:
    """Implements `LiveSource` over a fleet that is held here."""

    def __init__(
        self,
        fleet: Fleet,
        sums: Callable[[], Awaitable[Totals]],
        labels: Callable[[], set[str]],
    ) -> None:
        """`labels` gives the names of all labels of targets."""
        self._fleet = fleet
        self._sums = sums
        self._labels = labels

    def feed(self, fields: Sequence[str], condition: str) -> Feed:
        """A new feed. Raises ExpressionError, UsageError."""
        expression = compiled_condition(condition, self._labels()) if condition else None
        return Feed(self._fleet, columns(fields), expression)

    async def document(self) -> FleetDocument:
        """The fleet in numbers."""
        return fleet_document(self._fleet, await self._sums())


def _node_now(fleet: Fleet, node: Node) -> NodeNow:
    slots = fleet.table.slots_of(node.name)
    missing = slots.missing if slots is not None and node.best is not None else 0
    state = fleet.state_of(node)
    why = _what_is_unread(node) if state in SPEAKING else node.why_silent[:_MAX_WHY]
    return NodeNow(
        node.name,
        state.value,
        fleet.age_of(node),
        missing,
        why,
        fleet.odd.of(node.name),
        fleet.lemons.of(node.name),
        fleet.finding_of(node.name),
    )


def _what_is_unread(node: Node) -> str:
    return "; ".join(backend.complaint for backend in node.unusable)[:_MAX_WHY]
