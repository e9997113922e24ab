"""The history of one device as a row of small graphs with titles. Pure."""

import math

from accelwatch.schema.snapshot import DeviceView
from accelwatch.tui import format as fmt
from accelwatch.tui.board import Board
from accelwatch.tui.lines import Line, clipped, fit, spread
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


def strip(board: Board, width: int, height: int, *, hour: bool = False) -> list[Line]:
    """A title line, and below it as many graphs side by side as fit."""
    view = board.selected
    if view is None or height < 2:
        return []
    count = min(max((width - 1) // _LEAST, 1), len(GRAPHS))
    each = (width - 1) // count
    graphs = [small_graph(board, view, n, each - 1, height - 1, hour=hour) for n in range(count)]
    title = _title(board, view, width, hour)
    lines = [title]
    for rows in zip(*graphs, strict=True):
        line: Line = [(" ", "text")]
        for row in rows:
            line += [*row, (" ", "text")]
        lines.append(clipped(line, width))
    return lines


def _title(board: Board, view: DeviceView, width: int, hour: bool) -> Line:
    span = "60 min" if hour else "5 min"
    rule = board.paint.glyphs.rule
    left: Line = [(f"{rule} ", "rule"), (view.device.name, "strong"), (" ", "text")]
    if width >= 60:
        left += [(f"{fmt.model_name(view)} ", "dim")]
    used = sum(len(text) for text, _ in left)
    right: Line = [(f" last {span} ", "dim"), (rule, "rule")]
    fill = max(width - used - len(span) - 8, 0)
    return clipped([*left, (rule * fill, "rule"), *right], width)


def small_graph(
    board: Board, view: DeviceView, number: int, width: int, height: int, *, hour: bool
) -> list[Line]:
    """Title with the present and the greatest value, and the graph below it."""
    key, title, role = GRAPHS[number]
    until = view.sample_time or board.snapshot.time
    values = board.history.series(view.device.id, key, until, hour=hour)
    known = [value for value in values if not math.isnan(value)]
    top = _top(key, view, known)
    kind = "ascii" if board.paint.glyphs.ascii_only else board.preferences.plot
    now = known[-1] if known and fmt.readable(view) else None
    left: Line = [(f"{title} ", "dim"), (_shown(key, now, board), "strong")]
    right: Line = []
    if known and width >= 24:
        right = [(f"max {_shown(key, max(known), board)}", "faint")]
    role = role if fmt.readable(view) else "faint"
    rows = graph(values, width, height - 1, top, kind)
    return [spread(left, right, width), *([(fit(row, width), role)] for row in rows)]


def _top(key: str, view: DeviceView, known: list[float]) -> float:
    """The full height: one for shares, the limit for power and temperature where it is known."""
    if key.endswith("_ratio"):
        return 1.0
    limits = {
        "power_watts": "power_limit_watts",
        "temperature_celsius": "temperature_limit_celsius",
    }
    limit = fmt.number(view, limits[key]) if key in limits else None
    return max(float(limit or 0.0), *known, 1.0) if known else float(limit or 1.0)


def _shown(key: str, value: float | None, board: Board) -> str:
    if value is None:
        return fmt.NOTHING
    if key.endswith("_ratio"):
        return fmt.percent(value)
    if key == "clock_hertz":
        return fmt.megahertz(value)
    unit = " W" if key == "power_watts" else f"{board.paint.glyphs.degree}C"
    return f"{value:.0f}{unit}"
