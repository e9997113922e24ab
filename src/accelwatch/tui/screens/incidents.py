"""Screen 5: what the rules of a fleet's hub have found, worst first; those that are over at the end."""

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen

from accelwatch.fleet.picture.incidents import above
from accelwatch.fleet.wire import IncidentNow
from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.fleet.board import FleetBoard
from accelwatch.tui.fleet.troubles import trouble_line
from accelwatch.tui.state.action import INCIDENTS
from accelwatch.tui.state.board import Board
from accelwatch.tui.views.fleet.incident_list import IncidentList, totals
from accelwatch.tui.widgets.footer import Footer
from accelwatch.tui.widgets.header_panel import header_panel
from accelwatch.tui.widgets.panel import Panel
from accelwatch.tui.widgets.row_list import RowList

# Lines of the terminal from which the header has two.
_TALL = 16


class IncidentsScreen(Screen[None], inherit_bindings=False):
    """The incidents of a fleet."""

    ALLOW_SELECT: ClassVar[bool] = False
    AUTO_FOCUS: ClassVar[str | None] = None
    view_name = INCIDENTS

    def __init__(self, board: Board, fleet: FleetBoard, now: Callable[[], float]) -> None:
        super().__init__()
        self.board = board
        self.fleet = fleet
        rows = IncidentList(board, fleet, now)
        self._header = header_panel(board, now, INCIDENTS)
        self._totals = Panel(board, self._draw_totals, id="incident-totals")
        self._troubles = Panel(board, self._draw_troubles, id="troubles")
        self.incidents = RowList(board, rows, id="incidents", moved=self._moved, bare=rows.bare)
        # Whether the cursor stays with its incident; on the first row it stays there: on the worst.
        self._selected = False

    def compose(self) -> ComposeResult:
        """Header, totals, troubles, incidents, keys."""
        yield from (self._header, self._totals, self._troubles, self.incidents)
        yield Footer(self.board, INCIDENTS)

    def on_mount(self) -> None:
        """The list has the keys."""
        self._share_out()
        self.incidents.focus()

    def on_resize(self, _: events.Resize) -> None:
        """Share the lines out again."""
        self._share_out()

    def _share_out(self) -> None:
        self._header.styles.height = 2 if self.app.size.height >= _TALL else 1
        self._troubles.display = bool(self.fleet.troubles)

    @property
    def selected(self) -> IncidentNow | None:
        """The incident that the keys are about."""
        rows, index = self.fleet.incidents.rows, self.incidents.cursor
        return rows[index].entry if 0 <= index < len(rows) else None

    def show(self) -> None:
        """The board has changed."""
        selected = self._selected
        self.incidents.refreshed()
        if not selected:
            self.incidents.move_to(0)
        self._troubles.display = bool(self.fleet.troubles)
        for panel in (self._header, self._totals, self._troubles):
            panel.refresh()

    def _moved(self) -> None:
        self._selected = self.incidents.cursor > 0

    def show_age(self) -> None:
        """A second has passed."""
        self.show()

    def _draw_totals(self, width: int, _: int) -> list[Line]:
        return [totals(self.fleet, width, self.board.paint.glyphs)]

    def _draw_troubles(self, width: int, _: int) -> list[Line]:
        return [trouble_line(self.fleet, width, self.board.paint.glyphs)]

    def perform(self, action: str) -> bool:
        """Move the selection, fold groups; false when the key is none of that."""
        if action in ("up", "down"):
            self.incidents.move(-1 if action == "up" else 1)
        elif action in ("page_up", "page_down", "first", "last"):
            self.incidents.far(action)
        elif action in ("left", "right"):
            self.fold(unfold=action == "right")
        else:
            return False
        return True

    def fold(self, *, unfold: bool | None = None) -> None:
        """Show the members of the selected group, or hide them; without a wish the other of both."""
        current = self.selected
        if current is None:
            return
        incidents = self.fleet.incidents
        row = incidents.rows[self.incidents.cursor]
        id_ = above(current.incident) if row.member else current.incident.id
        if (row.members or row.member) and incidents.unfolded(id_) is not unfold:
            incidents.fold(id_)
            self.incidents.select(id_)
            self.show()
