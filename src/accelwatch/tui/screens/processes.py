"""Screen 4: all processes, in full."""

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen

from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.state.action import PROCESSES
from accelwatch.tui.state.board import Board
from accelwatch.tui.views.process_list import ProcessList
from accelwatch.tui.widgets.footer import Footer
from accelwatch.tui.widgets.header_panel import header_panel
from accelwatch.tui.widgets.panel import Panel
from accelwatch.tui.widgets.row_list import RowList


class ProcessesScreen(Screen[None], inherit_bindings=False):
    """One long list."""

    ALLOW_SELECT: ClassVar[bool] = False
    AUTO_FOCUS: ClassVar[str | None] = None
    view_name = PROCESSES
    on_processes = True

    def __init__(self, board: Board, processes: ProcessList, now: Callable[[], float]) -> None:
        super().__init__()
        self.board = board
        self.processes = processes
        self._header = header_panel(board, now, PROCESSES)
        self._note = Panel(board, self._draw_note, id="note")
        # The list, with its selection.
        self.process_list = RowList(board, processes, id="processes")

    def compose(self) -> ComposeResult:
        """Header, list, keys."""
        yield from (self._header, self.process_list, self._note)
        yield Footer(self.board, PROCESSES)

    def on_mount(self) -> None:
        """The list has the keys."""
        self._share_out()
        self.process_list.focus()

    def on_resize(self, _: events.Resize) -> None:
        """Share the lines out again."""
        self._share_out()

    def _share_out(self) -> None:
        self._header.styles.height = 2 if self.app.size.height >= 16 else 1

    def _draw_note(self, width: int, _: int) -> list[Line]:
        return [self.processes.note(width)]

    def show(self) -> None:
        """The board has changed."""
        self.processes.update()
        self.process_list.refreshed()
        self._header.refresh()
        self._note.refresh()

    def show_age(self) -> None:
        """A second has passed."""
        self._header.refresh()

    def perform(self, action: str) -> bool:
        """Move the selection; false when the key is nothing of this screen."""
        rows = self.process_list
        steps = {"up": -1, "down": 1, "page_up": -rows.page, "page_down": rows.page}
        if action in steps:
            rows.move_to(rows.cursor + steps[action])
        elif action in ("first", "last"):
            rows.move_to(0 if action == "first" else len(rows.rows) - 1)
        elif action in ("left", "right"):
            self.processes.scroll_by(-1 if action == "left" else 1)
            rows.refresh()
        else:
            return False
        return True
