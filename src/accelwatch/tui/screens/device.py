"""Screen 3: everything about the selected device, with graphs over five minutes and an hour."""

from collections.abc import Callable

from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.local import device_facts
from accelwatch.tui.screens.page import PageScreen
from accelwatch.tui.state.actions import DEVICE
from accelwatch.tui.state.board import Board
from accelwatch.tui.views import strip_graphs
from accelwatch.tui.views.device_lack import why_none


def device_screen(board: Board, now: Callable[[], float]) -> PageScreen:
    """The screen; left and right go to the device before and after."""

    def write(width: int) -> list[Line]:
        view = board.selected
        if view is None:
            return why_none(board, width) or [[(" no device is selected", "dim")]]
        return device_facts.lines(view, board.snapshot, width, board.paint.glyphs)

    def draw(width: int, height: int) -> list[Line]:
        if height < 12:
            return strip_graphs.strip(board, width, height, hour=board.hour)
        upper = height // 2
        fine = strip_graphs.strip(board, width, upper, hour=False)
        return [*fine, *strip_graphs.strip(board, width, height - upper, hour=True)]

    def handle(action: str) -> bool:
        if action not in ("left", "right"):
            return False
        board.select_next(-1 if action == "left" else 1)
        return True

    return PageScreen(board, DEVICE, write, now, draw=draw, heights=heights, handle=handle)


def heights(rows: int) -> int:
    """Both spans of time where there is room for them, one below that, none on small terminals."""
    if rows >= 40:
        return 14
    return rows // 4 + 1 if rows >= 20 else 0
