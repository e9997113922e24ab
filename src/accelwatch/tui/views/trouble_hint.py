"""What is wrong, in a few words for the line of keys: `✕ nvidia6 lost:`. Pure."""

from accelwatch.schema.display import printable
from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.status.device_status import effective_state, severity
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.lines import Line, fit
from accelwatch.tui.state.action import DEVICE, FLEET, LOCAL
from accelwatch.tui.state.board import Board
from accelwatch.tui.views.fleet.node_list import render_context

# Cells, so that the keys have room beside it.
_MOST = 40


def trouble_hint(board: Board, screen: str) -> Line:
    """The worst of what the screen is about; empty where nothing is wrong, and on other screens."""
    if screen == FLEET and board.fleet is not None:
        return _of_fleet(board)
    return _of_machine(board) if screen in (LOCAL, DEVICE) else []


def _of_machine(board: Board) -> Line:
    worst = max(board.devices, key=_severity, default=None)
    if worst is None or not _severity(worst):
        return []
    glyphs = board.paint.glyphs
    name = printable(worst.device.name, ascii_only=glyphs.ascii_only)
    text = f"{fmt.state_glyph(worst, glyphs)} {name} {fmt.status_text(worst)}"
    return _fitted_hint(text, fmt.state_role(worst), board)


def _severity(view: DeviceView) -> int:
    return severity(effective_state(view.state.value, view.health.value))


def _of_fleet(board: Board) -> Line:
    from accelwatch.tui.fleet.cells import verdict_cells
    from accelwatch.tui.fleet.cells.render_context import state_of

    fleet = board.fleet
    counted = fleet.counted if fleet is not None else None
    if fleet is None or counted is None:
        return []
    worst = max(counted.rows.values(), key=lambda row: row.severity, default=None)
    if worst is None or not worst.severity:
        return []
    context = render_context(board, fleet)
    text, role = verdict_cells.trouble(worst, context)
    sign, _, what = text.partition(" ")
    if not worst.speaks or worst.worst is None:
        return _fitted_hint(f"{worst.node} {state_of(worst, context)}", "bad", board)
    return _fitted_hint(f"{sign} {worst.node} {what}", role, board)


def _fitted_hint(text: str, role: str, board: Board) -> Line:
    shown = fit(text, min(len(text), _MOST), ellipsis=board.paint.glyphs.ellipsis)
    return [(f" {shown}: ", role)]
