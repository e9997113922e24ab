"""To whom each device is allocated: the part of the agent that knows containers, pods and jobs.

One daemon thread reads the sources; everything else only reads what it last found.
"""

import logging
import threading
from collections.abc import Iterable, Sequence

import msgspec

from accelwatch.backend import Check
from accelwatch.base.clock import Clock, SystemClock
from accelwatch.node.workloads.allocation import static_owners
from accelwatch.node.workloads.annotation import (
    Annotation,
    Annotations,
    DeviceFacts,
    Placement,
    moved,
)
from accelwatch.node.workloads.device_ids import DeviceIndex, is_accelerator
from accelwatch.node.workloads.facts import SourceState, SourceStatus
from accelwatch.node.workloads.gather import Gatherer
from accelwatch.node.workloads.settings import WorkloadSettings
from accelwatch.node.workloads.sources.members import MAX_MEMBERS, Key
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Process
from accelwatch.schema.snapshot import DeviceView, Owner, Snapshot

_LOG = logging.getLogger(__name__)
# Between two scans of /proc for new processes.
_SHORTEST_S = 1.0
_JOIN_S = 0.5


class Workloads:
    """Start it once; `owners` and `annotate` are for one other thread, do no I/O and never raise."""

    def __init__(
        self, settings: WorkloadSettings | None = None, *, clock: Clock | None = None
    ) -> None:
        self._settings = settings or WorkloadSettings()
        self._gatherer = Gatherer(self._settings, clock or SystemClock())
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._requested: frozenset[Key] = frozenset()
        self._failed = ""
        self._devices: tuple[Device, ...] = ()
        self._joined: tuple[DeviceFacts, DeviceIndex] | None = None
        self._annotations = Annotations(self._settings.sources)
        self._states: dict[tuple[str, str], SourceState] = {}

    def start(self) -> None:
        """Begin to read in the background; returns at once."""
        if self._thread is None and self._settings.sources:
            self._thread = threading.Thread(target=self._run, name="workloads", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread; waits half a second at most, a read that hangs is left behind."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(_JOIN_S)

    def refresh(self) -> None:
        """Read all sources once, in the caller's thread. For a single reading; blocks."""
        self._gatherer.round(set(self._requested))

    def resolve_processes(self, processes: Iterable[Process]) -> None:
        """Find out about these processes in the caller's thread. For a single reading; blocks."""
        self._gatherer.resolve_processes(set(_keys(processes)))

    def owners(
        self, devices: Iterable[Device], processes: Iterable[Process]
    ) -> dict[str, tuple[Owner, ...]]:
        """Owners by device id, from what is known now; a device without any has no entry."""
        return self._annotation(tuple(devices), tuple(processes)).owners

    def annotate(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot with owners of devices, and with container, pod and job of processes.

        A process's `pod` becomes `namespace/name` where the name is known, and stays the uid elsewhere.
        """
        devices = tuple(view.device for view in snapshot.devices)
        annotation = self._annotation(devices, tuple(snapshot.processes()))
        views: list[DeviceView] = []
        start = 0
        for view in snapshot.devices:
            end = start + len(view.reading.processes or ())
            owners = annotation.owners.get(view.device.id, ())
            views.append(_annotated(view, owners, annotation.placements[start:end]))
            start = end
        return msgspec.structs.replace(snapshot, devices=tuple(views))

    def _annotation(
        self, devices: tuple[Device, ...], processes: tuple[Process, ...]
    ) -> Annotation:
        device_facts, _ = self._join(devices)
        before = self._annotations.last
        annotation = self._annotations.of(devices, processes, device_facts)
        if annotation is not before:
            self._request_lookup(processes)
        return annotation

    def status(self) -> tuple[SourceStatus, ...]:
        """How it stands with each source, for /capabilities."""
        statuses = self._gatherer.statuses()
        if self._failed:
            failure = SourceStatus(name="workloads", state=SourceState.FAILED, message=self._failed)
            return (*statuses, failure)
        if (unmatched := self._unmatched()) is not None:
            return tuple(
                msgspec.structs.replace(status, reason="unmatched", message=unmatched)
                if status.name == "podresources" and status.state is SourceState.OK
                else status
                for status in statuses
            )
        return statuses

    def checks(self) -> tuple[Check, ...]:
        """The same for `doctor`; a source that is absent or off is fine."""
        return tuple(
            Check(
                subject=f"{status.name} {status.subject}".strip(),
                ok=status.state is not SourceState.FAILED,
                found=status.message or f"{status.state}, {status.entries} entries",
                remedy=status.remedy,
            )
            for status in self.status()
        )

    def _request_lookup(self, processes: tuple[Process, ...]) -> None:
        requested = frozenset(_keys(processes))
        if requested != self._requested:
            fresh = not requested <= self._requested
            self._requested = requested
            if fresh:
                self._wake.set()

    def _join(self, devices: tuple[Device, ...]) -> tuple[DeviceFacts, DeviceIndex]:
        """What stands, worked out again only when the devices or the facts have changed."""
        facts, joined = self._gatherer.facts, self._joined
        if joined is None or joined[0].facts is not facts or self._devices != devices:
            index = DeviceIndex(devices, facts.nodes)
            fixed = static_owners(index, facts, self._settings.gpu_order)
            joined = self._joined = DeviceFacts(facts, fixed), index
            self._devices = devices
        return joined

    def _unmatched(self) -> str | None:
        """A sentence about accelerators in the kubelet's answer that are none of our devices."""
        joined = self._joined
        if joined is None:
            return None
        (facts, _), index = joined
        foreign = [
            allocation.names[0]
            for allocation in facts.allocations
            if allocation.names
            and is_accelerator(allocation.resource)
            and not index.resolve_names(allocation.resource, allocation.names)
        ]
        if not foreign:
            return None
        return f"{len(foreign)} device names of the kubelet match no device: {foreign[0][:80]}"

    def _run(self) -> None:
        clock_round = self._settings.interval_s
        while not self._stopping.is_set():
            self._round(full=True)
            left = clock_round
            while left > 0 and not self._stopping.wait(min(_SHORTEST_S, left)):
                left -= _SHORTEST_S
                if self._wake.is_set():
                    self._wake.clear()
                    self._round(full=False)

    def _round(self, *, full: bool) -> None:
        try:
            if full:
                self._gatherer.round(set(self._requested))
            else:
                self._gatherer.resolve_processes(set(self._requested))
            # Only a full round shows that the sources are read again.
            self._failed = "" if full else self._failed
        except Exception as error:  # noqa: BLE001 - a defect here must not end the thread
            if not self._failed:
                _LOG.warning("workloads cannot be read error=%r", error)
            self._failed = f"defect: {error!r}"
        self._log_changes()

    def _log_changes(self) -> None:
        """Log changes of state only."""
        for status in self._gatherer.statuses():
            key = (status.name, status.subject)
            before = self._states.get(key)
            if before is not status.state:
                self._states[key] = status.state
                if status.state is SourceState.FAILED:
                    _LOG.warning("workloads source=%s failed: %s", status.name, status.message)
                elif before is SourceState.FAILED:
                    _LOG.info("workloads source=%s is %s again", status.name, status.state)


def _keys(processes: Iterable[Process]) -> list[Key]:
    keys = [
        (process.pid, process.start_time)
        for process in processes
        if process.pid_namespace == "same" and process.start_time is not None
    ]
    return keys[:MAX_MEMBERS]


def _annotated(
    view: DeviceView, owners: tuple[Owner, ...], placements: Sequence[Placement | None]
) -> DeviceView:
    reading = view.reading
    if any(placements):
        processes = moved(reading.processes or (), placements)
        reading = msgspec.structs.replace(reading, processes=processes)
    if reading is view.reading and not owners:
        return view
    return msgspec.structs.replace(view, reading=reading, owners=owners or view.owners)
