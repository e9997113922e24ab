"""Processes as rows: columns by width, sorting, grouping into a tree. Pure."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import msgspec

from accelwatch.backend_kit.text.numbered_names import numbered
from accelwatch.exposition.display import printable
from accelwatch.schema.natural_order import Natural, natural
from accelwatch.schema.reading import PROCESS_LETTERS, Process
from accelwatch.schema.snapshot import DeviceView, Snapshot
from accelwatch.tui.drawing import columns
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.columns import GAP, Column, filled, fitting, needed
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit

# pid, start time and device: what a selection is held by.
Key = tuple[int, float | None, str]
Text = Callable[["ProcessRow", Snapshot], str]


class ProcessRow(msgspec.Struct, frozen=True, kw_only=True):
    """A process, on one device or summed up over several, or the head of a group (`process` is None)."""

    process: Process | None = None
    view: DeviceView | None = None
    group: str = ""
    depth: int = 0
    # Whether it is the last of its group.
    last: bool = False
    members: tuple[Process, ...] = ()
    # The devices that it is on, in the order of their names; of a group those of all its members.
    views: tuple[DeviceView, ...] = ()

    @property
    def key(self) -> Key:
        """What the selection is held by; a group is held by its name."""
        if self.process is None:
            return (0, None, self.group)
        return (self.process.pid, self.process.start_time, self.process.device_id)


def owner(process: Process) -> str:
    """Whose it is: job, pod, container or user, the first that is known."""
    if process.job:
        return f"job {process.job}"
    if process.pod:
        return f"pod {process.pod}"
    if process.container:
        return f"container {process.container}"
    return f"user {process.user}" if process.user else "unknown owner"


def workload(process: Process) -> str:
    """Pod, job or container, the first that is known."""
    return process.pod or process.job or process.container or ""


def command(process: Process) -> str:
    """The command with its arguments where they were collected."""
    if process.argv:
        return " ".join(process.argv)
    return process.command or ""


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


def _of(row: ProcessRow) -> Process:
    return row.process or Process(device_id="", pid=0)


def _started(row: ProcessRow) -> float | None:
    start = _of(row).start_time
    return None if start is None else -start


def _running(row: ProcessRow, shot: Snapshot) -> str:
    start = _of(row).start_time
    return fmt.NOTHING if start is None else fmt.ago(shot.time - start)


def _device(row: ProcessRow) -> str:
    return row.view.device.name if row.view else ""


def _devices(row: ProcessRow, _: Snapshot) -> str:
    return numbered([view.device.name for view in row.views]) if row.views else _device(row)


def _kind(row: ProcessRow, _: Snapshot) -> str:
    return "+".join(PROCESS_LETTERS.get(kind, kind) for kind in _of(row).type.split("+"))


COLUMNS: tuple[ProcessColumn, ...] = (
    _column("pid", "PID", 7, lambda r, _: str(_of(r).pid), lambda r: _of(r).pid, 1, right=True),
    _column("user", "USER", 9, lambda r, _: _of(r).user or fmt.NOTHING, lambda r: _of(r).user, 2),
    _column("device", "DEVICE", 9, _devices, _device, 1),
    _column("type", "TYPE", 4, _kind, lambda r: _of(r).type, 7),
    _column(
        "gpu_memory",
        "MEMORY",
        9,
        lambda r, _: _bytes(_of(r).gpu_memory_bytes),
        lambda r: _of(r).gpu_memory_bytes,
        1,
        right=True,
    ),
    _column("share", "MEM%", 5, lambda r, _: fmt.percent(_share(r)), _share, 4, right=True),
    _column(
        "gpu",
        "GPU%",
        5,
        lambda r, _: fmt.percent(_of(r).utilization_ratio),
        lambda r: _of(r).utilization_ratio,
        2,
        right=True,
    ),
    _column(
        "cpu",
        "CPU%",
        6,
        lambda r, _: fmt.percent(_of(r).cpu_utilization_ratio),
        lambda r: _of(r).cpu_utilization_ratio,
        3,
        right=True,
    ),
    _column(
        "host_memory",
        "HOST MEM",
        9,
        lambda r, _: _bytes(_of(r).host_memory_bytes),
        lambda r: _of(r).host_memory_bytes,
        5,
        right=True,
    ),
    _column("time", "TIME", 7, _running, _started, 5, right=True),
    _column(
        "workload",
        "POD/JOB",
        18,
        lambda r, _: workload(_of(r)) or fmt.NOTHING,
        lambda r: workload(_of(r)) or None,
        6,
    ),
    _column(
        "command", "COMMAND", 12, lambda r, _: command(_of(r)), lambda r: command(_of(r)), 1, grow=1
    ),
)
BY_ID = {column.id: column for column in COLUMNS}


def _bytes(value: int | None) -> str:
    from accelwatch.exposition.display import size

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
    """The columns that fit and their widths; the command takes what is left."""
    left = width - 1 - GAP
    chosen = fitting([column for column in COLUMNS if column.id not in empty], left)
    return tuple(zip(chosen, filled(chosen, left - needed(chosen)), strict=True))


def heading(
    width: int,
    sort: str,
    descending: bool,
    glyphs: Glyphs,
    *,
    empty: frozenset[str] = NONE_EMPTY,
) -> Line:
    """The titles, the sorted one marked."""
    sized_columns = columns_for(width, empty)
    return columns.heading(sized_columns, width, glyphs, sort=sort, descending=descending)


def column_at(width: int, x: int, *, empty: frozenset[str] = NONE_EMPTY) -> str:
    """The column under a cell of the heading."""
    column = columns.at(columns_for(width, empty), x)
    return "command" if column is None else column.id


def line(
    row: ProcessRow,
    shot: Snapshot,
    width: int,
    glyphs: Glyphs,
    *,
    tagged: bool,
    mine: str,
    empty: frozenset[str] = NONE_EMPTY,
    scroll: int = 0,
) -> Line:
    """One row; processes of other users are dim. `scroll` cells of commands are off to the left."""
    if row.process is None:
        return _group_line(row, shot, width, glyphs)
    dim = bool(mine) and row.process.user not in (None, mine)
    spans: Line = [(glyphs.marker if tagged else " ", "accent")]
    for column, size in columns_for(width, empty):
        text = printable(column.cell(row, shot), ascii_only=glyphs.ascii_only)
        if scroll and column.id == "command":
            text = glyphs.ellipsis + text[scroll + 1 :] if len(text) > scroll else ""
        role = "faint" if text == fmt.NOTHING else "dim" if dim else _role(column.id)
        if column.id == "command" and row.depth:
            spans.append((glyphs.last_branch if row.last else glyphs.branch, "faint"))
        room = size - len(glyphs.branch) if column.id == "command" and row.depth else size
        shown = fit(text, room, right=column.right, ellipsis=glyphs.ellipsis)
        spans += [(shown, role), (" " * GAP, "text")]
    return clipped(spans, width)


def _role(column: str) -> str:
    return {"gpu_memory": "memory", "command": "strong", "gpu": "load"}.get(column, "text")


def _group_line(row: ProcessRow, _: Snapshot, width: int, glyphs: Glyphs) -> Line:
    memory = sum(process.gpu_memory_bytes or 0 for process in row.members)
    pids = len({process.pid for process in row.members})
    devices = len({view.device.id for view in row.views})
    name = printable(row.group, ascii_only=glyphs.ascii_only)
    plural = "es" if pids != 1 else ""
    on = f"{devices} device{'s' if devices != 1 else ''}"
    summary = f"  {_bytes(memory)} on {on}, {pids} process{plural}"
    return clipped([(f" {glyphs.fold}", "accent"), (name, "strong"), (summary, "dim")], width)


def rows_of(views: Iterable[DeviceView]) -> list[ProcessRow]:
    """A row for each process on each device."""
    return [
        ProcessRow(process=process, view=view, views=(view,))
        for view in views
        for process in view.reading.processes or ()
    ]


def holders(views: Sequence[DeviceView]) -> list[DeviceView]:
    """Without the devices of which a partition is among them: these tell the same memory again."""
    parents = {view.device.parent_id for view in views}
    return [view for view in views if view.device.id not in parents]


def merged(rows: Iterable[ProcessRow]) -> list[ProcessRow]:
    """One row for a process that is on several devices, where its start tells that it is the same."""
    by_process: dict[tuple[object, ...], list[ProcessRow]] = {}
    for number, row in enumerate(rows):
        process = _of(row)
        same = (process.pid, process.start_time, process.pid_namespace, process.container)
        by_process.setdefault(same if process.start_time is not None else (number,), []).append(row)
    return [_merged(members) if len(members) > 1 else members[0] for members in by_process.values()]


def _merged(members: list[ProcessRow]) -> ProcessRow:
    """Memory summed up, the share of the devices' time as a mean."""
    members = sorted(members, key=lambda row: natural(_device(row)))
    views = tuple(row.view for row in members if row.view is not None)
    holder_ids = {view.device.id for view in holders(views)}
    counted = [_of(row) for row in members if _of(row).device_id in holder_ids]
    memory = [entry.gpu_memory_bytes for entry in counted if entry.gpu_memory_bytes is not None]
    loads = [entry.utilization_ratio for entry in counted if entry.utilization_ratio is not None]
    process = msgspec.structs.replace(
        _of(members[0]),
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
    valued.sort(key=lambda row: (row.process.pid if row.process else 0, natural(_device(row))))
    valued.sort(key=lambda row: _orderable(value(row)), reverse=descending)
    ordered = valued + unknown
    return _grouped(ordered) if tree else ordered


def _orderable(value: float | str | None) -> tuple[float, Natural]:
    return (0.0, natural(value)) if isinstance(value, str) else (float(value or 0), ())


def _grouped(rows: list[ProcessRow]) -> list[ProcessRow]:
    """Groups by owner in the order of their first row, each with its head."""
    groups: dict[str, list[ProcessRow]] = {}
    for row in rows:
        groups.setdefault(owner(_of(row)), []).append(row)
    result: list[ProcessRow] = []
    for name, members in groups.items():
        processes = tuple(_of(row) for row in members)
        views = tuple(view for row in members for view in row.views)
        result.append(ProcessRow(group=name, members=processes, views=views))
        for row in members:
            result.append(msgspec.structs.replace(row, depth=1, last=row is members[-1]))
    return result
