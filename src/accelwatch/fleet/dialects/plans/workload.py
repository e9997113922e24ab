"""Who uses a device, from the labels of its samples: pods, batch jobs, processes."""

from collections.abc import Sequence
from typing import NamedTuple

from accelwatch.exposition import Key
from accelwatch.fleet.dialects.base.table import Labels, Processes, ProcessRow
from accelwatch.fleet.dialects.plans.formulas import scaled
from accelwatch.fleet.dialects.plans.identity import first_value
from accelwatch.fleet.dialects.plans.partitions import name_of
from accelwatch.fleet.dialects.plans.plan import Location, Planner
from accelwatch.schema.reading import Number, Process
from accelwatch.schema.snapshot import Owner
from accelwatch.system.processes.program import program_name

MAX_OWNERS = 64
MAX_PID_DIGITS = 10


class ProcessSlots(NamedTuple):
    """A process of a location and where its numbers are."""

    pid: int
    command: str | None
    user: str | None
    numbers: tuple[tuple[ProcessRow, int], ...]


def owners_of(labels: Labels, key: Key) -> list[Owner]:
    """The pod and the job that a sample's labels name."""
    owners = []
    pod, container = first_value(key, labels.pod), first_value(key, labels.container)
    if pod or container:
        owners.append(
            Owner(
                kind="kubernetes" if pod else "container",
                namespace=first_value(key, labels.namespace),
                pod=pod,
                pod_uid=first_value(key, labels.pod_uid),
                container=container,
            )
        )
    if job := first_value(key, labels.job):
        user, queue = first_value(key, labels.job_user), first_value(key, labels.job_queue)
        owners.append(Owner(kind="job", job_id=job, user=user, queue=queue))
    return owners


def owners(planner: Planner, keys: Sequence[Key]) -> dict[Location, tuple[Owner, ...]]:
    """The owners of each location, at most `MAX_OWNERS`."""
    by_location: dict[Location, dict[Owner, None]] = {}
    labels = planner.dialect.labels
    for slot in planner.mapped:
        key = keys[slot]
        named = owners_of(labels, key)
        number = planner.number(key) if named else None
        if number is not None:
            location = (number, name_of(planner.dialect, key))
            by_location.setdefault(location, {}).update(dict.fromkeys(named))
    order = Owner.__struct_fields__
    return {
        location: tuple(
            sorted(some, key=lambda owner: [getattr(owner, field) for field in order])[:MAX_OWNERS]
        )
        for location, some in by_location.items()
    }


def processes(
    planner: Planner, prefix: str, keys: Sequence[Key]
) -> dict[int, tuple[ProcessSlots, ...]] | None:
    """The processes of each device by number; None where the exporter does not collect them."""
    table = planner.dialect.processes
    if table is None:
        return None
    rows = {prefix + row.name: row for row in table.rows}
    names = {prefix + name for name in table.families()}
    shown = names | {prefix + name for name in table.shown_by}
    if not any(key.name in shown for key in keys):
        return None
    by_device: dict[int, dict[int, ProcessSlots]] = {
        n: {} for n in range(len(planner.device_index.facts))
    }
    for slot, key in enumerate(keys):
        number = planner.number(key) if key.name in names else None
        pid = key.get(table.pid)
        if number is not None and pid.isdecimal() and len(pid) <= MAX_PID_DIGITS:
            before = by_device[number].get(int(pid))
            by_device[number][int(pid)] = _noted(before, table, key, rows.get(key.name), slot)
    return {number: tuple(by_pid.values()) for number, by_pid in by_device.items()}


def _noted(
    before: ProcessSlots | None, table: Processes, key: Key, row: ProcessRow | None, slot: int
) -> ProcessSlots:
    """What is known of a process with one more sample of it; the first of two for a field counts."""
    slots = before or ProcessSlots(int(key.get(table.pid)), None, None, ())
    command = program_name(first_value(key, (table.command,)))
    user = first_value(key, (table.user,))
    slots = slots._replace(command=slots.command or command, user=slots.user or user or None)
    if row is None or any(other.field == row.field for other, _ in slots.numbers):
        return slots
    return slots._replace(numbers=(*slots.numbers, (row, slot)))


def read_processes(
    device_id: str, some: Sequence[ProcessSlots], values: Sequence[Number]
) -> tuple[Process, ...]:
    """The processes of a device at one moment."""
    processes = []
    for slots in some:
        numbers = {
            row.field: scaled(values[slot], *row.scale)
            for row, slot in slots.numbers
            if row.low <= values[slot] <= row.high
        }
        processes.append(
            Process(
                device_id=device_id,
                pid=slots.pid,
                user=slots.user,
                command=slots.command,
                start_time=_real(numbers.get("start_time")),
                gpu_memory_bytes=_integer(numbers.get("gpu_memory_bytes")),
                utilization_ratio=_real(numbers.get("utilization_ratio")),
                host_memory_bytes=_integer(numbers.get("host_memory_bytes")),
                cpu_utilization_ratio=_real(numbers.get("cpu_utilization_ratio")),
            )
        )
    return tuple(processes)


def _integer(number: Number | None) -> int | None:
    return None if number is None else int(number)


def _real(number: Number | None) -> float | None:
    return None if number is None else float(number)
