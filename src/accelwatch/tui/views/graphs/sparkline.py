"""How busy a device was in the last five minutes, on one line. Pure."""

from accelwatch.schema.snapshot import DeviceView
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.lines import Span, fit
from accelwatch.tui.drawing.plot import columns_of, graph
from accelwatch.tui.local.history import FINE_S, FINE_SIZE
from accelwatch.tui.state.board import Board
from accelwatch.tui.views.graphs.device_graphs import picture_time

_SPAN_S = FINE_S * FINE_SIZE


def sparkline(board: Board, view: DeviceView, width: int) -> Span:
    """`width` cells; it moves on by whole columns only, so that a terminal gets little to paint."""
    kind = "ascii" if board.paint.glyphs.ascii_only else board.preferences.plot
    step_s = _SPAN_S / max(columns_of(kind, width), 1)
    until = picture_time(view, board) // step_s * step_s
    values = board.history.series(view.device.id, "utilization_ratio", until)
    rows = graph(values, width, 1, 1.0, kind)
    return fit("".join(rows), width), "load" if fmt.readable(view) else "faint"
