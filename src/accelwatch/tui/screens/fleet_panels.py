"""The panels around the nodes of a fleet: header, announcement, totals, graphs, troubles."""

from collections.abc import Callable

from textual.geometry import Size

from accelwatch.fleet.picture.model import RecentHistory
from accelwatch.fleet.wire import FleetDocument
from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.fleet.announcement import announcement
from accelwatch.tui.fleet.board import FleetBoard
from accelwatch.tui.fleet.troubles import trouble_line
from accelwatch.tui.state.action import FLEET
from accelwatch.tui.state.board import Board
from accelwatch.tui.views.fleet import head
from accelwatch.tui.views.graphs import fleet_graphs
from accelwatch.tui.widgets.header_panel import header_panel
from accelwatch.tui.widgets.panel import Panel

# Lines of the terminal from which the header has two.
TALL = 16
# Lines of a large terminal beside the nodes and the graphs.
_AROUND = 10
_STEP = 4


class FleetPanels:
    """Each is as high as the terminal allows, and gone where it has nothing to show."""

    def __init__(
        self,
        board: Board,
        fleet: FleetBoard,
        now: Callable[[], float],
        history: Callable[[], RecentHistory | None],
        size: Callable[[], Size],
    ) -> None:
        """`history` gives the fleet's last hour, `size` columns and lines of the terminal."""
        self.board, self.fleet = board, fleet
        self._now, self._history, self._size = now, history, size
        self.header = header_panel(board, now, FLEET)
        self._totals = Panel(board, self._draw_totals, id="totals")
        self._announced = Panel(board, self._draw_announced, id="announced")
        self._troubles = Panel(board, self._draw_troubles, id="troubles")
        self._graphs = Panel(board, self._draw_graphs, id="graphs")

    @property
    def in_order(self) -> tuple[Panel, ...]:
        """From the top."""
        return (self.header, self._announced, self._totals, self._graphs, self._troubles)

    def share_out(self) -> None:
        """Give each its lines, for the terminal's present size."""
        rows = self._size().height
        self.header.styles.height = 2 if rows >= TALL else 1
        self._totals.styles.height = 2 if rows >= 14 else 1
        self._show_graphs()
        self._show_troubles()
        self.show_announced()

    def refresh(self) -> None:
        """The board has changed."""
        self._show_graphs()
        self._show_troubles()
        self.header.refresh()
        self._totals.refresh()

    def _show_graphs(self) -> None:
        """They are there where there is room, once any history is known."""
        width, height = self._size()
        roomy = width >= fleet_graphs.WIDTH and height >= fleet_graphs.HEIGHT
        history = self._history() if roomy else None
        self._graphs.display = fleet_graphs.enough(history)
        self._graphs.styles.height = self._graph_lines(height)
        self._graphs.refresh()

    def _graph_lines(self, height: int) -> int:
        """The lines of graphs: more where the nodes leave some; the map gets all that there are."""
        least = fleet_graphs.LINES
        if self.board.preferences.shows_map or self.board.preferences.fleet_events:
            return least
        left = height - _AROUND - len(self.fleet.rows) - least
        return least + min(max(left // _STEP * _STEP, 0), fleet_graphs.MOST_LINES - least)

    def show_announced(self) -> None:
        """It fills a line in a demonstration, for as long as an event is still to come."""
        shown = bool(self._draw_announced(self._size().width, 1)[0])
        if self._announced.display != shown:
            self._announced.display = shown
        self._announced.refresh()

    def _draw_announced(self, width: int, _: int) -> list[Line]:
        return [announcement(self.fleet, self._now(), width, self.board.paint.glyphs)]

    def _show_troubles(self) -> None:
        """They fill a line while there are any."""
        self._troubles.display = self._shows_hub_outage or bool(self.fleet.troubles)
        self._troubles.refresh()

    @property
    def _shows_hub_outage(self) -> bool:
        """Whether the hub is out of reach and the header has no second line to say so."""
        return self.fleet.problem is not None and self._size().height < TALL

    def _draw_totals(self, width: int, height: int) -> list[Line]:
        return head.totals(self.board, self.fleet, width, height, self._now())

    def _draw_graphs(self, width: int, height: int) -> list[Line]:
        return fleet_graphs.lines(self.board, self._history(), self._sums, width, height)

    @property
    def _sums(self) -> FleetDocument | None:
        view = self.fleet.view
        return None if view is None else view.sums

    def _draw_troubles(self, width: int, _: int) -> list[Line]:
        if self._shows_hub_outage:
            return [head.situation(self.board, self.fleet, width, self._now())]
        return [trouble_line(self.fleet, width, self.board.paint.glyphs)]
