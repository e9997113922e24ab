"""The history of one device as a row of small graphs with titles. Pure."""

import math
from collections.abc import Callable, Sequence

import msgspec

from accelwatch import display
from accelwatch.display import printable
from accelwatch.schema.reading import Process
from accelwatch.schema.snapshot import DeviceView
from accelwatch.tui import format as fmt
from accelwatch.tui.board import Board
from accelwatch.tui.device_cells import work
from accelwatch.tui.lines import Line, clipped, fit, spread, width_of
from accelwatch.tui.plot import graph

GRAPHS = (
    ("utilization_ratio", "utilisation", "plot0"),
    ("memory_ratio", "memory", "plot1"),
    ("power_watts", "power", "plot2"),
    ("temperature_celsius", "temperature", "plot3"),
)
"""What is drawn: tracked key, title, role."""
_LEAST = 28
"""Cells a graph needs."""


class Graph(msgspec.Struct, frozen=True, kw_only=True):
    """One small graph: title, role, values oldest first, the full height, and how values read."""

    title: str
    role: str
    values: Sequence[float]
    top: float
    now: float | None
    write: Callable[[float], str]


def strip(board: Board, width: int, height: int, *, hour: bool = False) -> list[Line]:
    """A title line, and below it as many graphs of the selected device as fit."""
    view = board.selected
    if view is None or height < 2:
        return []
    count = min(max((width - 1) // _LEAST, 1), len(GRAPHS))
    graphs = [_of_device(board, view, place, hour=hour) for place in range(count)]
    model = fmt.model_name(view) if width >= 60 else ""
    owner = work(view) if view.owners else ""
    more = f" {board.paint.glyphs.dot} ".join(word for word in (model, owner) if word)
    title = _title(board, (view.device.name, more), width, hour=hour)
    return [title, *_side_by_side(board, graphs, width, height - 1)]


def process_strip(board: Board, process: Process, width: int, height: int) -> list[Line]:
    """The same of a process: memory, and its shares of device and processors."""
    count = min(max((width - 1) // _LEAST, 1), 3)
    until = board.snapshot.time
    graphs = []
    for key, title, role in _OF_PROCESS[:count]:
        values = board.process_history.series(process, key, until)
        known = _known(values)
        share = key != "gpu_memory_bytes"
        top = max(1.0 if share else 0.0, *known) if known else 1.0
        now = known[-1] if known else None
        write = fmt.percent if share else display.size
        graphs.append(Graph(title=title, role=role, values=values, top=top, now=now, write=write))
    title_line = _title(board, (f"pid {process.pid}", process.command or ""), width, hour=False)
    return [title_line, *_side_by_side(board, graphs, width, height - 1)]


_OF_PROCESS = (
    ("gpu_memory_bytes", "device memory", "plot1"),
    ("utilization_ratio", "device", "plot0"),
    ("cpu_utilization_ratio", "processors", "plot2"),
)


def _known(values: Sequence[float]) -> list[float]:
    return [value for value in values if not math.isnan(value)]


def _of_device(board: Board, view: DeviceView, place: int, *, hour: bool) -> Graph:
    key, title, role = GRAPHS[place]
    until = view.sample_time or board.snapshot.time
    values = board.history.series(view.device.id, key, until, hour=hour)
    known = _known(values)
    readable = fmt.readable(view)
    return Graph(
        title=title,
        role=role if readable else "faint",
        values=values,
        top=_top(key, view, known),
        now=known[-1] if known and readable else None,
        write=_writer(key, board),
    )


def _title(board: Board, names: tuple[str, str], width: int, *, hour: bool) -> Line:
    span = " last 60 min " if hour else " last 5 min "
    glyphs = board.paint.glyphs
    more = printable(names[1], ascii_only=glyphs.ascii_only)
    left: Line = [(f"{glyphs.rule} ", "rule"), (names[0], "strong"), (" ", "text")]
    left += [(f"{more} ", "dim")] if more else []
    fill = max(width - width_of(left) - len(span) - 1, 0)
    return clipped(
        [*left, (glyphs.rule * fill, "rule"), (span, "dim"), (glyphs.rule, "rule")], width
    )


def _side_by_side(board: Board, graphs: list[Graph], width: int, height: int) -> list[Line]:
    each = (width - 1) // max(len(graphs), 1)
    drawn = [_drawn(board, one, each - 2, height) for one in graphs]
    lines = []
    for rows in zip(*drawn, strict=True):
        line: Line = [(" ", "text")]
        for row in rows:
            line += [*row, ("  ", "text")]
        lines.append(clipped(line, width))
    return lines


def _drawn(board: Board, one: Graph, width: int, height: int) -> list[Line]:
    """Title with the present and the greatest value, and the graph below it."""
    kind = "ascii" if board.paint.glyphs.ascii_only else board.preferences.plot
    known = _known(one.values)
    now = fmt.NOTHING if one.now is None else one.write(one.now)
    left: Line = [(f"{one.title} ", "dim"), (now, "strong")]
    right: Line = [(f"max {one.write(max(known))}", "faint")] if known else []
    if width_of(left) + width_of(right) + 2 > width:
        right = []
    rows = graph(one.values, width, height - 1, one.top, kind)
    return [spread(left, right, width), *([(fit(row, width), one.role)] for row in rows)]


def _top(key: str, view: DeviceView, known: list[float]) -> float:
    """The full height: one for shares, the limit for power and temperature where it is known."""
    if key.endswith("_ratio"):
        return 1.0
    limits = {
        "power_watts": "power_limit_watts",
        "temperature_celsius": "temperature_limit_celsius",
    }
    limit = fmt.number(view, limits[key]) if key in limits else None
    return max(float(limit or 0.0), *known, 1.0)


def _writer(key: str, board: Board) -> Callable[[float], str]:
    if key.endswith("_ratio"):
        return fmt.percent
    unit = " W" if key == "power_watts" else f"{board.paint.glyphs.degree}C"
    return lambda value: f"{value:.0f}{unit}"
