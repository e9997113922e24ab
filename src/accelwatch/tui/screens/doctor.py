"""Screen 6: what became of each backend, and why a device is missing."""

from collections.abc import Callable

from accelwatch.tui.screens.page import PageScreen
from accelwatch.tui.state.actions import DOCTOR
from accelwatch.tui.state.board import Board
from accelwatch.tui.views import doctor_lines


def doctor_screen(board: Board, now: Callable[[], float]) -> PageScreen:
    """The screen."""
    return PageScreen(
        board,
        DOCTOR,
        lambda width: doctor_lines.lines(board.snapshot, width, board.paint.glyphs, board.heard),
        now,
    )
