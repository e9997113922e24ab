"""The palette: one line to type in, and the commands that the text means above it."""

from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from accelwatch.tui.drawing.lines import Line, cell_len, clipped, fit, spread, width_of
from accelwatch.tui.screens.dialogs.leaving import leave
from accelwatch.tui.state.board import Board
from accelwatch.tui.state.palette import Entry, matching
from accelwatch.tui.widgets.panel import Panel
from accelwatch.tui.widgets.row_list import RowList
from accelwatch.tui.widgets.typed_line import TypedLine

# Cells of a name at least, where there is room for a sentence beside it.
_NAME = 28
# From this width.
_SENTENCES = 70
# What can be done with the typed text itself.
Further = Callable[[str], Sequence[Entry]]


class EntryRows:
    """Name, sentence, key."""

    stride = 1

    def __init__(self) -> None:
        self.entries: Sequence[Entry] = ()

    def __len__(self) -> int:
        return len(self.entries)

    def heading(self, _: int, /) -> Line | None:
        """There is none."""
        return None

    def line(self, index: int, width: int, _: int, /) -> Line:
        """One command."""
        entry = self.entries[index]
        left: Line = [(f"  {entry.name}", "strong")]
        right: Line = [(f"{entry.key} ", "key")]
        if width >= _SENTENCES:
            longest = max(cell_len(candidate.name) for candidate in self.entries) + 2
            name = min(max(longest, _NAME), width // 2)
            room = width - name - width_of(right) - 4
            left = [
                (fit(f"  {entry.name}", name), "strong"),
                (f"  {fit(entry.more, room)}", "dim"),
            ]
        return spread(left, right, width)

    def key(self, index: int) -> Hashable:
        """Its number: another text begins at the first one again."""
        return index

    def position_of(self, key: Hashable) -> int | None:
        """Where it is."""
        return key if isinstance(key, int) and key < len(self.entries) else None


class PaletteScreen(ModalScreen[Entry | None], inherit_bindings=False):
    """Gives the command, or None after Esc."""

    ALLOW_SELECT: ClassVar[bool] = False
    AUTO_FOCUS: ClassVar[str | None] = "Input"
    CSS = """
    PaletteScreen { align: left bottom; background: transparent; }
    PaletteScreen Vertical { width: 100%; dock: bottom; }
    PaletteScreen Panel { height: 1; }
    """

    def __init__(self, board: Board, entries: Sequence[Entry], further: Further) -> None:
        super().__init__()
        self.board = board
        self._entries = entries
        self._further = further
        self._rows = EntryRows()
        # The text of which the commands are listed.
        self._listed = ""

    def compose(self) -> ComposeResult:
        """Title, commands, line."""
        with Vertical():
            yield Panel(self.board, self._draw_title, id="palette-title")
            yield RowList(self.board, self._rows, id="palette")
            yield TypedLine()

    def on_mount(self) -> None:
        """Half of the terminal, so that what the commands are about stays in view."""
        rows = self.app.size.height
        self.query_one(Vertical).styles.height = min(max(rows // 2, 8), rows)
        self._list("")
        self.set_focus(self.query_one(Input))

    def _draw_title(self, width: int, _: int) -> list[Line]:
        rule, count = self.board.paint.glyphs.rule, len(self._rows)
        count_text = f"{count} command{'' if count == 1 else 's'}" if count else "no such command"
        head: Line = [(f"{rule} ", "rule"), ("Commands", "title"), (f" {count_text} ", "dim")]
        return [clipped([*head, (rule * width, "rule")], width)]

    def _list(self, text: str) -> None:
        self._listed = text
        self._rows.entries = (*matching(self._entries, text), *self._further(text.strip()))
        rows = self.query_one(RowList)
        rows.refreshed()
        rows.move_to(0)
        self.query_one("#palette-title").refresh()

    @on(Input.Changed)
    def _changed(self) -> None:
        self._catch_up()

    def _catch_up(self) -> None:
        """List what the line has by now: the message that it has changed may be on its way."""
        line = self.query_one(Input)
        if line.value != self._listed:
            self._list(line.value)

    @on(Input.Submitted)
    @on(RowList.Chosen)
    def _choose_entry(self) -> None:
        self._catch_up()
        index = self.query_one(RowList).cursor
        entries = self._rows.entries
        leave(self, entries[index] if index < len(entries) else None)

    def on_key(self, event: events.Key) -> None:
        """Up and Down choose, Esc leaves; other keys are text and reach nothing below."""
        rows = self.query_one(RowList)
        steps = {"up": -1, "down": 1, "pageup": -rows.page, "pagedown": rows.page}
        if event.key in steps:
            event.stop()
            event.prevent_default()
            self._catch_up()
            rows.move(steps[event.key])
        elif event.key == "escape":
            event.stop()
            leave(self, None)
        elif event.key == "enter":
            event.stop()
            self._choose_entry()
