"""Thousands of devices at a glance: a light each, with a cursor; only visible lines are painted."""

from collections.abc import Callable, Iterable

from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from accelwatch.fleet.picture.tally import FleetRow
from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.fleet.board import FleetBoard
from accelwatch.tui.fleet.map.grid import Cell, Grid
from accelwatch.tui.fleet.map.grid_lines import grid_line
from accelwatch.tui.state.board import Board
from accelwatch.tui.views.fleet.node_list import render_context
from accelwatch.tui.widgets.painted import Painted

_WHEEL = 3
Bare = Callable[[int], list[Line]]


class Lights(Painted):
    """The fleet's devices in the standing order of their nodes' names."""

    can_focus = True

    class Chosen(Message):
        """A second click on the selected cell."""

    def __init__(
        self, board: Board, fleet: FleetBoard, moved: Callable[[], None], *, bare: Bare
    ) -> None:
        """`moved` is called at once when another cell is selected, so that nothing comes between.

        `bare` gives what is shown at a width when there is no cell.
        """
        super().__init__(id="lights")
        self._moved = moved
        self._bare = bare
        self.board = board
        self.fleet = fleet
        self.cell: Cell | None = None
        self.top = 0
        self._laid_out: tuple[tuple[int, Size], Grid] | None = None

    @property
    def grid(self) -> Grid:
        """The layout for the present rows and room."""
        layout_key = self.fleet.version, self.size
        if self._laid_out is None or self._laid_out[0] != layout_key:
            counted = self.fleet.counted
            rows = counted.rows.values() if counted is not None else ()
            self._laid_out = layout_key, Grid(rows, self.fleet.groups, *self.size)
        return self._laid_out[1]

    @property
    def row(self) -> FleetRow | None:
        """The node that the selected cell is of."""
        counted = self.fleet.counted
        if counted is None or self.cell is None:
            return None
        return counted.rows.get(self.cell[0])

    def refreshed(self) -> None:
        """The rows have changed: keep the cursor where its device is now, and paint."""
        if self.grid.find(self.cell) is None:
            self.cell = self.grid.numbered(0)
        self._follow()
        self.refresh()

    def move(self, step: int) -> bool:
        """Select the cell `step` cells on; false when that is beyond the end."""
        number = self.grid.number(self.cell) + step
        self.select(self.grid.numbered(number))
        return 0 <= number < self.grid.count

    def move_lines(self, lines: int) -> bool:
        """Select the cell so many lines down, or up; false when there is none."""
        cell = self.grid.beyond(self.cell, lines)
        self.select(cell)
        return cell is not None

    def far(self, action: str) -> None:
        """A page on or back, the first or the last."""
        page = max(self.size.height - 1, 1)
        if action in ("page_up", "page_down"):
            self.move_lines(page if action == "page_down" else -page)
        else:
            self.select(self.grid.numbered(0 if action == "first" else self.grid.count))

    def select(self, cell: Cell | None) -> None:
        """Select a cell, and bring it into view."""
        if cell is None or cell == self.cell:
            return
        before, top = self.grid.find(self.cell), self.top
        self.cell = cell
        self._follow()
        after = self.grid.find(cell)
        if self.top != top or before is None or after is None:
            self.refresh()
        else:
            for line in {before[0], after[0]}:
                self.refresh(Region(0, line - self.top, self.size.width, 1))
        self._moved()

    def select_node(self, key: object) -> None:
        """Select what is wrong with a row, else its first device."""
        counted = self.fleet.counted
        row = counted.rows.get(key) if counted is not None else None  # type: ignore[call-overload]  # any hashable
        if row is not None:
            chief = row.worst or (row.devices[0] if row.devices else None)
            self.select((row.key, -1 if chief is None else chief.slot))

    def next_fault(self) -> bool:
        """Select the next cell with which something is wrong, round and round; false without any."""
        grid = self.grid
        faults = sorted(map(grid.number, grid.faults()))
        if not faults:
            return False
        present = grid.number(self.cell)
        self.select(grid.numbered(next((n for n in faults if n > present), faults[0])))
        return True

    def _follow(self) -> None:
        position = self.grid.find(self.cell)
        height = max(self.size.height, 1)
        if position is not None:
            line = position[0]
            lead = line - 1 if line and self.grid.lines[line - 1].head is not None else line
            self.top = min(max(self.top, line - height + 1), lead)
        self.top = min(self.top, max(len(self.grid.lines) - height, 0))

    def draw(self, lines: Iterable[int]) -> list[Strip]:
        """The cells, or why there are none."""
        grid, paint, width = self.grid, self.board.paint, self.size.width
        context = render_context(self.board, self.fleet)
        cursor = grid.block(self.cell)
        if not grid.lines:
            bare = self._bare(width)
            return [paint.strip(bare[y] if y < len(bare) else [], width) for y in lines]
        strips = []
        for y in lines:
            number = self.top + y
            if number >= len(grid.lines):
                strips.append(paint.strip([], width))
                continue
            strip = paint.strip(grid_line(grid.lines[number], context, grid.shape), width)
            if cursor is not None and cursor[0] == number:
                strip = self._highlight(strip, *grid.cells(cursor), width)
            strips.append(strip)
        return strips

    def _highlight(self, strip: Strip, x: int, end: int, width: int) -> Strip:
        """The strip with the cursor on some cells."""
        cell = strip.crop(x, end)
        role = "cursor" if self.has_focus else "cursor_away"
        highlighted = self.board.paint.strip([(cell.text, role)], end - x)
        return Strip.join([strip.crop(0, x), highlighted, strip.crop(end, width)])

    def on_resize(self, _: events.Resize) -> None:
        """Keep the cursor visible."""
        self.refreshed()

    def on_focus(self) -> None:
        """The cursor looks different with the keys."""
        self.refresh()

    def on_blur(self) -> None:
        """The cursor looks different without the keys."""
        self.refresh()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Move on."""
        event.stop()
        self.move_lines(_WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Move back."""
        event.stop()
        self.move_lines(-_WHEEL)

    def on_click(self, event: events.Click) -> None:
        """Select the cell under the pointer; choose it when it is selected already."""
        event.stop()
        cell = self.grid.at(self.top + event.y, event.x)
        if cell is None:
            return
        if cell == self.cell:
            self.post_message(self.Chosen())
        else:
            self.select(cell)
