"""The history of one device as a row of small graphs with titles. Pure."""

import math
from collections.abc import Callable, Sequence

import msgspec

from accelwatch.schema import display
from accelwatch.schema.display import printable
from accelwatch.schema.reading import Process
from accelwatch.schema.snapshot import DeviceView
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.lines import Line, clipped, fit, spread, width_of
from accelwatch.tui.drawing.plot import graph
from accelwatch.tui.local.devices.cells import work
from accelwatch.tui.local.history import TRACKED, tracked_values
from accelwatch.tui.local.process_history import tracked_values as process_values
from accelwatch.tui.state.board import Board

# What is drawn: tracked key, title, role.
GRAPHS = (
    ("utilization_ratio", "load", "plot0"),
    ("memory_ratio", "memory", "plot1"),
    ("power_watts", "power", "plot2"),
    ("temperature_celsius", "temperature", "plot3"),
)
# Cells a graph needs.
_LEAST = 28


class Graph(msgspec.Struct, frozen=True, kw_only=True):
    """One small graph: title, role, values oldest first, the full height, and how values read."""

    title: str
    role: str
    values: Sequence[float]
    top: float
    now: float | None
    write: Callable[[float], str]


def strip(board: Board, width: int, height: int, *, hour: bool = False) -> list[Line]:
    """A title line, and below it as many graphs of the selected device as fit.

    They end at the moment of the picture: what is not known since is a gap, with the reason above.
    """
    view = board.selected
    if view is None or height < 2:
        return []
    count = min(max((width - 1) // _LEAST, 1), len(GRAPHS))
    graphs = [_of_device(board, view, index, hour=hour) for index in range(count)]
    model = fmt.model_name(view) if width >= 60 else ""
    owner = work(view) if view.owners else ""
    more = f" {board.paint.glyphs.dot} ".join(text for text in (model, owner) if text)
    title = _title(board, (view.device.name, more), width, hour=hour, lack=_lack(view, board))
    return [title, *side_by_side(board, graphs, width, height - 1)]


def process_strip(board: Board, process: Process, width: int, height: int) -> list[Line]:
    """The same of a process: memory, and its shares of device and processors."""
    count = min(max((width - 1) // _LEAST, 1), 3)
    until, current = _present(board, process)
    present = process_values(current) if current is not None else ()
    graphs = []
    for index, (key, title, role) in enumerate(_OF_PROCESS[:count]):
        values = board.process_history.series(process, key, until, stands=bool(present))
        points = without_nan(values)
        share = key != "gpu_memory_bytes"
        drawn = Graph(
            title=title,
            role=role if present else "faint",
            values=values,
            top=max(1.0 if share else 0.0, *points) if points else 1.0,
            now=_number(present[index]) if present else None,
            write=fmt.percent if share else display.size,
        )
        graphs.append(drawn)
    title_line = _title(board, (f"pid {process.pid}", process.command or ""), width, hour=False)
    return [title_line, *side_by_side(board, graphs, width, height - 1)]


def _present(board: Board, process: Process) -> tuple[float, Process | None]:
    """The moment of the picture, and the process as it is then; None where it is not seen."""
    for view in board.snapshot.devices:
        if view.device.id == process.device_id:
            now = (
                candidate
                for candidate in view.reading.processes or ()
                if candidate.pid == process.pid
            )
            present = next(
                (candidate for candidate in now if candidate.start_time == process.start_time), None
            )
            return picture_time(view, board), present
    return board.snapshot.time, None


def picture_time(view: DeviceView, board: Board) -> float:
    """The moment of the picture on the clock of the device's samples."""
    if view.sample_time is None or view.sample_age_s is None:
        return board.snapshot.time
    return view.sample_time + view.sample_age_s


def _lack(view: DeviceView, board: Board) -> str:
    """Why there is nothing of now: `hung for 42 s`, `lost`; empty where there is."""
    if fmt.readable(view):
        return ""
    status, lasts = fmt.status_text(view), fmt.state_lasts(view, board.snapshot)
    return f"{status} for {lasts}" if lasts else status


_OF_PROCESS = (
    ("gpu_memory_bytes", "device memory", "plot1"),
    ("utilization_ratio", "device", "plot0"),
    ("cpu_utilization_ratio", "processors", "plot2"),
)


def without_nan(values: Sequence[float]) -> list[float]:
    """Those that there are."""
    return [value for value in values if value == value]  # noqa: PLR0124 - NaN


def _of_device(board: Board, view: DeviceView, index: int, *, hour: bool) -> Graph:
    key, title, role = GRAPHS[index]
    readable, until = fmt.readable(view), picture_time(view, board)
    values = board.history.series(view.device.id, key, until, hour=hour, stands=readable)
    points = without_nan(values)
    present = tracked_values(view.reading)[TRACKED.index(key)]
    return Graph(
        title=title,
        role=role if readable else "faint",
        values=values,
        top=_top(key, view, points),
        now=_number(present) if readable else None,
        write=_writer(key, board),
    )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _title(board: Board, names: tuple[str, str], width: int, *, hour: bool, lack: str = "") -> Line:
    span = " last 60 min " if hour else " last 5 min "
    glyphs = board.paint.glyphs
    more = printable(names[1], ascii_only=glyphs.ascii_only)
    left: Line = [(f"{glyphs.rule} ", "rule"), (names[0], "strong"), (" ", "text")]
    left += [(f"{more} ", "dim")] if more else []
    left += [(f"{glyphs.dot} ", "dim"), (f"{lack} ", "warn")] if lack else []
    fill = max(width - width_of(left) - len(span) - 1, 0)
    return clipped(
        [*left, (glyphs.rule * fill, "rule"), (span, "dim"), (glyphs.rule, "rule")], width
    )


def side_by_side(board: Board, graphs: list[Graph], width: int, height: int) -> list[Line]:
    """Graphs beside each other, each with its title above."""
    each = (width - 1) // max(len(graphs), 1)
    drawn = [_drawn(board, drawing, each - 2, height) for drawing in graphs]
    lines = []
    for rows in zip(*drawn, strict=True):
        line: Line = [(" ", "text")]
        for row in rows:
            line += [*row, ("  ", "text")]
        lines.append(clipped(line, width))
    return lines


def _drawn(board: Board, drawing: Graph, width: int, height: int) -> list[Line]:
    """Title with the present and the greatest value, and the graph below it."""
    kind = "ascii" if board.paint.glyphs.ascii_only else board.preferences.plot
    points = without_nan(drawing.values)
    now = fmt.NOTHING if drawing.now is None else drawing.write(drawing.now)
    left: Line = [(f"{drawing.title} ", "dim"), (now, "strong")]
    right: Line = [(f"max {drawing.write(max(points))}", "faint")] if points else []
    if width_of(left) + width_of(right) + 2 > width:
        right = []
    rows = graph(drawing.values, width, height - 1, drawing.top, kind)
    return [spread(left, right, width), *([(fit(row, width), drawing.role)] for row in rows)]


def _top(key: str, view: DeviceView, points: list[float]) -> float:
    """The full height: one for shares, the limit for power and temperature where it is known."""
    if key.endswith("_ratio"):
        return 1.0
    limits = {
        "power_watts": "power_limit_watts",
        "temperature_celsius": "temperature_limit_celsius",
    }
    limit = fmt.number(view, limits[key]) if key in limits else None
    return max(float(limit or 0.0), *points, 1.0)


def _writer(key: str, board: Board) -> Callable[[float], str]:
    if key.endswith("_ratio"):
        return fmt.percent
    unit = " W" if key == "power_watts" else f"{board.paint.glyphs.degree}C"
    return lambda value: f"{value:.0f}{unit}"
