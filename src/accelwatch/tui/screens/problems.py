"""What the hub of a fleet cannot do, in full."""

from collections.abc import Callable

from accelwatch.tui.fleet.board import FleetBoard
from accelwatch.tui.fleet.troubles import trouble_lines
from accelwatch.tui.screens.page import PageScreen
from accelwatch.tui.state.board import Board


def problems_screen(board: Board, fleet: FleetBoard, now: Callable[[], float]) -> PageScreen:
    """The screen."""
    return PageScreen(
        board, "problems", lambda width: trouble_lines(fleet, width, board.paint.glyphs), now
    )
