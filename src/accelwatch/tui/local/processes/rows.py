"""Rows of processes as lines: the heading, a process, the head of a group. Pure."""

from accelwatch.schema.display import printable
from accelwatch.schema.snapshot import Snapshot
from accelwatch.tui.drawing import columns
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.columns import GAP
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit
from accelwatch.tui.local.processes.columns import NONE_EMPTY, bytes_text, columns_for
from accelwatch.tui.local.processes.process_row import (
    ProcessRow,
)


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
    summary = f"  {bytes_text(memory)} on {on}, {pids} process{plural}"
    return clipped([(f" {glyphs.fold}", "accent"), (name, "strong"), (summary, "dim")], width)
