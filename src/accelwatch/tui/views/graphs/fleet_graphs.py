"""The fleet over the last hour as graphs with marked axes, for large terminals. Pure."""

import math
from collections.abc import Callable, Mapping, Sequence

import msgspec

from accelwatch.fleet.picture.model import RecentHistory
from accelwatch.fleet.wire import FleetDocument
from accelwatch.schema.device import UP
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.lines import Line, fit, spread
from accelwatch.tui.drawing.plot import graph
from accelwatch.tui.fleet.cells.value_cells import watts
from accelwatch.tui.state.board import Board
from accelwatch.tui.views.graphs.device_graphs import Graph, without_nan

# The least terminal that has room for them.
WIDTH, HEIGHT = 160, 45
LINES, MOST_LINES = 8, 20
# Cells of the numbers at the left of a graph.
_SCALE = 8
# Spans of time that the axis below is divided into; one alone below ten minutes.
_TIME_LABELS = 4
# How much has to be known before graphs are drawn.
_LEAST_S = 180.0


def lines(
    board: Board, history: RecentHistory | None, sums: FleetDocument | None, width: int, height: int
) -> list[Line]:
    """Load, memory, power, and how many devices do not answer, side by side.

    The number above each is that of the totals; the last step of the past may be a minute old.
    """
    if history is None or height < 4:
        return []
    history = since_first_value(history)
    drawn = _graphs(history, _present(sums))
    each = (width - 1) // max(len(drawn), 1) - 2
    columns = [_drawn(board, drawing, history, each, height) for drawing in drawn]
    rows = []
    for fragments in zip(*columns, strict=True):
        row: Line = [(" ", "text")]
        for fragment in fragments:
            row += [*fragment, ("  ", "text")]
        rows.append(row)
    return rows


def since_first_value(history: RecentHistory) -> RecentHistory:
    """The past without the steps before the first of which anything is known."""
    count = max((len(steps) for steps in history.values.values()), default=0)
    starts = [
        count - len(steps) + index
        for steps in history.values.values()
        for index in (next((n for n, value in enumerate(steps) if value is not None), None),)
        if index is not None
    ]
    first = min(starts, default=count)
    values = {
        name: steps[max(first - count + len(steps), 0) :] for name, steps in history.values.items()
    }
    return msgspec.structs.replace(history, values=values)


def enough(history: RecentHistory | None) -> bool:
    """Whether so much is known that a graph shows more than the totals."""
    if history is None:
        return False
    steps = since_first_value(history).values.values()
    return history.step_s * max(map(len, steps), default=0) >= _LEAST_S


def _present(sums: FleetDocument | None) -> Mapping[str, float | None]:
    """What is so now, by the title of the graph; without totals nothing is known."""
    if sums is None:
        return {}
    used, size = sums.memory_used_bytes, sums.memory_size_bytes
    silent = sum(sums.devices.values()) - sum(sums.devices.get(state, 0) for state in UP)
    return {
        "load": sums.utilization_ratio,
        "memory": used / size if used is not None and size else None,
        "power": sums.power_watts,
        "not answering": silent if sums.devices else None,
    }


def _graphs(history: RecentHistory, present: Mapping[str, float | None]) -> list[Graph]:
    load, power = _steps(history, "utilization_ratio"), _steps(history, "power_watts")
    used, size = _steps(history, "memory_used_bytes"), _steps(history, "memory_size_bytes")
    memory = [
        amount / total if total else math.nan for amount, total in zip(used, size, strict=True)
    ]
    silent = _steps(history, "devices_not_answering")
    return [
        _graph("load", "plot0", load, present, fmt.percent, top=1.0),
        _graph("memory", "plot1", memory, present, fmt.percent, top=1.0),
        _graph("power", "plot2", power, present, watts),
        _graph(
            "not answering",
            "bad" if any([*without_nan(silent), present.get("not answering")]) else "faint",
            silent,
            present,
            lambda count: f"{count:.0f}",
        ),
    ]


def _steps(history: RecentHistory, name: str) -> list[float]:
    """The values of a quantity, NaN where there is none; as many as there are steps."""
    count = max((len(steps) for steps in history.values.values()), default=0)
    steps = [math.nan if value is None else float(value) for value in history.values.get(name, ())]
    return [math.nan] * (count - len(steps)) + steps


def _graph(
    title: str,
    role: str,
    values: Sequence[float],
    present: Mapping[str, float | None],
    write: Callable[[float], str],
    *,
    top: float | None = None,
) -> Graph:
    now = present.get(title)
    points = _points_of(values, now)
    return Graph(
        title=title,
        role=role,
        values=values,
        top=max(1.0, *points) if top is None and points else top or 1.0,
        now=now,
        write=write,
    )


def _points_of(values: Sequence[float], now: float | None) -> list[float]:
    """The values that there are, with the present one, which the last step may lag behind."""
    return [*without_nan(values), *([] if now is None else [now])]


def _drawn(
    board: Board, drawing: Graph, history: RecentHistory, width: int, height: int
) -> list[Line]:
    """Title, the graph with its scale at the left, and the time below."""
    kind = "ascii" if board.paint.glyphs.ascii_only else board.preferences.plot
    points = _points_of(drawing.values, drawing.now)
    now = fmt.NOTHING if drawing.now is None else drawing.write(drawing.now)
    most: Line = [(f"max {drawing.write(max(points))}", "faint")] if points else []
    title = spread([(f"{drawing.title} ", "dim"), (now, "strong")], most, width)
    inner, rows = width - _SCALE, height - 2
    picture = graph(drawing.values, inner, rows, drawing.top, kind)
    scale = _scale(drawing, rows)
    body: list[Line] = [
        [(f"{scale.get(row, ''):>{_SCALE - 1}} ", "faint"), (fit(line, inner), drawing.role)]
        for row, line in enumerate(picture)
    ]
    span_s = len(drawing.values) * history.step_s
    return [title, *body, [(f"{'':{_SCALE}}{_axis(span_s, inner)}", "faint")]]


def _scale(drawing: Graph, rows: int) -> dict[int, str]:
    """The numbers by row: top, half and zero; a half that reads as one of the others is left out."""
    top, half, none = (drawing.write(value) for value in (drawing.top, drawing.top / 2, 0.0))
    middle = {} if half in (top, none) else {rows // 2: half}
    return {0: top, **middle, rows - 1: none}


def _axis(span_s: float, width: int) -> str:
    """`60 min     45     30     15     now`, each mark where its moment is."""
    axis = [" "] * width
    spans = _TIME_LABELS if span_s >= 600 else 1
    for step in range(spans):
        text = f"{span_s * (spans - step) / spans / 60:.0f}" + (" min" if not step else "")
        at = step * width // spans
        axis[at : at + len(text)] = text
    axis[width - 3 :] = "now"
    return "".join(axis[:width])
