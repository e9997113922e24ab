"""Processes in order: merged over devices, sorted, grouped by owner."""

from collections.abc import Iterable

import msgspec

from accelwatch.schema.natural_order import Natural, natural
from accelwatch.schema.snapshot import DeviceView
from accelwatch.tui.local.processes.columns import BY_ID
from accelwatch.tui.local.processes.process_row import (
    ProcessRow,
    device_name,
    holders,
    owner,
    process_of,
)


def rows_of(views: Iterable[DeviceView]) -> list[ProcessRow]:
    """A row for each process on each device."""
    return [
        ProcessRow(process=process, view=view, views=(view,))
        for view in views
        for process in view.reading.processes or ()
    ]


def merged(rows: Iterable[ProcessRow]) -> list[ProcessRow]:
    """One row for a process that is on several devices, where its start time shows it is the same."""
    by_process: dict[tuple[object, ...], list[ProcessRow]] = {}
    for number, row in enumerate(rows):
        process = process_of(row)
        same = (process.pid, process.start_time, process.pid_namespace, process.container)
        by_process.setdefault(same if process.start_time is not None else (number,), []).append(row)
    return [_merged(members) if len(members) > 1 else members[0] for members in by_process.values()]


def _merged(members: list[ProcessRow]) -> ProcessRow:
    """Memory summed up, the share of the devices' time as a mean."""
    members = sorted(members, key=lambda row: natural(device_name(row)))
    views = tuple(row.view for row in members if row.view is not None)
    holder_ids = {view.device.id for view in holders(views)}
    counted = [process_of(row) for row in members if process_of(row).device_id in holder_ids]
    memory = [entry.gpu_memory_bytes for entry in counted if entry.gpu_memory_bytes is not None]
    loads = [entry.utilization_ratio for entry in counted if entry.utilization_ratio is not None]
    process = msgspec.structs.replace(
        process_of(members[0]),
        gpu_memory_bytes=sum(memory) if memory else None,
        utilization_ratio=sum(loads) / len(loads) if loads else None,
    )
    return msgspec.structs.replace(members[0], process=process, views=views)


def arranged(
    rows: list[ProcessRow], sort: str, *, descending: bool, tree: bool
) -> list[ProcessRow]:
    """The rows in order; what has no value comes last either way."""
    value = BY_ID[sort].order
    valued = [row for row in rows if value(row) is not None]
    unknown = [row for row in rows if value(row) is None]
    valued.sort(key=lambda row: (row.process.pid if row.process else 0, natural(device_name(row))))
    valued.sort(key=lambda row: _orderable(value(row)), reverse=descending)
    ordered = valued + unknown
    return _grouped(ordered) if tree else ordered


def _orderable(value: float | str | None) -> tuple[float, Natural]:
    return (0.0, natural(value)) if isinstance(value, str) else (float(value or 0), ())


def _grouped(rows: list[ProcessRow]) -> list[ProcessRow]:
    """Groups by owner in the order of their first row, each with its head."""
    groups: dict[str, list[ProcessRow]] = {}
    for row in rows:
        groups.setdefault(owner(process_of(row)), []).append(row)
    result: list[ProcessRow] = []
    for name, members in groups.items():
        processes = tuple(process_of(row) for row in members)
        views = tuple(view for row in members for view in row.views)
        result.append(ProcessRow(group=name, members=processes, views=views))
        for row in members:
            result.append(msgspec.structs.replace(row, depth=1, last=row is members[-1]))
    return result
