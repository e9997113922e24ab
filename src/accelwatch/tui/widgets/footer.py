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
from accelwatch.tui.views.trouble_hint import trouble_hint
from accelwatch.tui.widgets.painted import Painted

# Keys that stand first while something is wrong, right after what it is.
_WHEN_WRONG = ("next_problem", "why", "blackbox")


# Cells from which there is room for words beside the keys.
_WORDY = 60


def footer_line(
    actions: list[Action], width: int, trouble: Line | None = None
) -> tuple[Line, list[tuple[int, int, str]]]:
    """The line, after what is wrong, and which cells (from, to) belong to which action's id."""
    line: Line = [*(trouble or [(" ", "text")])]
    regions: list[tuple[int, int, str]] = []
    used = width_of(line)
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
        self._trouble: Line = []

    def follow(self) -> None:
        """Paint again where something else is wrong than before."""
        trouble = trouble_hint(self.board, self._screen_name)
        if trouble != self._trouble:
            self._trouble = trouble
            self.refresh()

    @property
    def _shown(self) -> list[Action]:
        """The way out and to help first, then what a person may be waited for with.

        Where something is wrong, the keys that show more of it come before all others.
        """
        board, wrong = self.board, bool(self._trouble)
        actions = usable(
            self._screen_name,
            replay=board.recorded,
            archive=board.archive,
            signals=board.signals,
            terminal=board.terminal,
            acts=board.fleet is not None and board.fleet.remedies.acts,
        )
        first = _WHEN_WRONG[: 3 if board.boxes is not None else 2] if wrong else ()
        return sorted(
            (action for action in actions if action.footer or action.id in first),
            key=lambda action: (
                first.index(action.id) if action.id in first else len(first),
                action.id not in ("help", "quit"),
                not action.archive_only,
                not action.acts,
                action.group == "Screens",
            ),
        )

    def _line(self, width: int) -> tuple[Line, list[tuple[int, int, str]]]:
        """With what is wrong in words where they leave room for the keys."""
        return footer_line(self._shown, width, self._trouble if width >= _WORDY else None)

    def draw(self, lines: Iterable[int]) -> list[Strip]:
        """The line, and empty ones below it."""
        width = self.size.width
        line, _ = self._line(width)
        if self.board.message:
            ellipsis = self.board.paint.glyphs.ellipsis
            line = [(fit(f" {self.board.message}", width, ellipsis=ellipsis), "accent")]
        return [self.board.paint.strip([] if y else line, width, "edge") for y in lines]

    def on_click(self, event: events.Click) -> None:
        """Do what is under the pointer."""
        event.stop()
        _, regions = self._line(self.size.width)
        for first, last, action_id in regions:
            if first <= event.x < last:
                self.post_message(self.Pressed(action_id))
