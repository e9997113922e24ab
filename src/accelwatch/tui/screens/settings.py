"""Settings: what can be changed, and the file it is written to on request."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.screen import Screen

from accelwatch.tui.drawing.lines import Line, clipped
from accelwatch.tui.local import setting_rows
from accelwatch.tui.local.setting_rows import SettingRows
from accelwatch.tui.state.board import Board
from accelwatch.tui.theme.preferences import save
from accelwatch.tui.widgets.footer import Footer
from accelwatch.tui.widgets.header_panel import header_panel
from accelwatch.tui.widgets.panel import Panel
from accelwatch.tui.widgets.row_list import RowList


class SettingsScreen(Screen[None], inherit_bindings=False):
    """A row a setting; Enter or right sets the next value, left the one before."""

    ALLOW_SELECT: ClassVar[bool] = False
    AUTO_FOCUS: ClassVar[str | None] = None
    view_name = "settings"

    def __init__(
        self, board: Board, path: Path, now: Callable[[], float], applied: Callable[[], None]
    ) -> None:
        super().__init__()
        self.board = board
        self._path = path
        self._applied = applied
        self._status_line = f"Enter on the last row writes {path}"
        self._header = header_panel(board, now, self.view_name)
        self._rows = RowList(board, SettingRows(board.preferences), id="settings")
        self._note = Panel(board, self._draw_note, id="note")

    def compose(self) -> ComposeResult:
        """Header, rows, a note on the file, keys."""
        yield from (self._header, self._rows, self._note)
        yield Footer(self.board, "settings")

    def on_mount(self) -> None:
        """The rows have the keys."""
        self._share_out()
        self._rows.focus()

    def on_resize(self, _: events.Resize) -> None:
        """Share the lines out again."""
        self._share_out()

    def _share_out(self) -> None:
        self._header.styles.height = 2 if self.app.size.height >= 16 else 1

    def _draw_note(self, width: int, _: int) -> list[Line]:
        return [clipped([(f" {self._status_line}", "dim")], width)]

    def show(self) -> None:
        """Nothing here changes with readings but the header."""
        self._header.refresh()

    def show_age(self) -> None:
        """A second has passed."""
        self._header.refresh()

    def perform(self, action: str) -> bool:
        """Move, change, write."""
        rows = self._rows
        match action:
            case "up" | "down":
                rows.move(1 if action == "down" else -1)
            case "first" | "last":
                rows.move_to(0 if action == "first" else len(rows.rows) - 1)
            case "page_up" | "page_down":
                rows.move_to(rows.cursor + (rows.page if action == "page_down" else -rows.page))
            case "enter" | "right" | "tag":
                self._change(1)
            case "left":
                self._change(-1)
            case _:
                return False
        return True

    @on(RowList.Chosen)
    def _chosen(self) -> None:
        self._change(1)

    def _change(self, step: int) -> None:
        name = str(self._rows.selected_key)
        if name == setting_rows.WRITE:
            self._write()
        else:
            setting_rows.change(self.board.preferences, name, step)
            self._applied()
        self.refresh_all()

    def _write(self) -> None:
        try:
            save(self.board.preferences, self._path)
        except OSError as error:
            self._status_line = f"{self._path} cannot be written: {error.strerror}"
        else:
            self._status_line = f"written to {self._path}"

    def refresh_all(self) -> None:
        """Paint rows and note."""
        self._rows.refresh()
        self._note.refresh()
