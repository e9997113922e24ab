"""One line to type in, at the bottom of the screen, with what is wrong with it above."""

from collections.abc import Callable
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from accelwatch.tui.drawing.lines import Line, clipped
from accelwatch.tui.screens.leaving import leave
from accelwatch.tui.state.board import Board
from accelwatch.tui.widgets.panel import Panel
from accelwatch.tui.widgets.typed_line import TypedLine

Check = Callable[[str], str]
"""What is wrong with a text; empty when nothing is."""


class PromptScreen(ModalScreen[str | None], inherit_bindings=False):
    """Gives the text, or None when it was left with Esc. The text is checked as it is typed."""

    ALLOW_SELECT: ClassVar[bool] = False
    CSS = """
    PromptScreen { align: left bottom; background: transparent; }
    PromptScreen Vertical { height: 3; width: 100%; dock: bottom; }
    PromptScreen Panel { height: 1; }
    """

    def __init__(self, board: Board, title: str, text: str, hint: str, check: Check) -> None:
        super().__init__()
        self.board = board
        self._prompt = title
        self._text = text
        self._hint = hint
        self._check = check
        self._wrong = ""

    def compose(self) -> ComposeResult:
        """Title, line, complaint."""
        with Vertical():
            yield Panel(self.board, self._draw_title, id="prompt-title")
            yield TypedLine(self._text)
            yield Panel(self.board, self._draw_wrong, id="prompt-wrong")

    def on_mount(self) -> None:
        """Type at once."""
        self.query_one(Input).focus()

    def _draw_title(self, width: int, _: int) -> list[Line]:
        rule = self.board.paint.glyphs.rule
        head: Line = [(f"{rule} ", "rule"), (self._prompt, "title"), (f" {rule * width}", "rule")]
        return [clipped(head, width)]

    def _draw_wrong(self, width: int, _: int) -> list[Line]:
        if self._wrong:
            return [clipped([(f" {self._wrong}", "bad")], width)]
        return [clipped([(f" {self._hint}", "faint")], width)]

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        self._wrong = self._check(event.value)
        self.query_one("#prompt-wrong").refresh()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        self._wrong = self._check(event.value)
        if self._wrong:
            self.query_one("#prompt-wrong").refresh()
        else:
            leave(self, event.value)

    def on_key(self, event: events.Key) -> None:
        """Esc leaves; other keys are text and reach nothing below."""
        if event.key == "escape":
            event.stop()
            leave(self, None)
