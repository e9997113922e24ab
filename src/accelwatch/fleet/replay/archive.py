"""An archive for viewing: any time as a picture, a node in full, an hour of a device.

Everything reads files, so it belongs to the reading thread.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from accelwatch.archive.history.layout import DEVICES, EVENTS, NODES, ArchiveError
from accelwatch.archive.history.reading.contents import Contents, contents
from accelwatch.archive.history.reading.event_search import EventSearch
from accelwatch.archive.history.reading.reader import jobs_of, maintenance_of
from accelwatch.archive.history.rows import EventRow
from accelwatch.expr import Expression, compile_condition
from accelwatch.fleet.names import fleet_names
from accelwatch.fleet.outages import NodeHealth, largest_outages
from accelwatch.fleet.picture.model import FIELDS, MOST_EVENTS, FleetView, RecentHistory
from accelwatch.fleet.picture.timeline import Stretch, Timeline
from accelwatch.fleet.replay.reading.archive_scan import ArchiveScan
from accelwatch.fleet.replay.reading.events import error_event, fleet_event
from accelwatch.fleet.replay.reading.fleet_snapshot import (
    FleetSnapshot,
    Recorded,
    fleet_snapshot_of,
)
from accelwatch.fleet.replay.reading.jobs import Jobs
from accelwatch.fleet.replay.reading.node_rows import NodeRows
from accelwatch.fleet.replay.reading.recent import Recent
from accelwatch.fleet.replay.reading.slot_registry import SlotRegistry, short_name
from accelwatch.fleet.replay.reading.status import UNREADABLE
from accelwatch.fleet.replay.reading.subject import matches
from accelwatch.fleet.replay.snapshots import NodeRecords, snapshot_of
from accelwatch.fleet.replay.view import candidates, device_now, sums
from accelwatch.schema.health import SIGNALS
from accelwatch.schema.metrics import Series
from accelwatch.schema.series import path_of
from accelwatch.schema.snapshot import Snapshot

# How old an event of the list may be.
EVENTS_SINCE_MS = 7 * 86_400_000
# Of the graphs; a sample stands until the next one.
_STEP_S = 10.0
_STEPS = 360
_TRACKED = (*FIELDS, "clock_hertz", "compute_active_ratio")
_ALWAYS_READ: frozenset[Series] = frozenset(
    {("device_up",), (UNREADABLE,), *(series for series, _, _ in SIGNALS)}
    | {series for key in _TRACKED for series in candidates(key)}
)

Row = TypeVar("Row")


class ReplayedArchive:
    """One archive, or a part of one."""

    def __init__(self, path: Path) -> None:
        """Raises ArchiveError for what is no archive, or cannot be read at all."""
        self.contents: Contents = contents(path)
        self.scan = ArchiveScan(self.contents)
        self.events = EventSearch(self.contents.groups[EVENTS])
        self._nodes = Recent(self.contents.folder, NODES, self.contents.groups[NODES], ())
        self._devices = self._of_devices(_ALWAYS_READ)
        self._requested = _ALWAYS_READ
        self._node_devices = self._of_node(DEVICES)
        self._host = self._of_node(NODES)
        self._slots = SlotRegistry()
        self._small_faults: list[str] = []
        self._jobs = Jobs(self._small(jobs_of))
        self._maintenance = self._small(maintenance_of)

    def _of_devices(self, series: frozenset[Series]) -> Recent:
        return Recent(self.contents.folder, DEVICES, self.contents.groups[DEVICES], series)

    def _of_node(self, table: str) -> NodeRows:
        return NodeRows(self.contents.folder, table, self.contents.groups[table])

    def _small(self, read: Callable[[Path], list[Row]]) -> list[Row]:
        """The rows of a small file; none, and a fault, where it cannot be read."""
        try:
            return read(self.contents.folder)
        except ArchiveError as error:
            self._small_faults.append(str(error))
            return []

    @property
    def faults(self) -> tuple[str, ...]:
        """What could not be read, and what to do."""
        groups = self.contents.groups.values()
        texts = [*self._small_faults, *(text for group in groups for text in group.faults.values())]
        hint = f"accelwatch history check {self.contents.folder} shows more"
        return tuple(f"{text}; {hint}" for text in texts)

    def fleet_at(self, now: int) -> tuple[FleetSnapshot, list[EventRow]]:
        """The fleet at a moment (Unix milliseconds), and the events up to it, oldest first."""
        events = self.events.until(now, since=now - EVENTS_SINCE_MS, most=MOST_EVENTS)
        self.scan.position = now
        recorded = Recorded(
            self._devices.latest(now),
            self._nodes.latest(now),
            self.scan.last_seen(now),
            self.scan.presence.models,
            events,
        )
        fleet = fleet_snapshot_of(now, self.contents.interval_s, recorded, self._jobs, self._slots)
        return fleet, events

    def condition(self, text: str) -> Expression | None:
        """A filter; its quantities are read from now on. Raises ExpressionError."""
        if not text:
            return None
        condition = compile_condition(text, fleet_names(()))
        self.request_series(name for name in condition.names if isinstance(name, tuple))
        return condition

    def request_series(self, series: Iterable[Series]) -> None:
        """Read these quantities of devices too from now on."""
        more = frozenset(series) - self._requested
        if more:
            self._requested = self._requested | more
            self._devices = self._of_devices(self._requested)

    def view(self, now: int, condition: Expression | None, text: str) -> FleetView:
        """The picture of a moment, Unix milliseconds; `text` is the filter's."""
        fleet, events = self.fleet_at(now)
        shown = fleet.subjects
        if condition is not None:
            shown = tuple(subject for subject in shown if matches(condition, subject))
        return FleetView(
            sequence=now,
            time=fleet.time,
            arrived_s=0.0,
            interval_s=self.contents.interval_s,
            filter=text,
            sums=msgspec.structs.replace(
                sums(fleet.time, fleet.nodes, fleet.subjects, self.faults),
                outages=largest_outages(
                    [
                        NodeHealth(node.node, node.state, node.age_s, node.why)
                        for node in fleet.nodes
                    ],
                    len(fleet.nodes),
                    fleet.time,
                ),
            ),
            nodes=fleet.nodes,
            slots=self._slots.all,
            devices=tuple(map(device_now, shown)),
            events=tuple(fleet_event(event, short_name) for event in events),
            recorded=True,
        )

    def device_history(self, node: str, device: str, now: int) -> RecentHistory | None:
        """The hour of a device up to a moment, Unix milliseconds; None where there is none."""
        times, columns = self._devices.track(node, device, now)
        if not len(times):
            return None
        grid = now - np.arange(_STEPS - 1, -1, -1) * round(_STEP_S * 1000)
        at = np.searchsorted(times, grid, side="right") - 1
        valid = (at >= 0) & (grid - times[at] <= 1500 * self.contents.interval_s)
        values = {
            path_of(series): [
                value if there and value == value else None  # noqa: PLR0124 - NaN
                for value, there in zip(column[at].tolist(), valid.tolist(), strict=True)
            ]
            for series, column in columns.items()
        }
        return RecentHistory(step_s=_STEP_S, end=now / 1000, values=values)

    def snapshot(self, node: str, now: int) -> Snapshot:
        """A node at a time, Unix milliseconds, with all its records."""
        fleet, events = self.fleet_at(now)
        records = NodeRecords(
            node,
            [subject for subject in fleet.subjects if subject.device_slot.node == node],
            self._node_devices.newest(node, now),
            self._host.newest(node, now),
            [error_event(event) for event in events if event.node == node],
        )
        return snapshot_of(records, now / 1000, self.contents.interval_s)

    def timeline(self) -> Timeline:
        """The whole span, as far as the scan has come."""
        contents, scan = self.contents, self.scan
        return Timeline(
            start=contents.first / 1000,
            end=contents.last / 1000,
            events=scan.events.tolist(),
            maintenance=tuple(
                Stretch(
                    start=row.start / 1000, end=row.end / 1000, node=row.node or "", text=row.reason
                )
                for row in self._maintenance
            ),
            silences=scan.silences,
            note="" if scan.complete else f"looking through it, {scan.share:.0%}",
        )
