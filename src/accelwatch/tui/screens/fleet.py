"""Screen 2: the nodes of a fleet worst first, or a light for each device; totals above, events below."""

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen

from accelwatch.fleet.picture.model import RecentHistory
from accelwatch.fleet.picture.tally import FleetRow
from accelwatch.fleet.picture.timeline import Player
from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.fleet.board import FleetBoard
from accelwatch.tui.fleet.map import grid_lines
from accelwatch.tui.fleet.selected_lines import selected_lines
from accelwatch.tui.screens.fleet_panels import TALL, FleetPanels
from accelwatch.tui.state.action import FLEET
from accelwatch.tui.state.board import Board
from accelwatch.tui.views.fleet.node_list import EventList, FleetList, render_context
from accelwatch.tui.widgets.footer import Footer
from accelwatch.tui.widgets.lights import Lights
from accelwatch.tui.widgets.panel import Panel
from accelwatch.tui.widgets.row_list import RowList
from accelwatch.tui.widgets.time_line import TimeLine

# From this height the time line shows what was open.
_ROOMY = 20
# A younger picture is about to be replaced anyway.
_FRESH_S = 1.5


class FleetScreen(Screen[None], inherit_bindings=False):
    """The main screen for an operator of many machines."""

    ALLOW_SELECT: ClassVar[bool] = False
    AUTO_FOCUS: ClassVar[str | None] = None
    view_name = FLEET

    def __init__(
        self,
        board: Board,
        fleet: FleetBoard,
        now: Callable[[], float],
        player: Player | None = None,
        *,
        history: Callable[[], RecentHistory | None] = lambda: None,
    ) -> None:
        """`history` is called for the fleet's last hour while there is room to show it."""
        super().__init__()
        self.board = board
        self.fleet = fleet
        self.time_line = TimeLine(board, player) if player is not None else None
        self._rows = FleetList(board, fleet)
        self.event_rows = EventList(board, fleet, now)
        # Whether the cursor stays with its node; on the first row it stays there: on the worst.
        self._selected = False
        bare = self._rows.bare
        self._panels = FleetPanels(board, fleet, now, history, lambda: self.app.size)
        self.nodes = RowList(board, self._rows, id="nodes", moved=self._moved, bare=bare)
        self.lights = Lights(board, fleet, self._lights_moved, bare=bare)
        self._detail = Panel(board, self._draw_detail, id="detail")
        self._events = RowList(board, self.event_rows, id="events", highlighted=False)

    def compose(self) -> ComposeResult:
        """Header, totals, troubles, nodes in either form, the selected light in words, events, keys."""
        yield from self._panels.in_order
        if self.time_line is not None:
            yield self.time_line
        yield from (self.nodes, self.lights, self._detail, self._events)
        yield Footer(self.board, FLEET)

    def on_mount(self) -> None:
        """The list, or the lights, have the keys."""
        self._share_out()
        self.set_focus(self.time_line or self.main_widget)

    @property
    def on_time(self) -> bool:
        """Whether the keys go to the time line."""
        return self.time_line is not None and self.time_line.has_focus

    @property
    def lit(self) -> bool:
        """Whether devices are shown as lights."""
        return self.board.preferences.shows_map

    @property
    def main_widget(self) -> "RowList | Lights":
        """The list or the lights."""
        return self.lights if self.lit else self.nodes

    @property
    def on_events(self) -> bool:
        """Whether the keys go to the events."""
        return self._events.has_focus

    @property
    def row(self) -> FleetRow | None:
        """The selected node or group."""
        return self._row(lit=self.lit)

    def _row(self, *, lit: bool) -> FleetRow | None:
        if lit:
            return self.lights.row
        rows = self.fleet.rows
        index = self.nodes.cursor
        return rows[index] if 0 <= index < len(rows) else None

    @property
    def selected_node(self) -> str:
        """The node that the keys are about; empty when it is a group, or nothing."""
        if self.on_events:
            event = self.event_rows.at(self._events.cursor)
            return event.node if event is not None else ""
        row = self.row
        return row.node if row is not None else ""

    @property
    def selected_device(self) -> str:
        """Id of the device that the keys are about; empty where only the node is known."""
        if self.on_events:
            event = self.event_rows.at(self._events.cursor)
            return event.device if event is not None else ""
        cell = self.lights.cell if self.lit else None
        device = self.fleet.device(cell[1]) if cell is not None and cell[1] >= 0 else None
        return device.id if device is not None else ""

    def _share_out(self) -> None:
        rows, preferences = self.app.size.height, self.board.preferences
        self._panels.share_out()
        if self.time_line is not None:
            self.time_line.styles.height = 3 if rows >= _ROOMY else 2 if rows >= TALL else 1
        shown = preferences.fleet_events
        self._events.display = shown
        self._events.styles.height = min(max(rows // 4, 3), 12)
        lines = 4 if self.lit else 2
        self._detail.styles.height = lines if rows >= _ROOMY else lines - 1
        self._detail.display = self.lit or rows >= TALL
        if self.lights.display != self.lit or (self.on_events and not shown):
            # Before the other is hidden: a widget that is hidden with the focus removes it.
            self.set_focus(self.main_widget)
        self.lights.display, self.nodes.display = self.lit, not self.lit

    def on_resize(self, _: events.Resize) -> None:
        """Share the lines out again."""
        self._share_out()

    def arranged(self) -> None:
        """Form or events were switched: keep the node, give the keys to what is shown."""
        before, switched = self._row(lit=self.lights.display), self.lights.display != self.lit
        self._share_out()
        if before is not None and switched:
            if self.lit:
                self.lights.select_node(before.key)
            else:
                self.nodes.select(before.key)
        self.show()

    def show(self) -> None:
        """The board has changed."""
        if self.lit:
            self.lights.refreshed()
        else:
            self._refresh_nodes()
        self._detail.refresh()
        if self.board.preferences.fleet_events:
            self._events.refreshed()
        if self.time_line is not None:
            self.time_line.refresh()
        self._panels.refresh()

    def _refresh_nodes(self) -> None:
        selected = self._selected
        self.nodes.refreshed()
        if not selected:
            self.nodes.move_to(0)

    def _moved(self) -> None:
        self._selected = self.nodes.cursor > 0
        self._detail.refresh()

    def show_age(self) -> None:
        """A second has passed; what is not about to be replaced is painted with its new age."""
        if self.fleet.demo_events:
            self._panels.show_announced()
        if self.fleet.since_s > _FRESH_S:
            self.show()
        else:
            self._panels.header.refresh()

    def _draw_detail(self, width: int, height: int) -> list[Line]:
        context = render_context(self.board, self.fleet)
        if not self.lit:
            return selected_lines(self.row, context, width, height)
        lines = grid_lines.detail(self.lights.cell, self.lights.row, context, width)
        more = [line for line in (grid_lines.wrong_line(context, width),) if line]
        return [*more, *lines, grid_lines.legend(context, width)][:height]

    def _lights_moved(self) -> None:
        self._detail.refresh()

    def perform(self, action: str) -> bool:
        """Move the selection; false when the key is none of that."""
        if self.time_line is not None and self.on_time and self.time_line.perform(action):
            return True
        if action in ("up", "down"):
            self._step_selection(-1 if action == "up" else 1)
        elif action in ("left", "right"):
            self._sideways(-1 if action == "left" else 1)
        elif action in ("page_up", "page_down", "first", "last"):
            self._far(action)
        else:
            return False
        return True

    def _step_selection(self, step: int) -> None:
        """Beyond the last node come the events, and back."""
        if self.on_time:
            if step > 0:
                self.main_widget.focus()
            return
        if self.on_events:
            if not self._events.move(step) and step < 0:
                self.main_widget.focus()
            return
        moved = self.lights.move_lines(step) if self.lit else self.nodes.move(step)
        if not moved and step > 0 and self._events.display and len(self.event_rows):
            self._events.focus()
        elif not moved and step < 0 and self.time_line is not None:
            self.time_line.focus()

    def _sideways(self, step: int) -> None:
        if self.lit and not self.on_events:
            self.lights.move(step)
            return
        row = self.row
        if row is not None and not row.node and (row.group in self.fleet.unfolded) != (step > 0):
            self.fold(row.group)

    def fold(self, group: str) -> None:
        """Show the nodes of a group, or hide them."""
        self.fleet.fold(group)
        self.show()

    def _far(self, action: str) -> None:
        if self.lit and not self.on_events:
            self.lights.far(action)
            return
        (self._events if self.on_events else self.nodes).far(action)
