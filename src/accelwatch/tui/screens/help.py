"""Help: every key, sign and flag."""

from collections.abc import Callable

from accelwatch.tui.screens.page import PageScreen
from accelwatch.tui.state.board import Board
from accelwatch.tui.views import help_lines


def help_screen(board: Board, now: Callable[[], float]) -> PageScreen:
    """The screen."""
    return PageScreen(
        board,
        "help",
        lambda width: help_lines.lines(
            width,
            board.paint.glyphs,
            replay=board.recorded,
            fleet=board.fleet is not None,
            signals=board.signals,
            terminal=board.terminal,
        ),
        now,
    )
