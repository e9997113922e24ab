"""A rectangle of lines that a function makes; nothing in it can be selected."""

from collections.abc import Callable
from typing import ClassVar

from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.state.board import Board

Draw = Callable[[int, int], list[Line]]
"""Lines for a width and a height."""


class Panel(Widget):
    """Calls `draw` once a paint."""

    ALLOW_SELECT: ClassVar[bool] = False

    def __init__(self, board: Board, draw: Draw, *, id: str, edge: bool = False) -> None:
        super().__init__(id=id)
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
