"""The columns of processes: what each shows, and what rows are ordered by."""

from collections.abc import Callable, Sequence
from functools import lru_cache

from accelwatch.base.names.numbered_names import numbered
from accelwatch.schema.reading import PROCESS_LETTERS
from accelwatch.schema.snapshot import Snapshot
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.columns import GAP, Column, filled, fitting, needed
from accelwatch.tui.local.processes.process_row import (
    ProcessRow,
    command,
    device_name,
    holders,
    process_of,
    workload,
)

Text = Callable[["ProcessRow", Snapshot], str]


def _share(row: ProcessRow) -> float | None:
    process, view = row.process, row.view
    if process is None or view is None or process.gpu_memory_bytes is None:
        return None
    sizes = [fmt.number(device, "memory_size_bytes") for device in holders(row.views) or (view,)]
    nonzero = [size for size in sizes if size]
    return process.gpu_memory_bytes / sum(nonzero) if len(nonzero) == len(sizes) else None


class ProcessColumn(Column[Text], frozen=True, kw_only=True):
    """One column of processes."""

    # What rows are ordered by; texts as people expect of names.
    order: Callable[[ProcessRow], float | str | None]


def _column(  # noqa: PLR0917 - a row of the table below
    id_: str,
    title: str,
    width: int,
    text: Text,
    order: Callable[[ProcessRow], float | str | None],
    rank: int,
    *,
    right: bool = False,
    grow: int = 0,
) -> ProcessColumn:
    return ProcessColumn(
        id=id_,
        title=title,
        width=width,
        cell=text,
        order=order,
        rank=rank,
        right=right,
        grow=grow,
        sort=id_,
    )


def _started(row: ProcessRow) -> float | None:
    start = process_of(row).start_time
    return None if start is None else -start


def _running(row: ProcessRow, shot: Snapshot) -> str:
    start = process_of(row).start_time
    return fmt.NOTHING if start is None else fmt.ago(shot.time - start)


def _devices(row: ProcessRow, _: Snapshot) -> str:
    return numbered([view.device.name for view in row.views]) if row.views else device_name(row)


def _kind(row: ProcessRow, _: Snapshot) -> str:
    return "+".join(PROCESS_LETTERS.get(kind, kind) for kind in process_of(row).type.split("+"))


COLUMNS: tuple[ProcessColumn, ...] = (
    _column(
        "pid",
        "PID",
        7,
        lambda r, _: str(process_of(r).pid),
        lambda r: process_of(r).pid,
        1,
        right=True,
    ),
    _column(
        "user",
        "USER",
        9,
        lambda r, _: process_of(r).user or fmt.NOTHING,
        lambda r: process_of(r).user,
        2,
    ),
    _column("device", "DEVICE", 9, _devices, device_name, 1),
    _column("type", "TYPE", 4, _kind, lambda r: process_of(r).type, 7),
    _column(
        "gpu_memory",
        "MEMORY",
        9,
        lambda r, _: bytes_text(process_of(r).gpu_memory_bytes),
        lambda r: process_of(r).gpu_memory_bytes,
        1,
        right=True,
    ),
    _column("share", "MEM%", 5, lambda r, _: fmt.percent(_share(r)), _share, 4, right=True),
    _column(
        "gpu",
        "GPU%",
        5,
        lambda r, _: fmt.percent(process_of(r).utilization_ratio),
        lambda r: process_of(r).utilization_ratio,
        2,
        right=True,
    ),
    _column(
        "cpu",
        "CPU%",
        6,
        lambda r, _: fmt.percent(process_of(r).cpu_utilization_ratio),
        lambda r: process_of(r).cpu_utilization_ratio,
        3,
        right=True,
    ),
    _column(
        "host_memory",
        "HOST MEM",
        9,
        lambda r, _: bytes_text(process_of(r).host_memory_bytes),
        lambda r: process_of(r).host_memory_bytes,
        5,
        right=True,
    ),
    _column("time", "TIME", 7, _running, _started, 5, right=True),
    _column(
        "workload",
        "POD/JOB",
        18,
        lambda r, _: workload(process_of(r)) or fmt.NOTHING,
        lambda r: workload(process_of(r)) or None,
        6,
    ),
    _column(
        "command",
        "COMMAND",
        12,
        lambda r, _: command(process_of(r)),
        lambda r: command(process_of(r)),
        1,
        grow=1,
    ),
)

BY_ID = {column.id: column for column in COLUMNS}


def bytes_text(value: int | None) -> str:
    """`1.5 GiB`, or the sign of nothing."""
    from accelwatch.schema.display import size

    return fmt.NOTHING if value is None else size(value)


NONE_EMPTY: frozenset[str] = frozenset()


def empty_columns(rows: Sequence[ProcessRow]) -> frozenset[str]:
    """Columns that may be left out because no row has anything in them; none where there is no row."""
    if not rows:
        return NONE_EMPTY
    return frozenset(
        column.id
        for column in COLUMNS
        if column.rank > 1 and all(column.order(row) in (None, "") for row in rows)
    )


# Called for every row of a repaint; it changes with the size of the terminal only.
@lru_cache(maxsize=32)
def columns_for(
    width: int, empty: frozenset[str] = NONE_EMPTY
) -> tuple[tuple[ProcessColumn, int], ...]:
    """The columns that fit and their widths; the command gets what is left."""
    left = width - 1 - GAP
    chosen = fitting([column for column in COLUMNS if column.id not in empty], left)
    return tuple(zip(chosen, filled(chosen, left - needed(chosen)), strict=True))
