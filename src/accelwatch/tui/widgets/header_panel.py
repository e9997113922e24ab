"""The header of a screen as a panel whose tabs can be clicked."""

from collections.abc import Callable

from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.state.action import SCREEN
from accelwatch.tui.state.actions import further_screens
from accelwatch.tui.state.board import Board
from accelwatch.tui.views.header import header, tab_at
from accelwatch.tui.widgets.panel import Panel

# Screens without a number, whose actions are named as they are.
_FURTHER = frozenset(id_ for _, id_ in further_screens(topology=True))


def header_panel(board: Board, now: Callable[[], float], screen: str) -> Panel:
    """The panel; `now` gives Unix seconds, `screen` is the name of the one that it stands on."""

    def draw(width: int, height: int) -> list[Line]:
        return header(board, width, height, now(), screen)

    def action_at(width: int, x: int, y: int) -> str:
        name = tab_at(board, width, now(), screen, x) if y == 0 else ""
        if not name or name == screen:
            return ""
        return name if name in _FURTHER else f"{SCREEN}{name}"

    return Panel(board, draw, id="header", edge=True, action_at=action_at)
