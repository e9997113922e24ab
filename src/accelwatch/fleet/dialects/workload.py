"""Who uses a device, from the labels of its samples: pods, batch jobs, processes."""

from collections.abc import Sequence
from typing import NamedTuple

from accelwatch.fleet.dialects.identity import known
from accelwatch.fleet.dialects.plan import Place, Planner, named, scaled
from accelwatch.fleet.dialects.table import Labels, Processes
from accelwatch.fleet.exposition import Key
from accelwatch.schema.reading import Number, Process
from accelwatch.schema.snapshot import Owner

MAX_OWNERS = 64
MAX_PID_DIGITS = 10


class ProcessSlots(NamedTuple):
    """A process of a place and where its numbers are; -1 for a number that is not there."""

    pid: int
    command: str | None
    user: str | None
    memory: int
    utilization: int


def owners_of(labels: Labels, key: Key) -> list[Owner]:
    """The pod and the job that a sample's labels name."""
    found = []
    pod, container = known(key, labels.pod), known(key, labels.container)
    if pod or container:
        found.append(
            Owner(
                kind="kubernetes" if pod else "container",
                namespace=known(key, labels.namespace),
                pod=pod,
                pod_uid=known(key, labels.pod_uid),
                container=container,
            )
        )
    if job := known(key, labels.job):
        user, queue = known(key, labels.job_user), known(key, labels.job_queue)
        found.append(Owner(kind="job", job_id=job, user=user, queue=queue))
    return found


def owners(planner: Planner, keys: Sequence[Key]) -> dict[Place, tuple[Owner, ...]]:
    """The owners of each place, at most `MAX_OWNERS`."""
    found: dict[Place, dict[Owner, None]] = {}
    labels = planner.dialect.labels
    for slot in planner.mapped:
        key = keys[slot]
        named = owners_of(labels, key)
        number = planner.roster.number(key) if named else None
        if number is not None:
            place = (number, known(key, labels.partition))
            found.setdefault(place, {}).update(dict.fromkeys(named))
    order = Owner.__struct_fields__
    return {
        place: tuple(
            sorted(some, key=lambda one: [getattr(one, field) for field in order])[:MAX_OWNERS]
        )
        for place, some in found.items()
    }


def processes(
    planner: Planner, prefix: str, keys: Sequence[Key]
) -> dict[int, tuple[ProcessSlots, ...]] | None:
    """The processes of each device by number; None where the exporter does not collect them."""
    table = planner.dialect.processes
    if table is None:
        return None
    names = {prefix + name for name in named(table)}
    shown = names | {prefix + name for name in table.shown_by}
    if not any(key.name in shown for key in keys):
        return None
    found: dict[int, dict[int, ProcessSlots]] = {n: {} for n in range(len(planner.roster.facts))}
    for slot, key in enumerate(keys):
        number = planner.roster.number(key) if key.name in names else None
        pid = key.get(table.pid)
        if number is not None and pid.isdecimal() and len(pid) <= MAX_PID_DIGITS:
            known_so_far = found[number].get(int(pid))
            found[number][int(pid)] = _noted(
                known_so_far, table, key, key.name.removeprefix(prefix), slot
            )
    return {number: tuple(by_pid.values()) for number, by_pid in found.items()}


def _noted(
    before: ProcessSlots | None, table: Processes, key: Key, name: str, slot: int
) -> ProcessSlots:
    """What is known of a process with one more sample of it."""
    one = before or ProcessSlots(int(key.get(table.pid)), None, None, -1, -1)
    command = known(key, (table.command,)).rpartition("/")[2]
    user = known(key, (table.user,))
    one = one._replace(command=one.command or command or None, user=one.user or user or None)
    if name == table.memory:
        return one._replace(memory=slot)
    return one._replace(utilization=slot) if name == table.utilization else one


def read_processes(
    device_id: str, some: Sequence[ProcessSlots], table: Processes, values: Sequence[Number]
) -> tuple[Process, ...]:
    """The processes of a device at one moment."""
    return tuple(
        Process(
            device_id=device_id,
            pid=one.pid,
            user=one.user,
            command=one.command,
            gpu_memory_bytes=_memory(one.memory, table, values),
            utilization_ratio=_ratio(one.utilization, table, values),
        )
        for one in some
    )


def _memory(slot: int, table: Processes, values: Sequence[Number]) -> int | None:
    if slot < 0 or not 0 <= values[slot] < 2**53:
        return None
    return int(scaled(values[slot], *table.memory_scale))


def _ratio(slot: int, table: Processes, values: Sequence[Number]) -> float | None:
    if slot < 0 or not 0 <= values[slot] < 2**53:
        return None
    return float(scaled(values[slot], *table.utilization_scale))
