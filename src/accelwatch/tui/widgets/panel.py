"""A rectangle of lines that a function makes; what is in it may be clicked, nothing can be selected."""

from collections.abc import Callable, Iterable

from textual import events
from textual.message import Message
from textual.strip import Strip

from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.state.board import Board
from accelwatch.tui.widgets.painted import Painted

# Lines for a width and a height.
Draw = Callable[[int, int], list[Line]]
# The id of the action of a cell, for a width and the cell's column and line; empty for none.
ActionAt = Callable[[int, int, int], str]


class Panel(Painted):
    """Calls the function once a paint."""

    class Pressed(Message):
        """An action was clicked."""

        def __init__(self, action_id: str) -> None:
            super().__init__()
            self.action_id = action_id

    def __init__(
        self,
        board: Board,
        lines: Draw,
        *,
        id: str,
        edge: bool = False,
        action_at: ActionAt | None = None,
    ) -> None:
        super().__init__(id=id)
        self._action_at = action_at
        self.board = board
        self._lines = lines
        # Whether the first line is the edge of the screen.
        self._edge = edge

    def draw(self, lines: Iterable[int]) -> list[Strip]:
        """The lines of the function."""
        width, height = self.size
        rows = self._lines(width, height)
        strips = []
        for y in lines:
            line = rows[y] if y < len(rows) else []
            overlay = "edge" if self._edge and y == 0 else ""
            strips.append(self.board.paint.strip(line, width, overlay))
        return strips

    def on_click(self, event: events.Click) -> None:
        """Do what is under the pointer."""
        if self._action_at is None:
            return
        event.stop()
        action_id = self._action_at(self.size.width, event.x, event.y)
        if action_id:
            self.post_message(self.Pressed(action_id))
