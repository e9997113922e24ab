"""Screen 1: devices, the history of the selected one, processes."""

from collections.abc import Callable
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.screen import Screen

from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.local.local_plan import plan
from accelwatch.tui.state.action import LOCAL
from accelwatch.tui.state.board import Board
from accelwatch.tui.views.device_list import DeviceList
from accelwatch.tui.views.graphs import device_graphs as strip_graphs
from accelwatch.tui.views.process_list import ProcessList
from accelwatch.tui.widgets.footer import Footer
from accelwatch.tui.widgets.header_panel import header_panel
from accelwatch.tui.widgets.heat_grid import HeatGrid
from accelwatch.tui.widgets.panel import Panel
from accelwatch.tui.widgets.row_list import RowList


class LocalScreen(Screen[None], inherit_bindings=False):
    """The main screen of one machine."""

    ALLOW_SELECT: ClassVar[bool] = False
    AUTO_FOCUS: ClassVar[str | None] = None
    view_name = LOCAL

    def __init__(self, board: Board, processes: ProcessList, now: Callable[[], float]) -> None:
        super().__init__()
        self.board = board
        self.processes = processes
        self._form = ""
        rows = self._device_rows = DeviceList(board)
        self._header = header_panel(board, now, LOCAL)
        self._devices = RowList(board, rows, id="devices", moved=self._moved, bare=rows.bare)
        self._grid = HeatGrid(board)
        self._strip = Panel(board, self._draw_strip, id="strip")
        self._list = RowList(board, processes, id="processes", highlighted=False)

    def compose(self) -> ComposeResult:
        """Header, devices in either form, graphs, processes, keys."""
        yield from (self._header, self._devices, self._grid, self._strip, self._list)
        yield Footer(self.board, LOCAL)

    def on_mount(self) -> None:
        """The devices have the keys."""
        self._share_out()

    def _draw_strip(self, width: int, height: int) -> list[Line]:
        return strip_graphs.strip(self.board, width, height, hour=self.board.hour)

    @property
    def device_widget(self) -> RowList | HeatGrid:
        """The list or the grid."""
        return self._grid if self._form == "grid" else self._devices

    @property
    def process_list(self) -> RowList:
        """The list of processes, with its selection."""
        return self._list

    @property
    def on_processes(self) -> bool:
        """Whether the keys go to the processes."""
        return self._list.has_focus

    def _share_out(self) -> None:
        width, rows = self.app.size
        count = len(self.board.devices)
        needed = self._grid.lines_needed(width)
        density = self.board.preferences.density
        shared = plan(rows, count, density, needed, len(self.processes))
        self._header.styles.height = shared.header
        for widget in (self._devices, self._grid):
            widget.styles.height = shared.devices
        self._strip.styles.height = max(shared.strip, 0)
        self._strip.display = shared.strip > 0
        self._device_rows.full = shared.form == "full"
        if shared.form != self._form:
            focused = not self.on_processes
            self._form = shared.form
            if focused:
                # Before the other is hidden: a widget that is hidden with the focus removes it.
                self.set_focus(self.device_widget)
            self._grid.display = shared.form == "grid"
            self._devices.display = shared.form != "grid"

    def on_resize(self, _: events.Resize) -> None:
        """Share the lines out again."""
        self._share_out()

    def show(self) -> None:
        """The board has changed."""
        self.processes.update()
        self._share_out()
        self._devices.select(self.board.selected_id)
        self._devices.refreshed()
        self._grid.refresh()
        self._strip.refresh()
        self._list.refreshed()
        self._header.refresh()

    def show_age(self) -> None:
        """A second has passed."""
        self._header.refresh()

    def _moved(self) -> None:
        self.board.selected_id = str(self._devices.selected_key)
        self._strip.refresh()

    @on(HeatGrid.Moved)
    def _grid_moved(self) -> None:
        self._strip.refresh()

    def perform(self, action: str) -> bool:
        """Handle a key's action; false when this screen has no use for it."""
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
        """Beyond the last device come the processes, and back."""
        if self.on_processes:
            if not self._list.move(step) and step < 0:
                self.device_widget.focus()
            return
        widget = self.device_widget
        lines = widget.columns if isinstance(widget, HeatGrid) else 1
        if not widget.move(step * lines) and step > 0 and len(self.processes):
            self._list.focus()

    def _sideways(self, step: int) -> None:
        if self.on_processes:
            self.processes.scroll_by(step)
            self._list.refresh()
        elif isinstance(self.device_widget, HeatGrid):
            self.device_widget.move(step)
        else:
            self._devices.move(step)

    def _far(self, action: str) -> None:
        widget: RowList | HeatGrid = self._list if self.on_processes else self.device_widget
        if isinstance(widget, HeatGrid):
            steps = {"page_up": -widget.columns * 10, "page_down": widget.columns * 10}
            here = self.board.position_of(self.board.selected_id) or 0
            target = {"first": 0, "last": len(self.board.devices) - 1}.get(
                action, here + steps.get(action, 0)
            )
            widget.move(min(max(target, 0), len(self.board.devices) - 1) - here)
            return
        widget.far(action)
