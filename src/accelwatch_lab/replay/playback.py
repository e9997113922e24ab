"""Plays a recording: the document that is current at a moment, as devices, readings and events."""

import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec

from accelwatch.archive.recording import Recording
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import (
    AccelwatchError,
    DeviceLost,
    DevicePermission,
    DeviceSuspended,
    DeviceTimeout,
    ReadError,
    WireError,
)
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.device import ABSENCE_WITHOUT_VALUES, Device
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.metrics import Kind, MetricSource, Series
from accelwatch.schema.reading import Number, Process, Reading
from accelwatch.schema.snapshot import DeviceView, Snapshot
from accelwatch_lab.replay.player import PlayTime, loop_position

_REMEDY = "set replay's option file to a recording, a folder of recordings, or a scenario"
_ERRORS: dict[Absence, type[ReadError]] = {
    Absence.LOST: DeviceLost,
    Absence.TIMEOUT: DeviceTimeout,
    Absence.PERMISSION: DevicePermission,
    Absence.SUSPENDED: DeviceSuspended,
}


class TimeLine:
    """Documents of a recording by their seconds from the first one. Not for several threads."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        times = recording.times()
        self._first = times[0]
        # Documents.
        self.count = len(times)
        self.length_s = times[-1] - times[0] + recording.step_s
        # Damage in the file.
        self.notes = recording.notes

    def at(self, position_s: float) -> int:
        """Number of the document that is current at a position."""
        return self._recording.index_at(self._first + position_s)

    def snapshot(self, number: int) -> Snapshot:
        """A document. Raises WireError."""
        return self._recording.at(number)


def read_recording(path: Path) -> TimeLine:
    """Open a recording. Raises BackendUnavailable when there is no document to play."""
    try:
        return TimeLine(Recording.open(path))
    except WireError as error:
        raise BackendUnavailable(str(error), reason="format") from error
    except AccelwatchError as error:
        raise BackendUnavailable(str(error), reason="file", remedy=_REMEDY) from error


def failure(absence: Absence, message: str, code: str = "") -> ReadError:
    """The ReadError that an absence of the whole device stands for."""
    return _ERRORS.get(absence, ReadError)(message, code=code)


class _Frame(msgspec.Struct, frozen=True):
    """One document, arranged by whole device."""

    snapshot: Snapshot
    # Id of a whole device to its view and those of its partitions.
    families: dict[str, tuple[DeviceView, ...]]


def _arrange(snapshot: Snapshot, *, host: bool) -> _Frame:
    families: dict[str, tuple[DeviceView, ...]] = {}
    nodes = (snapshot.node,) if host and snapshot.node is not None else ()
    views = (*snapshot.devices, *nodes)
    for view in views:
        if view.device.parent_id is None:
            families[view.device.id] = (view,)
    for view in views:
        parent = view.device.parent_id
        if parent is not None:
            families[parent] = (*families.get(parent, ()), view)
    return _Frame(snapshot, families)


class RecordingPlayer:
    """Plays from the first document on; counters go on growing over a loop.

    Raises WireError when not even one document can be decoded.
    """

    def __init__(self, recording: TimeLine, *, loop: bool, host: bool = True) -> None:
        self._recording = recording
        self._loop = loop
        self._host = host
        # Guards the decoded frames: workers of several devices request the same one, and it is
        # decoded once.
        self._lock = threading.Lock()
        self._frames: dict[int, _Frame] = {}
        self._unreadable: set[int] = set()
        self._reported: tuple[int, set[tuple[object, ...]]] = (0, set())
        self._first = self._frame(0)
        self._last = self._frame(recording.count - 1)

    @property
    def notes(self) -> tuple[str, ...]:
        """Damage in the file."""
        if not self._unreadable:
            return self._recording.notes
        return (*self._recording.notes, f"recording: {len(self._unreadable)} documents unreadable")

    @property
    def recorder(self) -> str:
        """The version that wrote the recording."""
        return self._first.snapshot.version

    def enter(self, call: str, device: Device | None) -> None:
        """A recording has no faults of calls."""

    def _frame(self, number: int) -> _Frame:
        """The document of that number, else the nearest readable one before it, else after it."""
        count = self._recording.count
        for candidate in (*range(number, -1, -1), *range(number + 1, count)):
            if candidate in self._frames:
                return self._frames[candidate]
            if candidate in self._unreadable:
                continue
            try:
                snapshot = self._recording.snapshot(candidate)
            except WireError:
                self._unreadable.add(candidate)
                continue
            self._frames = {candidate: _arrange(snapshot, host=self._host)}
            return self._frames[candidate]
        raise WireError("no document of the recording can be decoded")

    def _now(self, play_time: PlayTime) -> tuple[int, float, _Frame]:
        turns, position = loop_position(
            play_time.elapsed_s, self._recording.length_s, loop=self._loop
        )
        with self._lock:
            return turns, position, self._frame(self._recording.at(position))

    def devices(self, play_time: PlayTime) -> Sequence[Device]:
        """Whole devices of the current document."""
        frame = self._now(play_time)[2]
        return tuple(_played(family[0].device) for family in frame.families.values())

    def _family(self, device: Device, play_time: PlayTime) -> tuple[int, _Frame]:
        turns, _, frame = self._now(play_time)
        family = frame.families.get(device.id)
        if family is None:
            raise DeviceLost(f"{device.name} is not in the recording at this moment")
        view = family[0]
        reason = view.reading.absent.get(("*",))
        absence = ABSENCE_WITHOUT_VALUES.get(view.state, reason)
        if absence is not None:
            raise _recorded(frame.snapshot, view, absence)
        return turns, frame

    def identity(self, device: Device, play_time: PlayTime) -> Sequence[Device]:
        """The device and its partitions as recorded. Raises the ReadError of its recorded state."""
        _, frame = self._family(device, play_time)
        return tuple(_played(view.device) for view in frame.families[device.id])

    def readings(self, device: Device, play_time: PlayTime) -> Sequence[Reading]:
        """Recorded readings. Raises the ReadError of the device's recorded state."""
        turns, frame = self._family(device, play_time)
        shift = play_time.wall - frame.snapshot.time
        return tuple(
            self._reading(view.reading, turns, shift) for view in frame.families[device.id]
        )

    def _reading(self, reading: Reading, turns: int, shift: float) -> Reading:
        values = {
            series: value + turns * self._growth(reading.device_id, series)
            for series, value in reading.values.items()
            if by_key()[series[0]].source is MetricSource.READ
        }
        processes = reading.processes
        if processes is not None:
            processes = tuple(_foreign(process, shift) for process in processes)
        return msgspec.structs.replace(
            reading, values=values, processes=processes, notes=(*reading.notes, *self.notes)
        )

    def _growth(self, device_id: str, series: Series) -> Number:
        """By how much a counter grew over the whole recording; 0 for everything else."""
        if by_key()[series[0]].kind is not Kind.COUNTER:
            return 0
        first = _value(self._first, device_id, series)
        last = _value(self._last, device_id, series)
        return 0 if first is None or last is None else max(0, last - first)

    def events(self, play_time: PlayTime) -> Sequence[ErrorEvent]:
        """Events that the document of the last call did not have, moved to the time of playing."""
        turns, _, frame = self._now(play_time)
        reported_turns, reported = self._reported
        if turns != reported_turns:
            reported = set()
        current = {_key(event): event for event in frame.snapshot.events}
        self._reported = (turns, set(current))
        shift = play_time.wall - frame.snapshot.time
        return tuple(
            msgspec.structs.replace(event, time=event.time + shift)
            for key, event in current.items()
            if key not in reported
        )


def _played(device: Device) -> Device:
    return msgspec.structs.replace(device, backend="replay")


def _foreign(process: Process, shift: float) -> Process:
    """A recorded process is none of this machine: its pid must not be looked up or signalled here."""
    started = None if process.start_time is None else process.start_time + shift
    return msgspec.structs.replace(process, pid_namespace="foreign", start_time=started)


def _recorded(snapshot: Snapshot, view: DeviceView, absence: Absence) -> ReadError:
    """The recorded failure with its own code and text, where the document has it."""
    for error in snapshot.errors:
        if error.device_id == view.device.id:
            return failure(absence, error.message, error.code)
    return failure(absence, f"{view.device.name} was {view.state} when this was recorded")


def _value(frame: _Frame, device_id: str, series: Series) -> Number | None:
    for family in frame.families.values():
        for view in family:
            if view.device.id == device_id:
                return view.reading.values.get(series)
    return None


def _key(event: ErrorEvent) -> tuple[object, ...]:
    return (event.code, event.time, event.device_id, event.subject, event.text)
