"""The line in which a filter is typed: it counts at once, completes names, and knows earlier ones."""

import re
from collections.abc import Callable, Sequence

from textual import events, on
from textual.suggester import Suggester
from textual.widgets import Input

from accelwatch.tui.drawing.lines import Line, clipped
from accelwatch.tui.screens.prompt import Check, PromptScreen
from accelwatch.tui.state.board import Board

_LAST_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*$")
_LEAST = 2
"""Letters from which a name is completed: one would complete every text that is looked for."""


class FilterScreen(PromptScreen):
    """Gives the text, or None after Esc; Right completes a name, Up and Down bring earlier texts."""

    CSS = PromptScreen.CSS.replace("PromptScreen", "FilterScreen")

    def __init__(
        self,
        board: Board,
        title: str,
        text: str,
        hint: str,
        check: Check,
        *,
        names: Sequence[str],
        earlier: Sequence[str],
        apply: Callable[[str], str] | None = None,
    ) -> None:
        """`apply` shows what a text that is well leaves, and says how much that is."""
        super().__init__(board, title, text, hint, check)
        self._names = names
        self._earlier = [*earlier, text]
        self._place = len(earlier)
        self._apply = apply
        self._told = ""

    def on_mount(self) -> None:
        """Type at once, with names that are completed."""
        super().on_mount()
        self.query_one(Input).suggester = Names(self._names)

    def _draw_wrong(self, width: int, height: int) -> list[Line]:
        if self._wrong or not self._told:
            return super()._draw_wrong(width, height)
        return [clipped([(f" {self._told}", "text"), (f"  {self._hint}", "faint")], width)]

    @on(Input.Changed)
    def _applied(self, event: Input.Changed) -> None:
        if self._apply is not None and not self._check(event.value):
            self._told = self._apply(event.value)
            self.query_one("#prompt-wrong").refresh()

    def on_key(self, event: events.Key) -> None:
        """Up and Down go through what was typed before; of other keys the line above hears, too."""
        if event.key not in ("up", "down"):
            return
        event.stop()
        event.prevent_default()
        step = -1 if event.key == "up" else 1
        self._place = min(max(self._place + step, 0), len(self._earlier) - 1)
        line = self.query_one(Input)
        line.value = self._earlier[self._place]
        line.cursor_position = len(line.value)


class Names(Suggester):
    """Completes the last word of a condition."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._names = names

    async def get_suggestion(self, value: str) -> str | None:
        """The text with its last word completed; None where no name begins like it."""
        return completed(value, self._names)


def completed(text: str, names: Sequence[str]) -> str | None:
    """`power_w` with `power_watts`: the first name that begins with the last word and is longer."""
    word = _LAST_WORD.search(text)
    if word is None or len(word[0]) < _LEAST:
        return None
    name = next((one for one in names if one.startswith(word[0]) and one != word[0]), None)
    return None if name is None else text + name[len(word[0]) :]
