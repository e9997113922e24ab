"""The evidence of an incident over time in front of the band of its peers, its start marked. Pure."""

from collections.abc import Sequence

from accelwatch.fleet.documents.graphs import IncidentGraphs, QuantityGraph
from accelwatch.fleet.picture.graph_text import bounds, clock, current, start_of, value_text
from accelwatch.schema.display import printable
from accelwatch.schema.timestamps import unix_seconds
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.band_plot import BandPlot, band_rows
from accelwatch.tui.drawing.lines import Line, clipped, fit, spread, width_of
from accelwatch.tui.state.board import Board
from accelwatch.tui.views.graphs.start_marker import start_marker

# Cells a graph needs, with its scale.
LEAST = 34
_ROLES = ("plot0", "plot1", "plot2", "plot3")
_BAND = "faint"
# Between the numbers of the scale and the plot, and between graphs.
_GAP = 1
_BETWEEN = 2


def band_strip(
    board: Board, graphs: IncidentGraphs, width: int, height: int, *, is_closed: bool = False
) -> list[Line]:
    """A title, as many graphs as fit, those of the evidence first, and below each where it started.

    Graphs of an incident that `is_closed` need not end now: their title says when they do.
    """
    shown = _arranged(graphs)[: min(max((width - 1) // LEAST, 1), len(_ROLES))]
    if not shown or height < 4:
        return []
    each = (width - 1) // len(shown) - _BETWEEN
    drawn = [
        _drawn(board, graphs, graph, (each, height - 1), role)
        for graph, role in zip(shown, _ROLES, strict=False)
    ]
    lines = [_title(board, graphs, width, is_closed=is_closed)]
    for rows in zip(*drawn, strict=True):
        line: Line = [(" ", "text")]
        for row in rows:
            line += [*row, (" " * _BETWEEN, "text")]
        lines.append(clipped(line, width))
    return lines


def _arranged(graphs: IncidentGraphs) -> Sequence[QuantityGraph]:
    main = graphs.main
    return [*main, *(graph for graph in graphs.graphs if graph not in main)]


def _title(board: Board, graphs: IncidentGraphs, width: int, *, is_closed: bool) -> Line:
    glyphs = board.paint.glyphs
    band = ":" if glyphs.ascii_only else "░"
    end = unix_seconds(graphs.end)
    length = _span(end - start_of(graphs))
    span = f" {length} until {clock(end)} " if is_closed else f" last {length} "
    name = printable(graphs.line, ascii_only=glyphs.ascii_only)
    left: Line = [(f"{glyphs.rule} ", "rule"), (name, "strong"), (" ", "text")]
    if any(graph.peers for graph in graphs.graphs):
        peers = printable(graphs.band, ascii_only=glyphs.ascii_only)
        legend = f"{glyphs.dot} {band} the middle half of {peers} "
        room = max(width - width_of(left) - len(span) - 2, 0)
        left.append((fit(legend, min(room, len(legend)), ellipsis=glyphs.ellipsis), "dim"))
    fill = max(width - width_of(left) - len(span) - 1, 0)
    right: Line = [(span, "dim"), (glyphs.rule, "rule")]
    return clipped(spread([*left, (glyphs.rule * fill, "rule")], right, width), width)


def _span(seconds: float) -> str:
    """`15 min`; `40 s` where there is less than a minute."""
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"


def _drawn(
    board: Board,
    graphs: IncidentGraphs,
    graph: QuantityGraph,
    size: tuple[int, int],
    role: str,
) -> list[Line]:
    """Title with the present values, the plot with its scale at the left, and the marker below."""
    width, height = size
    glyphs = board.paint.glyphs
    kind = "ascii" if glyphs.ascii_only else board.preferences.plot
    low, high = bounds(graph)
    top, bottom = (value_text(graph, value, ascii_only=glyphs.ascii_only) for value in (high, low))
    has_values = any(value is not None for value in (*graph.values, *graph.median))
    scale = (max(len(top), len(bottom)) if has_values else 0) + _GAP
    rows = height - 2
    plot = BandPlot(graph.values, graph.lower_quartile, graph.upper_quartile, low, high)
    numbers = {0: top, rows - 1: bottom} if has_values else {}
    body = [
        [(f"{numbers.get(row, ''):>{scale - _GAP}}{' ' * _GAP}", "faint"), *_merged(line)]
        for row, line in enumerate(band_rows(plot, width - scale, rows, kind, (role, _BAND)))
    ]
    span = start_of(graphs), unix_seconds(graphs.end)
    marker = start_marker(unix_seconds(graphs.since), span, width - scale, glyphs.up)
    return [
        _heading(board, graphs, graph, width),
        *body,
        [(" " * scale, "text"), (marker, "warn")],
    ]


def _merged(line: Line) -> Line:
    """Neighbours in one role together: a terminal gets less to paint."""
    merged: Line = []
    for text, role in line:
        if merged and merged[-1][1] == role:
            merged[-1] = (merged[-1][0] + text, role)
        else:
            merged.append((text, role))
    return merged


def _heading(board: Board, graphs: IncidentGraphs, graph: QuantityGraph, width: int) -> Line:
    glyphs = board.paint.glyphs
    own = None if graph.absent else current(graphs, graph.values)
    now, peers = (
        fmt.NOTHING if value is None else value_text(graph, value, ascii_only=glyphs.ascii_only)
        for value in (own, current(graphs, graph.median))
    )
    title = graph.name.partition(".")[0].rpartition("_")[0] or graph.name
    now = f"{now} ({graph.absent})" if graph.absent else now
    left: Line = [(f"{title} ", "dim"), (now, "strong")]
    right: Line = [(f"peers {peers}", "faint")] if graph.peers else []
    if width_of(left) + width_of(right) + 2 > width:
        right = []
    return spread(left, right, width)
