"""Key 7: every change of state with its end, and every event; what goes on stands first."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen

from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.events.changes import Change
from accelwatch.tui.state.action import EVENTS
from accelwatch.tui.state.board import Board
from accelwatch.tui.views.change_list import ChangeList, totals
from accelwatch.tui.widgets.footer import Footer
from accelwatch.tui.widgets.header_panel import header_panel
from accelwatch.tui.widgets.panel import Panel
from accelwatch.tui.widgets.row_list import RowList

# Lines of the terminal from which the header has two.
_TALL = 16


class EventsScreen(Screen[None], inherit_bindings=False):
    """The changes of one machine, or of a fleet."""

    ALLOW_SELECT: ClassVar[bool] = False
    AUTO_FOCUS: ClassVar[str | None] = None
    view_name = EVENTS

    def __init__(
        self, board: Board, changes: Callable[[], Sequence[Change]], now: Callable[[], float]
    ) -> None:
        super().__init__()
        self.board = board
        self._changes = changes
        self._rows = ChangeList(board, changes, now)
        self._header = header_panel(board, now, EVENTS)
        self._totals = Panel(board, self._draw_totals, id="event-totals")
        self.changes = RowList(
            board, self._rows, id="changes", moved=self._moved, bare=self._rows.bare
        )
        # Whether the cursor stays with its change; on the first row it stays there: on the worst.
        self._selected = False

    def compose(self) -> ComposeResult:
        """Header, totals, changes, keys."""
        yield from (self._header, self._totals, self.changes)
        yield Footer(self.board, EVENTS)

    def on_mount(self) -> None:
        """The list has the keys."""
        self._share_out()
        self.changes.focus()

    def on_resize(self, _: events.Resize) -> None:
        """Share the lines out again."""
        self._share_out()

    def _share_out(self) -> None:
        self._header.styles.height = 2 if self.app.size.height >= _TALL else 1
        self._totals.styles.height = 1

    @property
    def selected(self) -> Change | None:
        """The change that the keys are about."""
        return self._rows.at(self.changes.cursor)

    def show(self) -> None:
        """The board has changed."""
        selected = self._selected
        self.changes.refreshed()
        if not selected:
            self.changes.move_to(0)
        self._header.refresh()
        self._totals.refresh()

    def show_age(self) -> None:
        """A second has passed."""
        self.show()

    def _moved(self) -> None:
        self._selected = self.changes.cursor > 0

    def _draw_totals(self, width: int, _: int) -> list[Line]:
        return [totals(self._changes(), width, self.board.paint.glyphs)]

    def perform(self, action: str) -> bool:
        """Move the selection; false when the key is none of that."""
        if action in ("up", "down"):
            self.changes.move(-1 if action == "up" else 1)
        elif action in ("page_up", "page_down", "first", "last"):
            self.changes.far(action)
        else:
            return False
        return True
