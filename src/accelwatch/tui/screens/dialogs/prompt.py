"""One line to type in, at the bottom of the screen, with what is wrong with it above."""

from collections.abc import Callable
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from accelwatch.tui.drawing.lines import Line, clipped, wrapped_in
from accelwatch.tui.screens.dialogs.leaving import leave
from accelwatch.tui.state.board import Board
from accelwatch.tui.widgets.panel import Panel
from accelwatch.tui.widgets.typed_line import TypedLine

# Lines below the one that is typed in.
_MOST = 4
# What is wrong with a text; empty when nothing is.
Check = Callable[[str], str]


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
        self._update_hint()

    def on_resize(self, _: events.Resize) -> None:
        """Wrap again."""
        self._update_hint()

    def _draw_title(self, width: int, _: int) -> list[Line]:
        rule = self.board.paint.glyphs.rule
        head: Line = [(f"{rule} ", "rule"), (self._prompt, "title"), (f" {rule * width}", "rule")]
        return [clipped(head, width)]

    def _draw_wrong(self, width: int, _: int) -> list[Line]:
        text, role = (self._wrong, "bad") if self._wrong else (self._hint, "faint")
        most = max(min(_MOST, self.app.size.height - 4), 1)
        rows = wrapped_in(text, width - 2, most, self.board.paint.glyphs.ellipsis)
        return [[(f" {row}", role)] for row in rows]

    def _update_hint(self) -> None:
        """Show what is wrong, or the hint, on as many lines as it needs."""
        panel = self.query_one("#prompt-wrong")
        lines = len(self._draw_wrong(self.app.size.width, 0))
        panel.styles.height = lines
        self.query_one(Vertical).styles.height = lines + 2
        panel.refresh()

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        self._wrong = self._check(event.value)
        self._update_hint()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        self._wrong = self._check(event.value)
        if self._wrong:
            self._update_hint()
        else:
            leave(self, event.value)

    def on_key(self, event: events.Key) -> None:
        """Esc leaves; other keys are text and reach nothing below."""
        if event.key == "escape":
            event.stop()
            leave(self, None)
