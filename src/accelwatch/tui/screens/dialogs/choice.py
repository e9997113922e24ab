"""A dialog of choices under a text: the first is selected, Enter chooses it, Esc leaves."""

from collections.abc import Hashable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from accelwatch.tui.drawing.lines import Line, cell_len, fit, wrapped
from accelwatch.tui.screens.dialogs.leaving import leave
from accelwatch.tui.state.board import Board
from accelwatch.tui.widgets.panel import Panel
from accelwatch.tui.widgets.row_list import RowList


class Choices:
    """Pairs of id and label."""

    stride = 1

    def __init__(self, choices: Sequence[tuple[str, str]], ellipsis: str) -> None:
        self._choices = list(choices)
        self._ellipsis = ellipsis

    @property
    def labels(self) -> list[str]:
        """The labels."""
        return [label for _, label in self._choices]

    def __len__(self) -> int:
        return len(self._choices)

    def heading(self, _: int, /) -> Line | None:
        """There is none."""
        return None

    def line(self, index: int, width: int, _: int, /) -> Line:
        """One label."""
        label = f"  {self._choices[index][1]}"
        return [(fit(label, width, ellipsis=self._ellipsis), "strong")]

    def key(self, index: int) -> Hashable:
        """The id."""
        return self._choices[index][0]

    def position_of(self, key: Hashable) -> int | None:
        """Where an id is."""
        return next((n for n, (choice, _) in enumerate(self._choices) if choice == key), None)


class ChoiceScreen(ModalScreen[str | None], inherit_bindings=False):
    """Gives the id of the choice, or None."""

    ALLOW_SELECT: ClassVar[bool] = False
    CSS = """
    ChoiceScreen Panel { height: auto; width: auto; }
    ChoiceScreen RowList { width: auto; }
    """

    def __init__(
        self,
        board: Board,
        title: str,
        text: list[str],
        choices: list[tuple[str, str]],
        start: str = "",
    ) -> None:
        super().__init__()
        self.board = board
        self._heading = title
        self._text = text
        self._choices = Choices(choices, board.paint.glyphs.ellipsis)
        self._start = start

    def compose(self) -> ComposeResult:
        """Text above, choices below."""
        with Vertical(classes="dialog", id="dialog"):
            yield Panel(self.board, self._draw_text, id="dialog-text")
            yield RowList(self.board, self._choices, id="choices")

    def on_mount(self) -> None:
        """The present choice has the keys."""
        dialog = self.query_one("#dialog")
        dialog.border_title = self._heading
        if self.board.paint.glyphs.ascii_only:
            dialog.styles.border = ("ascii", dialog.styles.border_top[1])
        self._share_out()
        rows = self.query_one(RowList)
        rows.select(self._start)
        rows.focus()

    def on_resize(self, _: events.Resize) -> None:
        """Share the lines out again."""
        self._share_out()

    def _share_out(self) -> None:
        """As large as needed, no larger than the terminal."""
        width, height = self.app.size
        longest = max(cell_len(row) for row in (*self._text, *self._choices.labels, self._heading))
        inner = min(longest + 4, width - 6)
        self.query_one("#dialog").styles.width = inner + 4
        needed = len(self._wrapped(inner))
        text = self.query_one(Panel)
        text.styles.width = inner
        text.styles.height = min(needed, max(height - 6, 1))
        rows = self.query_one(RowList)
        rows.styles.width = inner
        rows.styles.height = min(len(self._choices), max(height - 3 - needed, 2))

    def _wrapped(self, width: int) -> list[str]:
        """The text in lines that fit, each set in as it was."""
        rows: list[str] = []
        for row in self._text:
            if cell_len(row) <= width:
                rows.append(row)
                continue
            indent = row[: len(row) - len(row.lstrip())]
            rows += [indent + fragment for fragment in wrapped(row, width - len(indent))]
        return rows

    def _draw_text(self, width: int, height: int) -> list[Line]:
        rows = self._wrapped(width)
        if len(rows) > height:
            last = " ".join([rows[height - 1], *(row.strip() for row in rows[height:])])
            rows[height - 1 :] = [fit(last, width, ellipsis=self.board.paint.glyphs.ellipsis)]
        return [[(row, "text")] for row in rows]

    def on_key(self, event: events.Key) -> None:
        """Move, choose, or leave; nothing reaches the screen below."""
        event.stop()
        rows = self.query_one(RowList)
        match event.key:
            case "up" | "k" | "shift+tab":
                rows.move(-1)
            case "down" | "j" | "tab":
                rows.move(1)
            case "enter":
                self._choose()
            case "escape" | "q":
                leave(self, None)

    def on_row_list_chosen(self) -> None:
        """A second click chooses the row."""
        self._choose()

    def _choose(self) -> None:
        key = self.query_one(RowList).selected_key
        leave(self, None if key is None else str(key))
