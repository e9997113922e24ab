"""The store: reports of a collector go in, snapshots come out. Only its owner's thread touches it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from accelwatch.base.absence import Absence
from accelwatch.base.clock import Clock
from accelwatch.base.version import __version__
from accelwatch.node.store.accumulate import Accumulator
from accelwatch.node.store.devices.row import FIRST, StoredDevice, accumulates, of_device
from accelwatch.node.store.devices.rows import Rows
from accelwatch.node.store.devices.unread import status_by
from accelwatch.node.store.devices.views import ViewContext, stale_after_a_pause_s, view_of
from accelwatch.node.store.events import EventStore
from accelwatch.node.store.failures import is_over, read_failures
from accelwatch.node.store.own import SelfMetrics
from accelwatch.node.store.persistence.identities import IdentityCache
from accelwatch.node.store.reports import (
    BackendChanged,
    CollectorExited,
    Cycle,
    Events,
    Failure,
    Heartbeat,
    Identified,
    Outcome,
    Report,
    Slots,
)
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.reading import READS_UNTIL_STALE
from accelwatch.schema.snapshot import BackendState, BackendStatus, Snapshot
from accelwatch.system.kernel.machine import boot_id, system_uuid
from accelwatch.system.kernel.proc import boot_time

if TYPE_CHECKING:
    from accelwatch.node.store.persistence.counts import CountFile
    from accelwatch.node.store.persistence.identity_file import IdentityFile

Listener = Callable[[], None]


class Store:
    """Latest state of one node.

    A reading older than three intervals (longer where a read may take longer) is shown as stale; its
    device is then unresponsive, with unknown health: silence alone says nothing about the device.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        interval_s: float = 1.0,
        timeout_s: float = 0.0,
        groups: frozenset[str] = frozenset(),
        one_shot: bool = False,
        root: Path = Path("/"),
        expect: int = 0,
        count_file: "CountFile | None" = None,
        identity_file: "IdentityFile | None" = None,
        host: str | None = None,
    ) -> None:
        self._clock = clock
        self._interval_s = interval_s
        self._stale_after_s = _stale_after_s(interval_s, timeout_s)
        self._groups = groups
        self._one_shot = one_shot
        self._host = os.uname().nodename if host is None else host
        self._root = root
        self._boot_id = boot_id(root)
        self._system_uuid = "" if one_shot else system_uuid(root)
        self._identity_file = identity_file
        self._rows = Rows(
            IdentityCache(identity_file.load(), identity_file.offer) if identity_file else None
        )
        self._backends: dict[str, BackendStatus] = {}
        self._exited: CollectorExited | None = None
        self._count_file = count_file
        self._events = EventStore(
            self._rows.resolve,
            count_file.load() if count_file else None,
            ambiguous=self._rows.ambiguous,
        )
        self._own = SelfMetrics(interval_s, expect)
        self._listeners: list[Listener] = []
        # Grows with every change.
        self.version = 0

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` after every completed cycle, event or change of a backend; returns its end."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def apply(self, report: Report) -> None:
        """Apply one report."""
        match report:
            case Heartbeat():
                self._own.heartbeat(report)
            case Outcome() | Slots() | Identified():
                self._apply_to_devices(report)
                self.version += 1
            case Cycle() | Events() | BackendChanged() | CollectorExited():
                self._apply_to_collectors(report)
                self.version += 1
                for listener in tuple(self._listeners):
                    listener()

    def pace(self, interval_s: float, timeout_s: float) -> None:
        """A new collector reads at another interval from now on; what is known of devices stays."""
        context = self._view_context()
        self._interval_s = interval_s
        self._stale_after_s = _stale_after_s(interval_s, timeout_s)
        for row in self._rows:
            row.stale_after_s = stale_after_a_pause_s(row, context)
            if row.accumulator is not None:
                row.accumulator.pace(self._stale_after_s)
        self._own.pace(interval_s)
        self.version += 1

    def conclude(self, failure: Failure) -> None:
        """No more will come for a single reading: what has not been read gets this reason."""
        wall = self._clock.wall()
        crashed = failure.absence is Absence.ERROR
        for row in self._rows:
            if row.failure is FIRST:
                row.fail(failure, wall, fault_of_device=not crashed)
        self._events.settle(float("inf"))
        self.version += 1

    def snapshot(self) -> Snapshot:
        """Everything known now."""
        context = self._view_context()
        rows = self._rows.in_order()
        views = [(row, view_of(row, context)) for row in rows]
        host = next((view for row, view in views if row.is_host), None)
        vendors = {name: status.vendor for name, status in self._backends.items() if status.devices}
        return Snapshot(
            time=context.wall,
            host=self._host,
            version=__version__,
            boot_id=self._boot_id,
            boot_time=None if self._one_shot else boot_time(self._root) or None,
            system_uuid=self._system_uuid,
            interval_s=None if self._one_shot else self._interval_s,
            devices=tuple(view for row, view in views if not row.is_host),
            node=host,
            backends=tuple(
                status_by(self._backends[name], self._rows.of_backend(name))
                for name in sorted(self._backends)
            ),
            events=self._events.events(),
            errors=read_failures(rows, self._exited),
            own=self._own.series([(row.backend, view) for row, view in views], vendors),
        )

    def _view_context(self) -> ViewContext:
        return ViewContext(
            wall=self._clock.wall(),
            timestamp=self._clock.monotonic(),
            groups=self._groups,
            one_shot=self._one_shot,
            stale_after_s=None if self._one_shot else self._stale_after_s,
            events=self._events,
        )

    def state_key(self) -> object:
        """What is another when a device comes, goes or is in another state, or an event has come."""
        return self._events.total, tuple((row.device.id, row.state) for row in self._rows)

    def close(self) -> None:
        """Let what persists be written."""
        for file in (self._count_file, self._identity_file):
            if file is not None:
                file.close()

    def _apply_to_devices(self, report: Outcome | Slots | Identified) -> None:
        match report:
            case Outcome():
                self._on_outcome(report)
            case Slots():
                self._rows.discovered(report, self._clock.wall())
            case Identified():
                self._rows.identified(report, self._clock.wall())
                self._settle_events()

    def _apply_to_collectors(
        self, report: Cycle | Events | BackendChanged | CollectorExited
    ) -> None:
        match report:
            case Cycle():
                self._on_cycle(report)
            case Events():
                self._record(report.events)
            case BackendChanged():
                self._on_backend(report.status)
            case CollectorExited():
                self._on_exited(report)

    def _on_outcome(self, outcome: Outcome) -> None:
        rows = self._rows.of_slot(outcome.backend, outcome.slot)
        readings = {reading.device_id: reading for reading in outcome.readings}
        for row in rows:
            reading = readings.get(row.backend_id)
            if reading is not None:
                reading = of_device(reading, row.device.id)
                row.accumulator = row.accumulator or self._accumulator(row)
                row.succeed(reading, outcome.monotonic, outcome.wall)
            # A single reading has one deadline for all: what a later process cannot read any more,
            # after a crash of the first, removes nothing that was read.
            elif not (self._one_shot and row.reading is not None):
                row.fail(outcome.failure or _NO_READING, outcome.wall)

    def _accumulator(self, row: StoredDevice) -> Accumulator | None:
        if self._one_shot or not accumulates(row.device):
            return None
        return Accumulator(gap_limit_s=self._stale_after_s, groups=self._groups)

    def _on_cycle(self, cycle: Cycle) -> None:
        self._own.cycle(cycle)
        self._rows.cycle_over(cycle.backend, self._clock.wall())
        self._settle_events()
        if self._exited is not None and is_over(self._exited, cycle):
            self._exited = None

    def _on_backend(self, status: BackendStatus) -> None:
        self._backends[status.name] = status
        if status.state is BackendState.OK:
            return
        # A machine that has none of this hardware is well: its collector must not count as down.
        if status.state is not BackendState.ABSENT:
            self._own.down(status.name)
        failure = Failure(
            absence=Absence.ERROR,
            code=status.reason,
            message=f"backend {status.name}: {status.message}",
        )
        for row in self._rows.of_backend(status.name):
            if self._one_shot and row.reading is not None:
                continue
            # What went down is the driver or we: of the devices it says nothing.
            row.fail(failure, self._clock.wall(), fault_of_device=False)

    def _on_exited(self, report: CollectorExited) -> None:
        self._exited = report
        self._own.all_down()
        for name in report.backends:
            self._own.down(name)
        slots = [component for component in report.components if component.slot]
        # Several that were inside a call are suspects: a device is named for a crash only when it was
        # alone.
        rows = self._rows.of_slot(slots[0].backend, slots[0].slot) if len(slots) == 1 else []
        event = ErrorEvent(
            code="collector_crash",
            device_id=rows[0].device.id if rows else "",
            category=Category.OTHER,
            time=report.wall,
            text=report.message,
            source="collector",
            detail={"code": report.code, "backends": ",".join(report.backends)},
        )
        self._record((event,))

    def _record(self, events: tuple[ErrorEvent, ...]) -> None:
        if self._events.add(events, self._clock.monotonic()):
            self._persist()

    def _settle_events(self) -> None:
        if self._events.settle(self._clock.monotonic()):
            self._persist()

    def _persist(self) -> None:
        if self._count_file is not None:
            self._count_file.offer(self._events.counts)


def _stale_after_s(interval_s: float, timeout_s: float) -> float:
    return max(READS_UNTIL_STALE * interval_s, 2 * interval_s + timeout_s)


_NO_READING = Failure(
    absence=Absence.ERROR, code="contract", message="the backend gave no reading of this partition"
)
