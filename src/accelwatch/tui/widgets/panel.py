"""A rectangle of lines that a function makes; what is in it may be clicked, nothing can be selected."""

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.state.board import Board

Draw = Callable[[int, int], list[Line]]
"""Lines for a width and a height."""
ActionAt = Callable[[int, int, int], str]
"""The id of the action of a cell, for a width and the cell's column and line; empty for none."""


class Panel(Widget):
    """Calls `draw` once a paint."""

    ALLOW_SELECT: ClassVar[bool] = False

    class Pressed(Message):
        """An action was clicked."""

        def __init__(self, action_id: str) -> None:
            super().__init__()
            self.action_id = action_id

    def __init__(
        self,
        board: Board,
        draw: Draw,
        *,
        id: str,
        edge: bool = False,
        action_at: ActionAt | None = None,
    ) -> None:
        super().__init__(id=id)
        self._action_at = action_at
        self.board = board
        self._draw = draw
        self._edge = edge
        """Whether the first line is the edge of the screen."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of a region."""
        width, height = self.size
        lines = self._draw(width, height)
        strips = []
        for y in crop.line_range:
            line = lines[y] if y < len(lines) else []
            overlay = "edge" if self._edge and y == 0 else ""
            strips.append(self.board.paint.strip(line, width, overlay))
        if crop.x == 0 and crop.width == width:
            return strips
        return [strip.crop(crop.x, crop.right) for strip in strips]

    def on_click(self, event: events.Click) -> None:
        """Do what is under the pointer."""
        if self._action_at is None:
            return
        event.stop()
        action_id = self._action_at(self.size.width, event.x, event.y)
        if action_id:
            self.post_message(self.Pressed(action_id))
