"""The line in which a filter is typed: it counts at once, completes names, and knows earlier ones."""

import re
from collections.abc import Callable, Sequence
from functools import partial

from textual import events, on
from textual.suggester import Suggester
from textual.timer import Timer
from textual.widgets import Input

from accelwatch.tui.drawing.lines import Line, cell_len, fit
from accelwatch.tui.screens.dialogs.leaving import on_top
from accelwatch.tui.screens.dialogs.prompt import Check, PromptScreen
from accelwatch.tui.state.board import Board

_LAST_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*$")
# Letters from which a name is completed: one would complete every text that is looked for.
_LEAST = 2


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
        apply: Callable[[str], None],
        count: Callable[[], str],
        pause_s: float = 0.0,
    ) -> None:
        """`apply` shows what a text that is well leaves, `count` says how much that is.

        After `pause_s` in which nothing is typed; what is counted may then come later still.
        """
        super().__init__(board, title, text, hint, check)
        self._names = names
        self._earlier = [*earlier, text]
        self._history_index = len(earlier)
        self._apply = apply
        self._count = count
        self._pause_s = pause_s
        self._waiting: Timer | None = None
        self._count_text = ""

    def on_mount(self) -> None:
        """Type at once, with names that are completed."""
        super().on_mount()
        self.query_one(Input).suggester = Names(self._names)
        if self._pause_s:
            self.set_interval(self._pause_s, self._refresh_count)

    def _draw_wrong(self, width: int, height: int) -> list[Line]:
        if self._wrong or not self._count_text:
            return super()._draw_wrong(width, height)
        count_text = f" {self._count_text}"
        room = width - cell_len(count_text) - 3
        hint = fit(self._hint, room, ellipsis=self.board.paint.glyphs.ellipsis)
        return [[(count_text, "text"), (f"  {hint}", "faint")]]

    @on(Input.Changed)
    def _applied(self, event: Input.Changed) -> None:
        if self._waiting is not None:
            self._waiting.stop()
        if self._check(event.value) or not on_top(self):
            return
        if self._pause_s and event.value != self._text:
            self._waiting = self.set_timer(self._pause_s, partial(self._set, event.value))
        else:
            self._set(event.value)

    def _set(self, text: str) -> None:
        self._apply(text)
        self._count_text = self._count()
        self._update_hint()

    def _refresh_count(self) -> None:
        """The hub's answer has come: show the new count."""
        if self._count_text and self._count_text != self._count():
            self._count_text = self._count()
            self._update_hint()

    def on_key(self, event: events.Key) -> None:
        """Up and Down go through earlier filters; other keys go to the line above, too."""
        if event.key not in ("up", "down"):
            return
        event.stop()
        event.prevent_default()
        step = -1 if event.key == "up" else 1
        self._history_index = min(max(self._history_index + step, 0), len(self._earlier) - 1)
        line = self.query_one(Input)
        line.value = self._earlier[self._history_index]
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
    match = _LAST_NAME.search(text)
    if match is None or len(match[0]) < _LEAST:
        return None
    name = next(
        (
            candidate
            for candidate in names
            if candidate.startswith(match[0]) and candidate != match[0]
        ),
        None,
    )
    return None if name is None else text + name[len(match[0]) :]
