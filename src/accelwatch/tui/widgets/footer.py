"""The line at the bottom: the most useful keys of the screen, which can be clicked."""

from collections.abc import Iterable

from textual import events
from textual.message import Message
from textual.strip import Strip

from accelwatch.tui.drawing.lines import Line, fit, width_of
from accelwatch.tui.state.action import Action
from accelwatch.tui.state.actions import usable
from accelwatch.tui.state.board import Board
from accelwatch.tui.state.key_names import key_name
from accelwatch.tui.widgets.painted import Painted


def footer_line(actions: list[Action], width: int) -> tuple[Line, list[tuple[int, int, str]]]:
    """The line, and which cells (from, to) belong to which action's id."""
    line: Line = [(" ", "text")]
    regions: list[tuple[int, int, str]] = []
    used = 1
    for action in actions:
        spans: Line = [(key_name(action.keys[0]), "key"), (f" {action.label}   ", "dim")]
        size = width_of(spans)
        if used + size - 2 > width:
            continue
        regions.append((used, used + size - 2, action.id))
        line += spans
        used += size
    return line, regions


class Footer(Painted):
    """Keys from the table of actions."""

    class Pressed(Message):
        """An action was clicked."""

        def __init__(self, action_id: str) -> None:
            super().__init__()
            self.action_id = action_id

    def __init__(self, board: Board, screen_name: str) -> None:
        super().__init__(id="footer")
        self.board = board
        self._screen_name = screen_name

    @property
    def _shown(self) -> list[Action]:
        """The way out and to help first, then what a person may be waited for with."""
        board = self.board
        actions = usable(
            self._screen_name,
            replay=board.recorded,
            archive=board.archive,
            signals=board.signals,
            terminal=board.terminal,
            acts=board.fleet is not None and board.fleet.remedies.acts,
        )
        return sorted(
            (action for action in actions if action.footer),
            key=lambda action: (
                action.id not in ("help", "quit"),
                not action.archive_only,
                not action.acts,
                action.group == "Screens",
            ),
        )

    def draw(self, lines: Iterable[int]) -> list[Strip]:
        """The line, and empty ones below it."""
        width = self.size.width
        line, _ = footer_line(self._shown, width)
        if self.board.message:
            ellipsis = self.board.paint.glyphs.ellipsis
            line = [(fit(f" {self.board.message}", width, ellipsis=ellipsis), "accent")]
        return [self.board.paint.strip([] if y else line, width, "edge") for y in lines]

    def on_click(self, event: events.Click) -> None:
        """Do what is under the pointer."""
        event.stop()
        _, regions = footer_line(self._shown, self.size.width)
        for first, last, action_id in regions:
            if first <= event.x < last:
                self.post_message(self.Pressed(action_id))
