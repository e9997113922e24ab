"""Messages of a stream beside its ticks, sent on change: owners, processes, findings, backends, events,
and the agent's own metrics.

Ticks carry numbers only. These messages name a device by the `slot` of its layout; a reader that does
not know a kind of message skips it.
"""

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Process
from accelwatch.schema.snapshot import BackendStatus, EventCount, Owner, ReadFailure

# Processes of a device that are sent, those with the most device memory.
MAX_PROCESSES = 16
MAX_OWNERS = 64
# Series of an agent's own that are sent.
MAX_OWN = 512
MAX_USERS = 8
_MAX_TEXT = 256
_MAX_EVENT_TEXT = 1000
_MAX_DETAILS = 16


class Owners(msgspec.Struct, frozen=True, kw_only=True, tag="owners"):
    """To whom device number `slot` is allocated from now on."""

    slot: int
    owners: tuple[Owner, ...]


class ProcessRow(msgspec.Struct, frozen=True, array_like=True):
    """`reading.Process` without device and arguments."""

    pid: int
    pid_namespace: str
    type: str
    start_time: float | None
    user: str | None
    command: str | None
    container: str | None
    pod: str | None
    job: str | None
    gpu_memory_bytes: int | None
    utilization_ratio: float | None
    host_memory_bytes: int | None
    cpu_utilization_ratio: float | None
    absent: dict[str, Absence] = {}


class Processes(msgspec.Struct, frozen=True, kw_only=True, tag="processes"):
    """The processes on device number `slot`: how many, of whom, and the largest by device memory."""

    slot: int
    total: int
    # Owners of all of them, at most MAX_USERS.
    users: tuple[str, ...] = ()
    rows: tuple[ProcessRow, ...] = ()


class Findings(msgspec.Struct, frozen=True, kw_only=True, tag="findings"):
    """Why the health of device number `slot` is what it is, and how often each code was seen."""

    slot: int
    health_reasons: tuple[str, ...] = ()
    event_counts: tuple[EventCount, ...] = ()


class Backends(msgspec.Struct, frozen=True, kw_only=True, tag="backends"):
    """What the node's devices are read through, and what cannot be read."""

    backends: tuple[BackendStatus, ...] = ()
    errors: tuple[ReadFailure, ...] = ()


class Event(msgspec.Struct, frozen=True, kw_only=True, tag="event"):
    """One error event; the same `sequence` again means that more became known of it."""

    # Grows by one with every event of the node; begins anywhere.
    sequence: int
    event: ErrorEvent


class Own(msgspec.Struct, frozen=True, kw_only=True, tag="own"):
    """What the agent says of its own collecting: series of the `collector_*` families."""

    # What the values mean; empty where it is as in the message before.
    series: Annotated[tuple[Series, ...], msgspec.Meta(max_length=MAX_OWN)] = ()
    values: Annotated[tuple[float | int, ...], msgspec.Meta(max_length=MAX_OWN)] = ()


Context = Owners | Processes | Findings | Backends | Event | Own

_ROW = tuple(name for name in ProcessRow.__struct_fields__ if name != "absent")


def processes_message(slot: int, processes: tuple[Process, ...]) -> Processes:
    """The message for the processes of a device."""
    largest = processes
    if len(processes) > MAX_PROCESSES:
        largest = tuple(sorted(processes, key=_by_memory)[:MAX_PROCESSES])
    users = sorted({process.user for process in processes if process.user})[:MAX_USERS]
    return Processes(
        slot=slot,
        total=len(processes),
        users=tuple(_clipped(user) for user in users),
        rows=tuple(_row(process) for process in largest),
    )


def _by_memory(process: Process) -> tuple[int, int]:
    return -(process.gpu_memory_bytes or 0), process.pid


def _row(process: Process) -> ProcessRow:
    fields: dict[str, Any] = {name: getattr(process, name) for name in _ROW}
    for name, value in fields.items():
        if isinstance(value, str):
            fields[name] = _clipped(value)
    return ProcessRow(**fields, absent=process.absent)


def process_of(row: ProcessRow, device_id: str) -> Process:
    """The inverse for one process; its arguments do not travel."""
    absent = {**row.absent, "argv": Absence.NOT_COLLECTED}
    fields: dict[str, Any] = {name: getattr(row, name) for name in _ROW}
    return Process(device_id=device_id, **fields, absent=absent)


def owners_message(slot: int, owners: tuple[Owner, ...]) -> Owners:
    """The message for the owners of a device."""
    return Owners(slot=slot, owners=owners[:MAX_OWNERS])


def event_message(sequence: int, event: ErrorEvent) -> Event:
    """The message for an event, its text and details within bounds."""
    if len(event.text) > _MAX_EVENT_TEXT or len(event.detail) > _MAX_DETAILS:
        event = msgspec.structs.replace(
            event,
            text=event.text[:_MAX_EVENT_TEXT],
            detail=dict(list(event.detail.items())[:_MAX_DETAILS]),
        )
    return Event(sequence=sequence, event=event)


def _clipped(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT]


def identities(processes: Iterable[Process] | None) -> list[tuple[object, ...]] | None:
    """What distinguishes processes, without the numbers that change all the time."""
    if processes is None:
        return None
    return [(p.pid, p.start_time, p.user, p.command, p.container, p.pod, p.job) for p in processes]
