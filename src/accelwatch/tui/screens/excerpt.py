"""A moment of the black box: all devices on one time axis; left and right go to other frozen files."""

from collections.abc import Callable

from accelwatch.tui.screens.page import PageScreen
from accelwatch.tui.state.action import BLACK_BOX
from accelwatch.tui.state.board import Board
from accelwatch.tui.views.blackbox.excerpt_page import ExcerptPage


def excerpt_screen(
    board: Board,
    page: ExcerptPage,
    now: Callable[[], float],
    turned: Callable[[ExcerptPage], None],
) -> PageScreen:
    """The screen; `turned` has another file read."""

    def handle(action: str) -> bool:
        if action not in ("left", "right"):
            return False
        if page.turn(-1 if action == "left" else 1):
            turned(page)
        return True

    return PageScreen(
        board, BLACK_BOX, lambda width: page.lines(width, board.paint.glyphs), now, handle=handle
    )
